"""The UDP engine: bursts of authenticated probes on fixed five-tuples, stamped by the kernel.

Round trip = (t4 - t1) - (t3 - t2): t1, t4 are the prober's time stamps of sending and receiving,
t2, t3 the responder's of receiving and sending, so no two hosts' clocks are compared. Where the
kernel gives no time stamps, the process's own are used.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import NamedTuple

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Packet
from probers.net.socket_pool import Sending, SocketPool
from probers.net.udp_socket import PORT_UNREACHABLE, UNREACHABLE, IcmpError, Received
from probers.process.loop import Deadlines, Loop

_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
#: A kernel-stamped round trip may exceed the monotonic clock's by this much; above, a wall clock
#: was set and the stamps are ignored.
_SLACK_NS = 1_000_000
#: The responder's time of sending is an estimate (``probers.net.send_delay``). Where the network is
#: faster than the estimate is exact, this is the round trip; with a larger error, stamps are wrong.
_SHORTEST_NS = 1_000
_ESTIMATE_ERROR_NS = 30_000


class RoundTrip(NamedTuple):
    """One answered probe [us, with at most three decimals: records are not rounded again].

    responder_us  None where the responder's stamps contradict the round trip
    kernel        both of the prober's time stamps are the kernel's
    """

    rtt_us: float
    prober_us: float
    responder_us: float | None
    kernel: bool


@dataclass(slots=True)
class Burst:
    """Probes of one five-tuple sent together; becomes one record when all have ended.

    dials       how each of them ended
    started_ns  wall clock at the begin; sent_ns: at the first probe
    sent        without the probes that the own kernel refused to send, and without those that were
                in flight while this process did not run: both are the prober's ``error``
    """

    flow: FiveTuple
    started_ns: int
    size: int
    sent_ns: int = 0
    sent: int = 0
    sending: bool = True
    dials: list[str] = field(default_factory=list)
    round_trips: list[RoundTrip] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """Probes that the network did not deliver. A refused one reached the peer's kernel."""
        return self.dials.count("timeout") + self.dials.count("unreachable")

    @property
    def dial(self) -> str:
        """The best outcome of the burst: one success proves that the path works."""
        for dial in ("success", "refused", "timeout", "unreachable"):
            if dial in self.dials:
                return dial
        return "error"


@dataclass(slots=True)
class _Probe:
    burst: Burst
    mono_ns: int
    stamped_ns: int = 0  # the kernel's wall-clock time of sending; 0: not known


