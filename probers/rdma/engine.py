"""The RDMA engine: authenticated probes between UD queue pairs, over any implementation of Port.

It sends, matches and measures; ``verbs`` implements the port of a device, ``responder`` answers,
``rnic`` runs both in the agent's loop.

The five-tuple of RoCEv2 follows from the queue pairs (UDP port 4791, the source port computed from
the sender's number), so each own queue pair probes its path through the fabric, and each
responder's queue pair replies over its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns

from probers.net import packet
from probers.net.packet import Key, Packet
from probers.rdma.packet import QpAddress, RdmaRoundTrip, Stamps, round_trip
from probers.rdma.port import HOP_LIMIT, Arrived, Port, Sent

#: Gets the round trip of a probe that has ended; None: no reply came.
OnEnd = Callable[[RdmaRoundTrip | None], None]


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

    def add(self, measured: RdmaRoundTrip | None) -> None:
        """Count the end of a probe."""
        if measured is None:
            self.lost += 1
        else:
            self.round_trips.append(measured)


@dataclass(slots=True)
class _Probe:
    own: QpAddress
    target: QpAddress
    on_end: OnEnd
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
        #: Of probes that were sent without ``on_end``.
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

    def probe(
        self,
        own: int,
        target: QpAddress,
        on_end: OnEnd | None = None,
        *,
        dscp: int = 0,
        hop_limit: int = HOP_LIMIT,
    ) -> int:
        """Send one probe from an own queue pair; returns its number, for ``time_out``.

        No completion is polled while the port prepares for a host that is new to it: call
        ``Port.prepare`` before the first probe is in flight. Raises what the port raises; then
        nothing was sent.
        """
        source = self._port.addresses[own]
        # Before t1: resolving the neighbour is not the network's time.
        self._port.prepare(own, target, dscp, hop_limit)
        self._sequence += 1
        request = Packet(
            packet.PROBE, self._sequence, self._now(), self._wall(),
            int.from_bytes(os.urandom(8), "big"), dscp,
        )  # fmt: skip
        payload = packet.pack(self._key, request, source, target)
        t1 = self._now()
        number = self._port.send(own, target, payload, dscp, hop_limit)
        if on_end is None:
            counts = self.counts_by_pair.setdefault((own, target), ProbeCounts(source, target))
            counts.sent += 1
            on_end = counts.add
        probe = _Probe(source, target, on_end, request, t1, number)
        self._probes[self._sequence] = self._sending[number] = probe
        return self._sequence

    def poll(self) -> bool:
        """Handle one completion and end the probes that are too old; False: no completion."""
        event = self._port.poll()
        if event is not None:
            self.handle(event)
        self._expire()
        return event is not None

    def handle(self, event: Sent | Arrived) -> None:
        """Take a send completion, or a reply."""
        if isinstance(event, Arrived):
            self._on_arrival(event)
        elif (probe := self._sending.pop(event.number, None)) is not None:
            probe.t2 = event.sent_ns

    def time_out(self, sequence: int) -> None:
        """End a probe, if it has not ended. A reply whose follow-up was lost still counts, with the
        responder's first estimate of its time of sending."""
        if (probe := self._probes.get(sequence)) is not None:
            self._end(probe)

    def end_all(self) -> None:
        """End all probes: the port is closed."""
        for probe in list(self._probes.values()):
            self._end(probe)

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
            or (event.peer, own) != (probe.target, probe.own)
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
            probe.on_end(None)
            return
        stamps = Stamps(
            probe.t1, probe.t2 or probe.t1, probe.reply.received_ns, probe.reply.sent_ns,
            probe.t5, probe.t6,
        )  # fmt: skip
        probe.on_end(round_trip(stamps))

    def _expire(self) -> None:
        overdue = self._now() - self._timeout_ns
        while self._probes:
            sequence, oldest = next(iter(self._probes.items()))
            if oldest.t1 > overdue:
                return
            self.time_out(sequence)
