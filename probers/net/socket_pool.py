"""All sockets of an agent: asks questions, hands answers to whoever asked, answers the keyed."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterable
from time import monotonic_ns, time_ns
from typing import Final, NamedTuple, Protocol

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Datagram, Key
from probers.net.responder import RateLimit, Responder
from probers.net.udp_socket import Icmp, Received, UdpSocket
from probers.probing.loop import Loop

#: Sockets at most, however many the system allows: eight NICs with 512 source ports each.
MAX_SOCKETS: Final = 4096


class ReplyHandler(Protocol):
    """Someone who asks. Each question ends in at most one of ``replied``, ``refused`` and
    ``withdrawn`` (its socket was closed: nothing will be known about it)."""

    def replied(self, sequence: int, reply: Datagram, received: Received) -> None: ...
    def refused(self, sequence: int, icmp: Icmp) -> None: ...
    def withdrawn(self, sequence: int) -> None: ...
    def stamped(self, sequence: int, at_ns: int) -> None: ...


class _Question(NamedTuple):
    asker: ReplyHandler
    flow: FiveTuple
    nonce: int


class SocketPool:
    """Opens, watches and closes sockets; the only place that sends.

    ``max_rate`` bounds the questions a second of the whole agent and ``max_sockets`` its sockets,
    whatever any ping list says.
    """

    def __init__(
        self,
        loop: Loop,
        key: Key,
        responder: Responder,
        max_rate: float,
        max_sockets: int = MAX_SOCKETS,
    ) -> None:
        self._loop, self._key, self._responder = loop, key, responder
        self.max_sockets = max_sockets
        self._doors: dict[Address, UdpSocket] = {}
        self._waiting: dict[int, _Question] = {}
        self._newest: dict[tuple[Address, Address], int] = {}
        self._unstamped: set[int] = set()
        self._budget = RateLimit(max_rate, max(32.0, max_rate / 10), sources=1)
        self._sequence = int.from_bytes(os.urandom(4), "big") << 32
        #: Network interface to bind to, by own address; none: as the routing tables say.
        self.devices: dict[str, str] = {}
        #: over-budget, strange (an answer nobody waits for), unsendable (our answer was refused),
        #: send-ERRNO (a question that our own kernel did not send)
        self.counts: Counter[str] = Counter()
        #: Why a socket could not be opened when that was last tried: errno's name by address.
        self.unopened: dict[Address, str] = {}

    def __len__(self) -> int:
        return len(self._doors)

    def open(self, address: Address) -> UdpSocket:
        """The socket bound to ``address``, opened when there is none; raises OSError, EMFILE when
        ``max_sockets`` are open."""
        door = self._doors.get(address)
        if door is None:
            try:
                door = self._open(address)
            except OSError as why:
                self.unopened[address] = errno.errorcode.get(why.errno or 0, "failed")
                raise
            self.unopened.pop(address, None)
        return door

    def _open(self, address: Address) -> UdpSocket:
        if len(self._doors) >= self.max_sockets:
            raise OSError(errno.EMFILE, "the agent's bound on sockets is reached")
        door = UdpSocket(*address, self.devices.get(address[0], ""))
        try:
            self._loop.watch(door.fileno(), lambda: self._ready(door))
        except OSError:  # an unwatched socket would turn every answer into a loss
            door.close()
            raise
        self._doors[door.address] = door
        return door

    def keep_only(self, addresses: Iterable[Address]) -> None:
        """Close every socket that is bound to none of ``addresses``.

        What was asked from there is withdrawn: it is neither answered nor lost.
        """
        kept = set(addresses)
        closing = self._doors.keys() - kept
        for sequence, question in list(self._waiting.items()):
            if question.flow.src in closing:
                self.forget(sequence)
                question.asker.withdrawn(sequence)
        for address in closing:
            door = self._doors.pop(address)
            self._loop.unwatch(door.fileno())
            door.close()
        self._newest.clear()
        for address in self.unopened.keys() - kept:
            del self.unopened[address]

    def next_sequence(self) -> int:
        """A number for the next question; unique in this process, unguessable from outside."""
        self._sequence += 1
        return self._sequence

    def ask(
        self,
        asker: ReplyHandler,
        sequence: int,
        flow: FiveTuple,
        kind: int,
        *,
        ttl: int = 0,
        stamp: bool = False,
    ) -> bool:
        """Send one question of ``flow``; False when the agent's budget does not allow it.

        Raises OSError when the socket cannot be opened or the kernel refuses to send.
        """
        mono = monotonic_ns()
        if not self._budget.allows("", mono):
            self.counts["over-budget"] += 1
            return False
        nonce = int.from_bytes(os.urandom(8), "big")
        question = Datagram(kind, sequence, mono, time_ns(), nonce, flow.dscp)
        raw = packet.pack(self._key, question, flow.src, flow.dst)
        self._waiting[sequence] = _Question(asker, flow, nonce)
        self._newest[flow.src, flow.dst] = sequence
        try:
            door = self.open(flow.src)
            door.send(raw, flow.dst, dscp=flow.dscp, ttl=ttl, stamp=stamp)
        except OSError as why:
            del self._waiting[sequence]
            self.counts[f"send-{errno.errorcode.get(why.errno or 0, 'failed')}"] += 1
            raise
        if stamp and door.stamps_sends:
            self._unstamped.add(sequence)
            self._take_error(door)  # the stamp is mostly there already: saves a wake-up
        return True

    def forget(self, sequence: int) -> None:
        """Nobody waits for this answer any more."""
        self._waiting.pop(sequence, None)
        self._unstamped.discard(sequence)

    def _ready(self, door: UdpSocket) -> None:
        received = door.receive()
        if received is None:
            while self._take_error(door):
                pass
        elif len(received.data) == packet.SIZE and received.data[5] == packet.REPLY:
            self._hear(door, received)
        else:
            self._respond(door, received)

    def _respond(self, door: UdpSocket, received: Received) -> None:
        verdict = self._responder.answer(
            received.data, received.peer, door.address, received.at_ns, time_ns(), monotonic_ns()
        )
        if verdict is not None:
            reply, dscp = verdict
            try:
                door.send(reply, received.peer, dscp=dscp)
            except OSError:
                self.counts["unsendable"] += 1

    def _hear(self, door: UdpSocket, received: Received) -> None:
        reply = packet.unpack(received.data)
        question = self._waiting.get(reply.sequence)
        if (
            question is None
            or question.nonce != reply.nonce
            or question.flow.dst != received.peer
            or question.flow.src != door.address
            or not packet.verify(self._key, received.data, received.peer, door.address)
        ):
            self.counts["strange"] += 1
            return
        while reply.sequence in self._unstamped and self._take_error(door):
            pass
        self._unstamped.discard(reply.sequence)
        if self._waiting.pop(reply.sequence, None) is not None:
            question.asker.replied(reply.sequence, reply, received)

    def _take_error(self, door: UdpSocket) -> bool:
        error = door.next_error()
        if error is None:
            return False
        if isinstance(error, Icmp):
            sequence = packet.sequence_of(error.data)
            if sequence is None and not error.data:  # the router quoted headers only
                sequence = self._newest.get((door.address, error.target))
            question = self._waiting.pop(sequence, None) if sequence is not None else None
            if question is not None and sequence is not None:
                self._unstamped.discard(sequence)
                question.asker.refused(sequence, error)
        else:
            sequence = packet.sequence_of(error.data, len(error.data) - packet.SIZE)
            question = self._waiting.get(sequence) if sequence is not None else None
            if question is not None and sequence is not None:
                self._unstamped.discard(sequence)
                question.asker.stamped(sequence, error.at_ns)
        return True
