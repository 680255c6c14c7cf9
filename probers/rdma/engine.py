"""The RDMA engine's skeleton: keyed probes between UD queue pairs, over whatever carries them.

What is here asks, answers, matches and counts; ``rdma_verbs`` holds the device, ``rdma_ping`` is
the command to try it by hand. The full engine is still to come: queue pairs in the ping list, a
place in the agent's loop by completion events, hardware stamps, RDMA_PING records.

The five-tuple of RoCEv2 follows from the queue pairs (UDP port 4791, the source port out of the
sender's number), so each own queue pair probes its path through the fabric, and each responder's
queue pair answers over its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import NamedTuple, Protocol

from probers.net import packet
from probers.net.packet import Datagram, Key
from probers.net.responder import Responder
from probers.rdma.packet import QpAddress, RdmaTrip, Stamps, trip


class Sent(NamedTuple):
    """A message has left. number: the one that ``send`` returned; at_ns: when it left, never later
    than it did. Software hands it to the device and knows no better; a device may stamp it."""

    number: int
    at_ns: int


class Arrived(NamedTuple):
    """A message is in: its payload without the header, and the own queue pair that it came to;
    at_ns: when it was noticed, never earlier than it came."""

    peer: QpAddress
    own: int
    payload: bytes
    at_ns: int


class Port(Protocol):
    """An RDMA device's port with some UD queue pairs; times are monotonic [ns]."""

    @property
    def addresses(self) -> Sequence[QpAddress]:
        """The own queue pairs; elsewhere an own queue pair is its index in here."""

    def prepare(self, to: QpAddress) -> None:
        """Do what sending to a host needs the first time; that can take a second."""

    def send(self, own: int, to: QpAddress, payload: bytes) -> int:
        """Send a message; returns its number."""

    def poll(self) -> Sent | Arrived | None:
        """The next completion, if there is one."""


@dataclass(slots=True)
class ProbeCounts:
    """How the probes of one queue pair to another fared."""

    own: QpAddress
    target: QpAddress
    sent: int = 0
    lost: int = 0
    trips: list[RdmaTrip] = field(default_factory=list)

    @property
    def open(self) -> int:
        """Probes that are not settled yet."""
        return self.sent - self.lost - len(self.trips)


@dataclass(slots=True)
class _Probe:
    tally: ProbeCounts
    question: Datagram
    t1: int
    number: int = -1
    t2: int = 0
    t5: int = 0
    t6: int = 0
    reply: Datagram | None = None


