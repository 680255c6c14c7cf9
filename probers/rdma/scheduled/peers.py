"""Queue pairs of peers, asked of their responders over UDP (decision 0010).

A queue pair gets another number whenever its agent starts, so its number is asked before the first
probe and again after each lost one: what a peer has that was started meanwhile is no loss of the
network.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import monotonic_ns
from typing import Literal, NamedTuple

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Packet
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import PORT_UNREACHABLE, UNREACHABLE, IcmpError, Received
from probers.process.loop import Deadlines, Loop
from probers.rdma.packet import QpAddress


class Question(NamedTuple):
    """Which queue pair of a peer: asked from ``src``, at its responder ``dst``."""

    src: Address
    dst: Address
    which: int


class Answer(NamedTuple):
    """known: ``target``; none: the peer has no queue pair; refused: its kernel says that no agent
    runs; silent: no answer; unknown: this process did not ask or did not run."""

    outcome: Literal["known", "none", "refused", "silent", "unknown"]
    target: QpAddress | None = None


OnAnswer = Callable[[Answer], None]


class PeerQueuePairs:
    """What peers have answered. One question is under way at a time for each queue pair."""

    def __init__(self, loop: Loop, sockets: SocketPool, *, timeout_s: float) -> None:
        self._sockets = sockets
        self._deadlines = Deadlines(loop, int(timeout_s * 1e9), self._on_expiry)
        self._known: dict[Question, QpAddress] = {}
        self._asked: dict[int, Question] = {}
        self._waiting: dict[Question, list[OnAnswer]] = {}

    def known(self, question: Question) -> QpAddress | None:
        """The queue pair, if the peer has answered."""
        return self._known.get(question)

    def ask(self, question: Question, on_answer: OnAnswer | None = None) -> None:
        """Ask, or wait for the answer to a question that is under way."""
        under_way = question in self._waiting
        waiting = self._waiting.setdefault(question, [])
        if on_answer is not None:
            waiting.append(on_answer)
        if under_way:
            return
        sequence, flow = self._sockets.next_sequence(), FiveTuple(question.src, question.dst)
        self._asked[sequence] = question
        try:
            asked = self._sockets.send_request(
                self, sequence, flow, packet.QUEUE_PAIR, which=question.which
            )
        except OSError:
            asked = False
        if asked:
            self._deadlines.add(sequence, monotonic_ns())
        else:
            self._end(sequence, Answer("unknown"))

    def retain(self, questions: Collection[Question]) -> None:
        """Drop what is known of others."""
        self._known = {each: target for each, target in self._known.items() if each in questions}

    def on_reply(self, sequence: int, reply: Packet, received: Received) -> None:
        """The peer's responder answered."""
        question = self._asked[sequence]
        if not reply.sent_ns:
            self._end(sequence, Answer("none"))
        else:
            self._end(sequence, Answer("known", QpAddress(question.dst[0], reply.sent_ns)))

    def on_icmp_error(self, sequence: int, icmp: IcmpError) -> None:
        """The peer's kernel has no such port, or a router has no route."""
        no_port = icmp.type == UNREACHABLE and icmp.code == PORT_UNREACHABLE
        self._end(sequence, Answer("refused" if no_port else "silent"))

    def on_withdrawn(self, sequence: int) -> None:
        """The list was replaced."""
        self._end(sequence, Answer("unknown"))

    def on_send_timestamp(self, sequence: int, sent_ns: int) -> None:
        """None is requested."""

    def _on_expiry(self, sequence: int) -> None:
        if sequence in self._asked:
            self._sockets.cancel(sequence)
            self._end(sequence, Answer("unknown" if self._deadlines.stalled else "silent"))

    def _end(self, sequence: int, answer: Answer) -> None:
        if (question := self._asked.pop(sequence, None)) is None:
            return
        if answer.target is not None:
            self._known[question] = answer.target
        elif answer.outcome in ("none", "refused"):
            self._known.pop(question, None)
        for on_answer in self._waiting.pop(question):
            on_answer(answer)
