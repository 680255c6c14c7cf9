"""The ICMP engine: echoes, stamped by the own kernel; the peer needs no agent.

An echo has no ports: ECMP chooses its path by the two addresses, so there is one path for a pair of
addresses. In records the source port is the echo's identifier, and the destination port is 0.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import monotonic_ns, time_ns
from typing import Final

from probers.agentless.echoes import Echoes
from probers.agentless.engine import Allowed, DeviceOf
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.net.udp_socket import TIME_EXCEEDED, IcmpError, Received
from probers.probing.udp import Burst, RoundTrip
from probers.process.loop import Deadlines, Loop

_NO_ROUTE: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
#: A kernel-stamped round trip may exceed the monotonic clock's by this much; above, a wall clock
#: was set and the stamps are ignored.
_SLACK_NS: Final = 1_000_000


@dataclass(slots=True)
class _Probe:
    burst: Burst
    mono_ns: int
    stamped_ns: int = 0  # the kernel's wall-clock time of sending; 0: not known


class IcmpEngine:
    """Sends bursts of echo requests; see ``AgentlessEngine``."""

    def __init__(
        self,
        loop: Loop,
        on_done: Callable[[Burst], None],
        *,
        timeout_s: float = 0.5,
        allowed: Allowed = lambda: True,
        device_of: DeviceOf = lambda ip: "",
    ) -> None:
        self._on_done, self._allowed = on_done, allowed
        #: Its sockets, which a tracer uses too.
        self.echoes = Echoes(loop, device_of)
        self._timeout_ns = int(timeout_s * 1e9)
        self._probes: dict[int, _Probe] = {}
        self._deadlines = Deadlines(loop, self._timeout_ns, self._on_expiry)
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.stalled = 0

    def probe(self, flow: FiveTuple, burst: int = 1) -> None:
        """Send ``burst`` echo requests of ``flow`` now."""
        result = Burst(flow, time_ns(), burst)
        for _ in range(burst):
            self._send(result)
        result.sending = False
        self._report_if_complete(result)

    def refusal(self, source: Address) -> str | None:
        """Why this process may not send echoes from an own address; None: it may, or that is not
        known, because the host does not have the address now."""
        try:
            self.echoes.open(source)
        except OSError as why:
            return why.strerror if why.errno == errno.EPERM else None
        return None

    @property
    def in_flight(self) -> int:
        """Probes that have not ended."""
        return len(self._probes)

    def retain(self, sources: Collection[Address]) -> None:
        """Close the sockets of other own addresses; their probes count in no record."""
        self.echoes.retain(sources)

    def close(self) -> None:
        """Close all sockets; nothing is reported of what is in flight."""
        self._probes.clear()
        self.echoes.retain(())

    def _send(self, burst: Burst) -> None:
        if not self._allowed():
            burst.size -= 1
            return
        number = self.echoes.next_number()
        probe = self._probes[number] = _Probe(burst, monotonic_ns())
        burst.sent_ns = burst.sent_ns or time_ns()
        try:
            probe.mono_ns = self.echoes.send(self, number, burst.flow, timestamp=True)
        except OSError as why:
            del self._probes[number]
            burst.dials.append("error")
            if why.errno in _NO_ROUTE:
                burst.dials[-1] = "unreachable"
                self._count(burst)
            return
        self._count(burst)
        self._deadlines.add(number, probe.mono_ns)

    def on_echo(self, number: int, received: Received) -> None:
        """The peer answered."""
        if (probe := self._probes.pop(number, None)) is None:
            return
        self.answered[probe.burst.flow.src[0]] += 1
        elapsed_ns = monotonic_ns() - probe.mono_ns
        rtt_ns = received.received_ns - probe.stamped_ns
        kernel = bool(probe.stamped_ns) and received.kernel and 0 < rtt_ns <= elapsed_ns + _SLACK_NS
        if not kernel:
            rtt_ns = elapsed_ns
            if elapsed_ns > 2 * self._timeout_ns:  # read late by this process
                self._end_stalled(probe)
                return
        prober_us = max(0, elapsed_ns - rtt_ns) / 1e3
        probe.burst.round_trips.append(RoundTrip(rtt_ns / 1e3, prober_us, None, kernel))
        self._end(probe, "success")

    def on_icmp_error(self, number: int, icmp: IcmpError) -> None:
        """The peer's kernel rejects echoes, as a firewall does, or a router has no route."""
        if (probe := self._probes.pop(number, None)) is None:
            return
        rejects = icmp.offender == probe.burst.flow.dst[0] and icmp.type != TIME_EXCEEDED
        self.answered[probe.burst.flow.src[0]] += rejects
        self._end(probe, "refused" if rejects else "unreachable")

    def on_withdrawn(self, number: int) -> None:
        """The probe's list was replaced: the probe does not count in any record."""
        if (probe := self._probes.pop(number, None)) is not None:
            probe.burst.size -= 1
            probe.burst.sent -= 1
            self._report_if_complete(probe.burst)

    def on_send_timestamp(self, number: int, sent_ns: int) -> None:
        """The kernel's time of sending [wall ns]."""
        if (probe := self._probes.get(number)) is not None:
            probe.stamped_ns = sent_ns

    def _on_expiry(self, number: int) -> None:
        if (probe := self._probes.pop(number, None)) is not None:
            self.echoes.cancel(number)
            if self._deadlines.stalled:
                self._end_stalled(probe)
            else:
                self._end(probe, "timeout")

    def _end_stalled(self, probe: _Probe) -> None:
        """This process did not run while the probe was in flight: no evidence of the network."""
        self.stalled += 1
        probe.burst.sent -= 1
        self._end(probe, "error")

    def _count(self, burst: Burst) -> None:
        burst.sent += 1
        self.sent[burst.flow.src[0]] += 1

    def _end(self, probe: _Probe, dial: str) -> None:
        probe.burst.dials.append(dial)
        self._report_if_complete(probe.burst)

    def _report_if_complete(self, burst: Burst) -> None:
        """Report a burst when all its probes have ended; not when the rate limit allowed none."""
        if not burst.sending and 0 < burst.size == len(burst.dials):
            self._on_done(burst)
