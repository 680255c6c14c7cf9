"""The route of exactly the five-tuple that is probed: same socket, same ports, growing TTL.

One hop at a time, so that the ICMP errors of routers that quote only headers can be matched too. A
trace from a responder's socket to a prober's source port shows the *reply's* route.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import Final, Protocol

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Packet
from probers.net.udp_socket import (
    PORT_UNREACHABLE,
    TIME_EXCEEDED,
    UNREACHABLE,
    IcmpError,
    Received,
)
from probers.process.loop import Deadlines, Loop

MAX_HOPS: Final = 16
#: A trace ends after this many hops in a row without an answer.
MAX_SILENT: Final = 3
MAX_QUEUED: Final = 4096


@dataclass(slots=True)
class Trace:
    """A route: hop addresses in order, None for a silent hop, without the destination itself.

    The route is complete only when ``dial`` is success or refused. Otherwise it ends with the last
    hop that answered and one None: the hops after it are unknown. ``started_ns`` and ``sent_ns``
    are wall clock (begin, first packet), ``hop_sent_ns`` is monotonic (newest packet).
    """

    flow: FiveTuple
    started_ns: int = 0
    sent_ns: int = 0
    hops: list[str | None] = field(default_factory=list)
    dial: str = "timeout"
    rtt_us: float | None = None
    tries: int = 0
    hop_sent_ns: int = 0


class HopHandler(Protocol):
    """Gets what happened to a packet; at most one of both is called."""

    def on_answer(self, sequence: int) -> None:
        """The destination answered."""

    def on_icmp_error(self, sequence: int, icmp: IcmpError) -> None:
        """A hop answered, or the destination's kernel, or a router without a route."""


class Hops(Protocol):
    """Sends a traceroute's packets: the sockets of the engine whose five-tuples are traced."""

    def next_sequence(self) -> int:
        """A number for the next packet."""

    def send_hop(self, handler: Tracer, sequence: int, flow: FiveTuple, ttl: int) -> bool:
        """Send a packet with so small a TTL; False: the rate limit does not allow it. Raises
        OSError when the kernel refuses."""

    def cancel(self, sequence: int) -> None:
        """Stop waiting for an answer; the handler is not called any more."""


class Tracer:
    """Traces flows: at most ``max_active`` at the same time, the others wait in a queue."""

    def __init__(
        self,
        loop: Loop,
        hops: Hops,
        on_done: Callable[[Trace], None],
        *,
        hop_timeout_s: float = 0.3,
        tries: int = 3,
        max_active: int = 32,
    ) -> None:
        self._hops, self._on_done = hops, on_done
        self._tries, self._max_active = tries, max_active
        self._active: dict[int, Trace] = {}
        self._queue: deque[FiveTuple] = deque()
        self._deadlines = Deadlines(loop, int(hop_timeout_s * 1e9), self._on_expiry)
        self._starting = False
        self.dropped = 0

    def trace(self, flow: FiveTuple) -> None:
        """Trace the route of ``flow``, or queue it; dropped and counted when the queue is full."""
        if len(self._queue) >= MAX_QUEUED:
            self.dropped += 1
            return
        self._queue.append(flow)
        self._start_queued()

    def cancel_except(self, addresses: Collection[Address]) -> None:
        """Cancel the traces from all other addresses: their sockets are closed, and a next hop
        would open them again."""
        self._queue = deque(flow for flow in self._queue if flow.src in addresses)
        for sequence, trace in list(self._active.items()):
            if trace.flow.src not in addresses:
                del self._active[sequence]
                self._hops.cancel(sequence)
        self._start_queued()

    def _start_queued(self) -> None:
        if self._starting:  # called by a trace that ended at once: the loop below continues
            return
        self._starting = True
        try:
            while self._queue and len(self._active) < self._max_active:
                self._probe_hop(Trace(self._queue.popleft(), started_ns=time_ns()))
        finally:
            self._starting = False

    def _probe_hop(self, trace: Trace) -> None:
        sequence = self._hops.next_sequence()
        trace.tries += 1
        trace.hop_sent_ns = monotonic_ns()
        trace.sent_ns = trace.sent_ns or time_ns()
        self._active[sequence] = trace
        try:
            self._hops.send_hop(self, sequence, trace.flow, len(trace.hops) + 1)
        except OSError:
            del self._active[sequence]
            self._finish(trace, "error")
            return
        # A request over the rate limit counts as a try: the trace goes on after the time-out.
        self._deadlines.add(sequence, trace.hop_sent_ns)

    def on_reply(self, sequence: int, reply: Packet, received: Received) -> None:
        """The destination replied."""
        self.on_answer(sequence, received.read_ns)

    def on_answer(self, sequence: int, read_ns: int = 0) -> None:
        """The destination answered.

        read_ns  when the answer was read, monotonic; 0: now
        """
        trace = self._active.pop(sequence)
        trace.rtt_us = ((read_ns or monotonic_ns()) - trace.hop_sent_ns) / 1e3
        self._finish(trace, "success")

    def on_icmp_error(self, sequence: int, icmp: IcmpError) -> None:
        """A hop answered, or the destination's kernel, or a router without a route."""
        trace = self._active.pop(sequence, None)
        if trace is None:
            return
        if icmp.type == TIME_EXCEEDED:
            self._next_hop(trace, icmp.offender)
        elif icmp.type == UNREACHABLE and icmp.code == PORT_UNREACHABLE:
            self._finish(trace, "refused")
        else:
            if icmp.offender and icmp.offender != trace.flow.dst[0]:
                trace.hops.append(icmp.offender)
            self._finish(trace, "unreachable")

    def on_withdrawn(self, sequence: int) -> None:
        """The flow's list was replaced: no record is made of its route."""
        self._active.pop(sequence, None)

    def on_send_timestamp(self, sequence: int, sent_ns: int) -> None:
        """Traces request no time stamps."""

    def _on_expiry(self, sequence: int) -> None:
        trace = self._active.pop(sequence, None)
        if trace is None:
            return
        self._hops.cancel(sequence)
        if self._deadlines.stalled:
            trace.tries -= 1  # this process did not run: the hop may well have answered
        if trace.tries < self._tries:
            self._probe_hop(trace)
        else:
            self._next_hop(trace, None)

    def _next_hop(self, trace: Trace, hop: str | None) -> None:
        trace.hops.append(hop)
        trace.tries = 0
        silent = len(trace.hops) >= MAX_SILENT and not any(trace.hops[-MAX_SILENT:])
        if silent or len(trace.hops) >= MAX_HOPS:
            self._finish(trace, "timeout")
        else:
            self._probe_hop(trace)

    def _finish(self, trace: Trace, dial: str) -> None:
        trace.dial = dial
        if dial in ("timeout", "unreachable", "error"):
            while trace.hops and trace.hops[-1] is None:
                trace.hops.pop()
            trace.hops.append(None)
        self._on_done(trace)
        self._start_queued()
