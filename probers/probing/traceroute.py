"""The route of exactly the five-tuple that is probed: same socket, same ports, growing TTL.

One hop at a time, so that a router that quotes only headers is matched as well as one that quotes
the datagram. A trace from a responder's socket to a prober's source port shows the *reply's* route.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import Final

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Datagram
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import PORT_UNREACHABLE, TIME_EXCEEDED, UNREACHABLE, Icmp, Received
from probers.probing.loop import Deadlines, Loop

MAX_HOPS: Final = 16
#: So many silent hops in a row mean that nobody is there any more.
MAX_SILENT: Final = 3
MAX_QUEUED: Final = 4096


@dataclass(slots=True)
class Trace:
    """A route: hop addresses in order, None for a silent hop, without the destination itself.

    It is complete only when ``dial`` is success or refused. Otherwise the route ends where the
    last answer came from, followed by one None: nobody knows what comes after.
    """

    flow: FiveTuple
    started: int = 0
    sent_at: int = 0
    hops: list[str | None] = field(default_factory=list)
    dial: str = "timeout"
    rtt_us: float | None = None
    tries: int = 0
    mono: int = 0


class Tracer:
    """Traces flows; at most ``at_once`` at a time, the others queue."""

    def __init__(
        self,
        loop: Loop,
        doors: SocketPool,
        done: Callable[[Trace], None],
        *,
        hop_timeout_s: float = 0.3,
        tries: int = 3,
        at_once: int = 32,
    ) -> None:
        self._doors, self._done, self._tries, self._at_once = doors, done, tries, at_once
        self._traces: dict[int, Trace] = {}
        self._queue: deque[FiveTuple] = deque()
        self._deadlines = Deadlines(loop, int(hop_timeout_s * 1e9), self._expired)
        self._admitting = False
        self.dropped = 0

    def trace(self, flow: FiveTuple) -> None:
        """Find the route of ``flow`` as soon as there is room."""
        if len(self._queue) >= MAX_QUEUED:
            self.dropped += 1
            return
        self._queue.append(flow)
        self._admit()

    def keep_only(self, addresses: Collection[Address]) -> None:
        """Go on with traces from these addresses only: the others' sockets are closed, and a
        next hop would open them again."""
        self._queue = deque(flow for flow in self._queue if flow.src in addresses)
        for sequence, trace in list(self._traces.items()):
            if trace.flow.src not in addresses:
                del self._traces[sequence]
                self._doors.forget(sequence)
        self._admit()

    def _admit(self) -> None:
        if self._admitting:  # a trace that ended at once: the loop below goes on by itself
            return
        self._admitting = True
        try:
            while self._queue and len(self._traces) < self._at_once:
                self._ask(Trace(self._queue.popleft(), started=time_ns()))
        finally:
            self._admitting = False

    def _ask(self, trace: Trace) -> None:
        sequence = self._doors.next_sequence()
        trace.tries += 1
        trace.mono = monotonic_ns()
        trace.sent_at = trace.sent_at or time_ns()
        self._traces[sequence] = trace
        try:
            self._doors.ask(self, sequence, trace.flow, packet.TRACE, ttl=len(trace.hops) + 1)
        except OSError:
            del self._traces[sequence]
            self._end(trace, "error")
            return
        # Over the agent's budget counts as a try: the trace goes on when the deadline has passed.
        self._deadlines.add(sequence, trace.mono)

    def replied(self, sequence: int, reply: Datagram, received: Received) -> None:
        """The destination answered."""
        trace = self._traces.pop(sequence)
        trace.rtt_us = (monotonic_ns() - trace.mono) / 1e3
        self._end(trace, "success")

    def refused(self, sequence: int, icmp: Icmp) -> None:
        """A hop answered, or the destination's kernel, or a router that knows no way on."""
        trace = self._traces.pop(sequence, None)
        if trace is None:
            return
        if icmp.type == TIME_EXCEEDED:
            self._next_hop(trace, icmp.offender)
        elif icmp.type == UNREACHABLE and icmp.code == PORT_UNREACHABLE:
            self._end(trace, "refused")
        else:
            if icmp.offender and icmp.offender != trace.flow.dst[0]:
                trace.hops.append(icmp.offender)
            self._end(trace, "unreachable")

    def withdrawn(self, sequence: int) -> None:
        """The list that it was for is gone: no record says anything about its route."""
        self._traces.pop(sequence, None)

    def stamped(self, sequence: int, at_ns: int) -> None:
        """Traces ask for no stamps."""

    def _expired(self, sequence: int) -> None:
        trace = self._traces.pop(sequence, None)
        if trace is None:
            return
        self._doors.forget(sequence)
        if self._deadlines.stalled:
            trace.tries -= 1  # our process did not run: the hop may well have answered
        if trace.tries < self._tries:
            self._ask(trace)
        else:
            self._next_hop(trace, None)

    def _next_hop(self, trace: Trace, hop: str | None) -> None:
        trace.hops.append(hop)
        trace.tries = 0
        silent = len(trace.hops) >= MAX_SILENT and not any(trace.hops[-MAX_SILENT:])
        if silent or len(trace.hops) >= MAX_HOPS:
            self._end(trace, "timeout")
        else:
            self._ask(trace)

    def _end(self, trace: Trace, dial: str) -> None:
        trace.dial = dial
        if dial in ("timeout", "unreachable", "error"):
            while trace.hops and trace.hops[-1] is None:
                trace.hops.pop()
            trace.hops.append(None)
        self._done(trace)
        self._admit()
