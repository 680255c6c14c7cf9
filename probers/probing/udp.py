"""The UDP engine: bursts of keyed probes on fixed five-tuples, timed by the kernel where it can.

Round trip = (t4 - t1) - (t3 - t2): t1, t4 are the prober's stamps of sending and receiving, t2, t3
the responder's of receiving and sending, so no two clocks are ever compared with each other.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import NamedTuple

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Datagram
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import PORT_UNREACHABLE, UNREACHABLE, Icmp, Received
from probers.probing.loop import Deadlines, Loop

_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
#: The network's own clock may run this much ahead of the monotonic one before we distrust it.
_SLACK_NS = 1_000_000


class Trip(NamedTuple):
    """One answered probe [us]; ``responder_us`` is None where its stamps make no sense."""

    rtt_us: float
    prober_us: float
    responder_us: float | None
    kernel: bool


@dataclass(slots=True)
class Burst:
    """Some probes of one five-tuple sent together; becomes one record when all have ended.

    dials: how each of them ended. started, sent_at: wall clock [ns] of the round and of its first
    probe. A probe that our own kernel refused to send is not ``sent``, nor is one that was in
    flight while our own process did not run: both are an ``error`` of the prober's.
    """

    flow: FiveTuple
    started: int
    size: int
    sent_at: int = 0
    sent: int = 0
    sending: bool = True
    dials: list[str] = field(default_factory=list)
    trips: list[Trip] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """Probes that the network did not deliver. A refused one reached the peer's kernel."""
        return sum(dial in ("timeout", "unreachable") for dial in self.dials)

    @property
    def dial(self) -> str:
        """The best that happened: one success shows that the path works."""
        for dial in ("success", "refused", "timeout", "unreachable"):
            if dial in self.dials:
                return dial
        return "error"


@dataclass(slots=True)
class _Probe:
    burst: Burst
    mono: int
    wall: int
    left_at: int = 0  # kernel stamp of sending


class UdpEngine:
    """Sends bursts and reports each one once, when the last of its probes has ended."""

    def __init__(
        self,
        loop: Loop,
        doors: SocketPool,
        done: Callable[[Burst], None],
        *,
        timeout_s: float = 0.5,
    ) -> None:
        self._doors, self._done = doors, done
        self._timeout_ns = int(timeout_s * 1e9)
        self._probes: dict[int, _Probe] = {}
        self._deadlines = Deadlines(loop, self._timeout_ns, self._expired)
        #: Probes by source address, as heartbeats report them.
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        #: Probes that were in flight while the process did not run; see ``Deadlines.stalled``.
        self.stalled = 0
        #: Probes whose socket was closed, for another list, before they ended.
        self.withdrawn_count = 0

    def probe(self, flow: FiveTuple, burst: int = 1) -> None:
        """Send ``burst`` probes of ``flow`` now."""
        result = Burst(flow, time_ns(), burst)
        for _ in range(burst):
            self._send(result)
        result.sending = False
        self._settle(result)

    @property
    def unanswered(self) -> int:
        """Probes in flight."""
        return len(self._probes)

    def _send(self, burst: Burst) -> None:
        sequence, mono, wall = self._doors.next_sequence(), monotonic_ns(), time_ns()
        self._probes[sequence] = _Probe(burst, mono, wall)
        burst.sent_at = burst.sent_at or wall
        try:
            allowed = self._doors.ask(self, sequence, burst.flow, packet.PROBE, stamp=True)
        except OSError as why:
            del self._probes[sequence]
            if why.errno in _NO_ROUTE:
                burst.sent += 1
                self.sent[burst.flow.src[0]] += 1
                burst.dials.append("unreachable")
            else:
                burst.dials.append("error")
            return
        if not allowed:
            del self._probes[sequence]
            burst.size -= 1
            return
        burst.sent += 1
        self.sent[burst.flow.src[0]] += 1
        self._deadlines.add(sequence, mono)

    def replied(self, sequence: int, reply: Datagram, received: Received) -> None:
        """An answer, verified."""
        probe = self._probes.pop(sequence)
        now = monotonic_ns()
        trip = _trip(probe, reply, received, now)
        self.answered[probe.burst.flow.src[0]] += 1
        if not trip.kernel and now - probe.mono > 2 * self._timeout_ns:
            self._end_stalled(probe)  # the time until we read it is ours, not the network's
            return
        probe.burst.trips.append(trip)
        self._end(probe, "success")

    def refused(self, sequence: int, icmp: Icmp) -> None:
        """An ICMP error: the peer's kernel has no such port, or a router has no such way."""
        probe = self._probes.pop(sequence, None)
        if probe is not None:
            no_port = icmp.type == UNREACHABLE and icmp.code == PORT_UNREACHABLE
            self._end(probe, "refused" if no_port else "unreachable")

    def withdrawn(self, sequence: int) -> None:
        """The list that it was sent for is gone: no record says anything about it."""
        if (probe := self._probes.pop(sequence, None)) is not None:
            self.withdrawn_count += 1
            probe.burst.size -= 1
            probe.burst.sent -= 1
            self._settle(probe.burst)

    def stamped(self, sequence: int, at_ns: int) -> None:
        """The kernel's time of sending."""
        if (probe := self._probes.get(sequence)) is not None:
            probe.left_at = at_ns

    def _expired(self, sequence: int) -> None:
        if (probe := self._probes.pop(sequence, None)) is not None:
            self._doors.forget(sequence)
            if self._deadlines.stalled:
                self._end_stalled(probe)
            else:
                self._end(probe, "timeout")

    def _end_stalled(self, probe: _Probe) -> None:
        """Our process did not run while it was in flight: nothing was learnt about the network."""
        self.stalled += 1
        probe.burst.sent -= 1
        self._end(probe, "error")

    def _end(self, probe: _Probe, dial: str) -> None:
        probe.burst.dials.append(dial)
        self._settle(probe.burst)

    def _settle(self, burst: Burst) -> None:
        """Report a burst whose probes have all ended; one of which none was allowed is nothing."""
        if not burst.sending and 0 < burst.size == len(burst.dials):
            self._done(burst)


def _trip(probe: _Probe, reply: Datagram, received: Received, now_ns: int) -> Trip:
    """Round trip of one probe; the monotonic clock guards against steps of the wall clock."""
    elapsed = now_ns - probe.mono
    rtt = received.at_ns - probe.left_at
    kernel = bool(probe.left_at) and received.kernel and 0 < rtt <= elapsed + _SLACK_NS
    if not kernel:
        rtt = elapsed
    prober_us = max(0, elapsed - rtt) / 1e3
    responder = reply.sent - reply.received
    if 0 <= responder < rtt:
        return Trip((rtt - responder) / 1e3, prober_us, responder / 1e3, kernel)
    return Trip(rtt / 1e3, prober_us, None, kernel)