class RdmaProber:
    """Asks, and settles every question once: answered in full, or when its time is up."""

    def __init__(
        self,
        key: Key,
        port: Port,
        *,
        timeout_s: float = 0.5,
        now: Callable[[], int] = monotonic_ns,
        wall: Callable[[], int] = time_ns,
    ) -> None:
        self._key, self._port, self._now, self._wall = key, port, now, wall
        self._timeout_ns = int(timeout_s * 1e9)
        self._probes: dict[int, _Probe] = {}  # by sequence, oldest first
        self._leaving: dict[int, _Probe] = {}  # by message number, until its send completion
        self._sequence = 0
        self.tallies: dict[tuple[int, QpAddress], ProbeCounts] = {}
        #: Messages that answer no question of ours, or not with our key.
        self.strangers = 0

    @property
    def in_flight(self) -> int:
        """Questions that are not settled yet."""
        return len(self._probes)

    def waiting(self, own: int, target: QpAddress) -> bool:
        """Whether a question from this queue pair to that one is not settled yet."""
        tally = self.tallies.get((own, target))
        return tally is not None and tally.open > 0

    def ask(self, own: int, target: QpAddress) -> None:
        """Send one probe from an own queue pair. Nothing is taken in while the port prepares for a
        host that is new to it: let it do so before probes are under way."""
        source = self._port.addresses[own]
        self._port.prepare(target)  # before the probe's clock starts: it is not the network's time
        tally = self.tallies.setdefault((own, target), ProbeCounts(source, target))
        self._sequence += 1
        question = Datagram(
            packet.PROBE, self._sequence, self._now(), self._wall(),
            int.from_bytes(os.urandom(8), "big"),
        )  # fmt: skip
        payload = packet.pack(self._key, question, source, target)
        probe = self._probes[self._sequence] = _Probe(tally, question, self._now())
        probe.number = self._port.send(own, target, payload)
        self._leaving[probe.number] = probe
        tally.sent += 1

    def turn(self) -> bool:
        """Take in one completion and give up what is too old; False when nothing came."""
        event = self._port.poll()
        if isinstance(event, Sent):
            if (probe := self._leaving.pop(event.number, None)) is not None:
                probe.t2 = event.at_ns
        elif isinstance(event, Arrived):
            self._take(event)
        self._expire()
        return event is not None

    def _take(self, event: Arrived) -> None:
        try:
            reply = packet.unpack(event.payload)
        except packet.WireError:
            self.strangers += 1
            return
        probe = self._probes.get(reply.sequence)
        own = self._port.addresses[event.own]
        if (
            probe is None
            or reply.kind not in (packet.REPLY, packet.FOLLOW_UP)
            or (event.peer, own) != (probe.tally.target, probe.tally.own)
            or reply.nonce != probe.question.nonce
            or not packet.verify(self._key, event.payload, event.peer, own)
        ):
            self.strangers += 1
            return
        probe.reply = reply
        if reply.kind == packet.REPLY:
            probe.t5, probe.t6 = event.at_ns, self._now()
        elif probe.t5:
            self._settle(probe)

    def _settle(self, probe: _Probe) -> None:
        del self._probes[probe.question.sequence]
        self._leaving.pop(probe.number, None)
        if probe.reply is None or not probe.t5:
            probe.tally.lost += 1
            return
        stamps = Stamps(
            probe.t1, probe.t2 or probe.t1, probe.reply.received, probe.reply.sent,
            probe.t5, probe.t6,
        )  # fmt: skip
        probe.tally.trips.append(trip(stamps))

    def _expire(self) -> None:
        """An answer whose follow-up was lost still counts, with the responder's first estimate."""
        overdue = self._now() - self._timeout_ns
        while self._probes:
            oldest = next(iter(self._probes.values()))
            if oldest.t1 > overdue:
                return
            self._settle(oldest)


class RdmaResponder:
    """Answers what ``Responder`` lets through, then says when the answer left."""

    def __init__(
        self,
        key: Key,
        port: Port,
        responder: Responder,
        *,
        now: Callable[[], int] = monotonic_ns,
        wall: Callable[[], int] = time_ns,
    ) -> None:
        self._key, self._port, self._responder = key, port, responder
        self._now, self._wall = now, wall
        self._leaving: dict[int, tuple[int, QpAddress, Datagram, int]] = {}

    def turn(self) -> bool:
        """Serve one completion; False when there was none."""
        event = self._port.poll()
        if isinstance(event, Arrived):
            self._answer(event)
        elif isinstance(event, Sent) and event.number in self._leaving:
            own, peer, reply, t3 = self._leaving.pop(event.number)
            told = reply._replace(kind=packet.FOLLOW_UP, sent=reply.received + event.at_ns - t3)
            self._port.send(own, peer, self._pack(told, own, peer))
        return event is not None

    def _answer(self, event: Arrived) -> None:
        wall, mono = self._wall(), self._now()
        received = wall - (mono - event.at_ns)
        own = self._port.addresses[event.own]
        verdict = self._responder.answer(event.payload, event.peer, own, received, wall, mono)
        if verdict is None:
            return
        payload, _ = verdict
        number = self._port.send(event.own, event.peer, payload)
        self._leaving[number] = (event.own, event.peer, packet.unpack(payload), event.at_ns)

    def _pack(self, datagram: Datagram, own: int, peer: QpAddress) -> bytes:
        return packet.pack(self._key, datagram, self._port.addresses[own], peer)