class UdpEngine:
    """Sends bursts and reports each one once, when the last of its probes has ended."""

    def __init__(
        self,
        loop: Loop,
        sockets: SocketPool,
        on_done: Callable[[Burst], None],
        *,
        timeout_s: float = 0.5,
    ) -> None:
        self._sockets, self._on_done = sockets, on_done
        self._timeout_ns = int(timeout_s * 1e9)
        self._probes: dict[int, _Probe] = {}
        self._deadlines = Deadlines(loop, self._timeout_ns, self._on_expiry)
        #: Probes by source address, as heartbeats report them.
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        #: Probes that were in flight while the process did not run; see ``Deadlines.stalled``.
        self.stalled = 0
        #: Probes whose socket was closed, for another list, before they ended.
        self.withdrawn = 0

    def probe(self, flow: FiveTuple, burst: int = 1) -> None:
        """Send ``burst`` probes of ``flow`` now."""
        now_ns = time_ns()
        result = Burst(flow, now_ns, burst, now_ns)
        for _ in range(burst):
            self._send(result)
        result.sending = False
        if result.dials:  # else none has ended yet
            self._report_if_complete(result)

    @property
    def in_flight(self) -> int:
        """Probes that have not ended."""
        return len(self._probes)

    def _send(self, burst: Burst) -> None:
        sequence, mono_ns = self._sockets.next_sequence(), monotonic_ns()
        self._probes[sequence] = _Probe(burst, mono_ns)
        try:
            sending = self._sockets.send_probe(self, sequence, burst.flow, self._timeout_ns)
        except OSError as why:
            del self._probes[sequence]
            if why.errno in _NO_ROUTE:
                burst.sent += 1
                self.sent[burst.flow.src[0]] += 1
                burst.dials.append("unreachable")
            else:
                burst.dials.append("error")
            return
        if sending is Sending.OVER_BUDGET:
            del self._probes[sequence]
            burst.size -= 1
            return
        burst.sent += 1
        self.sent[burst.flow.src[0]] += 1
        if sending is Sending.SENT:
            self._deadlines.add(sequence, mono_ns)

    def on_reply(self, sequence: int, reply: Packet, received: Received) -> None:
        """An authenticated reply arrived."""
        probe = self._probes[sequence]
        self.on_round_trip(
            sequence, probe.mono_ns, probe.stamped_ns, received.received_ns, received.kernel,
            received.read_ns or monotonic_ns(), reply.received_ns, reply.sent_ns,
        )  # fmt: skip

    def on_round_trip(
        self, sequence: int, mono_ns: int, stamped_ns: int, received_ns: int, kernel: bool,
        read_ns: int, responder_received_ns: int, responder_sent_ns: int,
    ) -> None:  # fmt: skip
        """An authenticated reply arrived; see ``probers.net.native_sockets.ProbeHandler``."""
        probe = self._probes.pop(sequence)
        elapsed_ns = read_ns - mono_ns
        stamped_rtt_ns = received_ns - stamped_ns if kernel and stamped_ns else 0
        round_trip = _round_trip(
            elapsed_ns, stamped_rtt_ns, responder_sent_ns - responder_received_ns
        )
        self.answered[probe.burst.flow.src[0]] += 1
        if not round_trip.kernel and elapsed_ns > 2 * self._timeout_ns:
            self._end_stalled(probe)  # this process read it late; the network may have been fast
            return
        burst = probe.burst
        burst.round_trips.append(round_trip)
        burst.dials.append("success")
        self._report_if_complete(burst)

    def on_icmp_error(self, sequence: int, icmp: IcmpError) -> None:
        """The peer's kernel has no such port, or a router has no route."""
        probe = self._probes.pop(sequence, None)
        if probe is not None:
            no_port = icmp.type == UNREACHABLE and icmp.code == PORT_UNREACHABLE
            self._end(probe, "refused" if no_port else "unreachable")

    def on_withdrawn(self, sequence: int) -> None:
        """The probe's list was replaced: the probe does not count in any record."""
        if (probe := self._probes.pop(sequence, None)) is not None:
            self.withdrawn += 1
            probe.burst.size -= 1
            probe.burst.sent -= 1
            self._report_if_complete(probe.burst)

    def on_send_timestamp(self, sequence: int, sent_ns: int) -> None:
        """The kernel's time of sending [wall ns]."""
        if (probe := self._probes.get(sequence)) is not None:
            probe.stamped_ns = sent_ns

    def on_unanswered(self, sequence: int, stalled: bool) -> None:
        """The time-out has passed."""
        if (probe := self._probes.pop(sequence, None)) is not None:
            if stalled:
                self._end_stalled(probe)
            else:
                self._end(probe, "timeout")

    def _on_expiry(self, sequence: int) -> None:
        if sequence in self._probes:
            self._sockets.cancel(sequence)
            self.on_unanswered(sequence, self._deadlines.stalled)

    def _end_stalled(self, probe: _Probe) -> None:
        """This process did not run while the probe was in flight: no evidence of the network."""
        self.stalled += 1
        probe.burst.sent -= 1
        self._end(probe, "error")

    def _end(self, probe: _Probe, dial: str) -> None:
        probe.burst.dials.append(dial)
        self._report_if_complete(probe.burst)

    def _report_if_complete(self, burst: Burst) -> None:
        """Report a burst when all its probes have ended; not when the rate limit allowed none."""
        if not burst.sending and 0 < burst.size == len(burst.dials):
            self._on_done(burst)


def _round_trip(elapsed_ns: int, stamped_ns: int, responder_ns: int) -> RoundTrip:
    """Round trip of one probe; the monotonic clock guards against steps of the wall clock.

    elapsed_ns    by this process's monotonic clock
    stamped_ns    by the kernel's stamps; 0: it gave none
    responder_ns  by the responder's stamps
    """
    kernel = 0 < stamped_ns <= elapsed_ns + _SLACK_NS
    rtt_ns = stamped_ns if kernel else elapsed_ns
    prober_us = (elapsed_ns - rtt_ns) / 1e3 if elapsed_ns > rtt_ns else 0.0
    if 0 <= responder_ns < rtt_ns + (_ESTIMATE_ERROR_NS if kernel else 0):
        network_ns = rtt_ns - responder_ns
        if network_ns < _SHORTEST_NS:
            network_ns = _SHORTEST_NS
        return RoundTrip(network_ns / 1e3, prober_us, (rtt_ns - network_ns) / 1e3, kernel)
    return RoundTrip(rtt_ns / 1e3, prober_us, None, kernel)
