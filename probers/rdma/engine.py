"""The RDMA engine: authenticated probes between UD queue pairs, over any implementation of Port.

It sends, replies, matches and counts; ``verbs`` implements the port of a device, ``ping`` is the
command to try it by hand. Not there yet: queue pairs in the ping list, completion events in the
agent's loop, hardware time stamps, RDMA_PING records.

The five-tuple of RoCEv2 follows from the queue pairs (UDP port 4791, the source port computed from
the sender's number), so each own queue pair probes its path through the fabric, and each
responder's queue pair replies over its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import NamedTuple, Protocol

from probers.net import packet
from probers.net.packet import Key, Packet
from probers.net.responder import Responder
from probers.rdma.packet import QpAddress, RdmaRoundTrip, Stamps, round_trip


class Sent(NamedTuple):
    """A message has been sent. ``number`` is what ``Port.send`` returned; ``sent_ns`` is never
    later than the time of sending."""

    number: int
    sent_ns: int


class Arrived(NamedTuple):
    """A message has arrived at the queue pair ``own``: its payload without the header.

    ``polled_ns`` is never earlier than the time of arrival.
    """

    peer: QpAddress
    own: int
    payload: bytes
    polled_ns: int


class Port(Protocol):
    """The port of an RDMA device with some UD queue pairs; times are monotonic [ns]."""

    @property
    def addresses(self) -> Sequence[QpAddress]:
        """The own queue pairs; other methods name one by its index in this sequence."""

    def prepare(self, to: QpAddress) -> None:
        """Do what the first message to a host requires; that can take a second."""

    def send(self, own: int, to: QpAddress, payload: bytes) -> int:
        """Send a message; returns its number."""

    def poll(self) -> Sent | Arrived | None:
        """The next completion, or None."""

    def close(self) -> None:
        """Release the device."""


@dataclass(slots=True)
class ProbeCounts:
    """The outcomes of the probes from one queue pair to another."""

    own: QpAddress
    target: QpAddress
    sent: int = 0
    lost: int = 0
    round_trips: list[RdmaRoundTrip] = field(default_factory=list)

    @property
    def in_flight(self) -> int:
        """Probes that are neither answered nor lost."""
        return self.sent - self.lost - len(self.round_trips)


@dataclass(slots=True)
class _Probe:
    counts: ProbeCounts
    request: Packet
    t1: int
    number: int = -1
    t2: int = 0
    t5: int = 0
    t6: int = 0
    reply: Packet | None = None


class RdmaProber:
    """Sends probes; each one ends once, with both replies or by its time-out."""

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
        self._sending: dict[int, _Probe] = {}  # by message number, until the send completion
        self._sequence = 0
        self.counts_by_pair: dict[tuple[int, QpAddress], ProbeCounts] = {}
        #: Messages that match no probe in flight, or have another key.
        self.unmatched = 0

    @property
    def in_flight(self) -> int:
        """Probes that have not ended."""
        return len(self._probes)

    def waiting(self, own: int, target: QpAddress) -> bool:
        """Whether a probe from this queue pair to that one has not ended."""
        counts = self.counts_by_pair.get((own, target))
        return counts is not None and counts.in_flight > 0

    def probe(self, own: int, target: QpAddress) -> None:
        """Send one probe from an own queue pair.

        No completion is polled while the port prepares for a host that is new to it: call
        ``Port.prepare`` before the first probe is in flight.
        """
        source = self._port.addresses[own]
        self._port.prepare(target)  # before t1: resolving the neighbour is not the network's time
        counts = self.counts_by_pair.setdefault((own, target), ProbeCounts(source, target))
        self._sequence += 1
        request = Packet(
            packet.PROBE, self._sequence, self._now(), self._wall(),
            int.from_bytes(os.urandom(8), "big"),
        )  # fmt: skip
        payload = packet.pack(self._key, request, source, target)
        probe = self._probes[self._sequence] = _Probe(counts, request, self._now())
        probe.number = self._port.send(own, target, payload)
        self._sending[probe.number] = probe
        counts.sent += 1

    def poll(self) -> bool:
        """Handle one completion and end the probes that are too old; False: no completion."""
        event = self._port.poll()
        if isinstance(event, Sent):
            if (probe := self._sending.pop(event.number, None)) is not None:
                probe.t2 = event.sent_ns
        elif isinstance(event, Arrived):
            self._on_arrival(event)
        self._expire()
        return event is not None

    def _on_arrival(self, event: Arrived) -> None:
        try:
            reply = packet.unpack(event.payload)
        except packet.PacketError:
            self.unmatched += 1
            return
        probe = self._probes.get(reply.sequence)
        own = self._port.addresses[event.own]
        if (
            probe is None
            or reply.kind not in (packet.REPLY, packet.FOLLOW_UP)
            or (event.peer, own) != (probe.counts.target, probe.counts.own)
            or reply.nonce != probe.request.nonce
            or not packet.verify(self._key, event.payload, event.peer, own)
        ):
            self.unmatched += 1
            return
        probe.reply = reply
        if reply.kind == packet.REPLY:
            probe.t5, probe.t6 = event.polled_ns, self._now()
        elif probe.t5:
            self._end(probe)

    def _end(self, probe: _Probe) -> None:
        del self._probes[probe.request.sequence]
        self._sending.pop(probe.number, None)
        if probe.reply is None or not probe.t5:
            probe.counts.lost += 1
            return
        stamps = Stamps(
            probe.t1, probe.t2 or probe.t1, probe.reply.received_ns, probe.reply.sent_ns,
            probe.t5, probe.t6,
        )  # fmt: skip
        probe.counts.round_trips.append(round_trip(stamps))

    def _expire(self) -> None:
        """End the probes over the time-out. A reply whose follow-up was lost still counts, with the
        responder's first estimate of its time of sending."""
        overdue = self._now() - self._timeout_ns
        while self._probes:
            oldest = next(iter(self._probes.values()))
            if oldest.t1 > overdue:
                return
            self._end(oldest)


class RdmaResponder:
    """Sends the replies that ``Responder`` builds, then a follow-up with the time of sending."""

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
        self._sending: dict[int, tuple[int, QpAddress, Packet, int]] = {}

    def poll(self) -> bool:
        """Handle one completion; False: there was none."""
        event = self._port.poll()
        if isinstance(event, Arrived):
            self._reply(event)
        elif isinstance(event, Sent) and event.number in self._sending:
            own, peer, reply, t3 = self._sending.pop(event.number)
            t4_wall = reply.received_ns + event.sent_ns - t3
            follow_up = reply._replace(kind=packet.FOLLOW_UP, sent_ns=t4_wall)
            payload = packet.pack(self._key, follow_up, self._port.addresses[own], peer)
            self._port.send(own, peer, payload)
        return event is not None

    def _reply(self, event: Arrived) -> None:
        wall, mono = self._wall(), self._now()
        received = wall - (mono - event.polled_ns)
        own = self._port.addresses[event.own]
        answer = self._responder.reply(event.payload, event.peer, own, received, wall, mono)
        if answer is None:
            return
        payload, _ = answer
        number = self._port.send(event.own, event.peer, payload)
        self._sending[number] = (event.own, event.peer, packet.unpack(payload), event.polled_ns)
