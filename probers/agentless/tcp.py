"""The TCP engine: times handshakes on fixed five-tuples; the peer needs no agent.

The peer's kernel answers a SYN, with SYN and ACK where somebody listens, else with a reset; both
show that the path works. Of a handshake the own kernel measures the round trip (``tcpi_rtt``,
tcp(7)), so a prober that is held up measures right; of a reset the process's own clock has to do.
Neither is stamped by the peer: its kernel answers in a few microseconds.

Every connection is reset at once: nothing is sent over it, and its five-tuple is free again.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Collection
from itertools import count
from time import monotonic_ns, time_ns
from typing import Final

from probers.agentless.connecting import Connecting
from probers.agentless.engine import Allowed, DeviceOf
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.net.udp_socket import IcmpError
from probers.probing.udp import Burst, RoundTrip
from probers.process.loop import Deadlines, Loop

#: Longest time-out [s]: a SYN is sent again after 1 s (RFC 6298), which would hide a loss.
LONGEST_S: Final = 0.9
_NO_ROUTE: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)


class _Handshake:
    """One connection that is being made."""

    __slots__ = ("burst", "connecting")

    def __init__(self, burst: Burst, connecting: Connecting) -> None:
        self.burst, self.connecting = burst, connecting


class TcpEngine:
    """Makes handshakes one after another; see ``AgentlessEngine``."""

    def __init__(
        self,
        loop: Loop,
        on_done: Callable[[Burst], None],
        *,
        timeout_s: float = 0.5,
        allowed: Allowed = lambda: True,
        device_of: DeviceOf = lambda ip: "",
    ) -> None:
        self._loop, self._on_done = loop, on_done
        self._allowed, self._device_of = allowed, device_of
        self._timeout_ns = int(min(timeout_s, LONGEST_S) * 1e9)
        self._number = count()
        self._open: dict[int, _Handshake] = {}
        self._deadlines = Deadlines(loop, self._timeout_ns, self._on_expiry)
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.stalled = 0

    def probe(self, flow: FiveTuple, burst: int = 1) -> None:
        """Make ``burst`` handshakes of ``flow``: the next one when the last one has ended, since
        they share a five-tuple."""
        result = Burst(flow, time_ns(), burst)
        result.sending = False
        self._next(result)

    @property
    def in_flight(self) -> int:
        """Handshakes that have not ended."""
        return len(self._open)

    def retain(self, sources: Collection[Address]) -> None:
        """Give up handshakes of other five-tuples' sources; nothing is reported of them."""
        for number, handshake in list(self._open.items()):
            if handshake.burst.flow.src not in sources:
                self._take(number)

    def close(self) -> None:
        """Give up what is in flight; nothing is reported of it."""
        self.retain(())

    def _next(self, burst: Burst) -> None:
        """Go on with a burst, or report it; one that the rate limit allows no probe is not."""
        while len(burst.dials) < burst.size:
            if not self._allowed():
                burst.size -= 1
            elif self._connect(burst):
                return
        if burst.dials:
            self._on_done(burst)

    def _connect(self, burst: Burst) -> bool:
        """Begin a handshake; False: it has ended already, and is recorded."""
        burst.sent_ns = burst.sent_ns or time_ns()
        connecting = Connecting(burst.flow, self._device_of(burst.flow.src[0]))
        handshake = _Handshake(burst, connecting)
        if not connecting.begun:
            self._end(handshake, connecting.code, own=connecting.code not in _NO_ROUTE)
            return False
        number = next(self._number)
        self._open[number] = handshake
        self._loop.add_writer(connecting.fileno(), lambda: self._on_ready(number))
        self._deadlines.add(number, connecting.mono_ns)
        return True

    def _on_ready(self, number: int) -> None:
        handshake = self._take(number, close=False)
        code, icmp = handshake.connecting.outcome()
        self._end(handshake, code, icmp)
        self._next(handshake.burst)

    def _on_expiry(self, number: int) -> None:
        if number not in self._open:
            return
        stalled = self._deadlines.stalled
        handshake = self._take(number)
        self._count(handshake.burst, "error" if stalled else "timeout", stalled=stalled)
        self._next(handshake.burst)

    def _take(self, number: int, *, close: bool = True) -> _Handshake:
        handshake = self._open.pop(number)
        self._loop.remove_writer(handshake.connecting.fileno())
        if close:
            handshake.connecting.close()
        return handshake

    def _end(
        self, handshake: _Handshake, code: int, icmp: IcmpError | None = None, *, own: bool = False
    ) -> None:
        """Close, and record how it ended.

        code  0 or an errno; icmp: the error behind it; own: the own kernel did not send it
        """
        burst, connecting = handshake.burst, handshake.connecting
        elapsed_ns = monotonic_ns() - connecting.mono_ns
        kernel_us = connecting.kernel_rtt_us() if code == 0 else 0
        connecting.close()
        dial = "error" if own else _dial(code, icmp, burst.flow)
        if dial not in ("success", "refused"):
            self._count(burst, dial)
            return
        elapsed_us, known = elapsed_ns / 1e3, 0 < kernel_us <= elapsed_ns / 1e3
        if not known and elapsed_ns > 2 * self._timeout_ns:  # read late by this process
            self._count(burst, "error", stalled=True)
            return
        rtt_us = kernel_us if known else elapsed_us
        burst.round_trips.append(RoundTrip(rtt_us, round(elapsed_us - rtt_us, 3), None, known))
        self._count(burst, dial)

    def _count(self, burst: Burst, dial: str, *, stalled: bool = False) -> None:
        """Record one outcome."""
        self.stalled += stalled
        burst.dials.append(dial)
        if dial != "error":
            burst.sent += 1
            self.sent[burst.flow.src[0]] += 1
            self.answered[burst.flow.src[0]] += dial in ("success", "refused")


def _dial(code: int, icmp: IcmpError | None, flow: FiveTuple) -> str:
    """A peer that rejects with an ICMP error, as a firewall does, has answered too."""
    if code == 0:
        return "success"
    if code == errno.ECONNREFUSED or (icmp is not None and icmp.offender == flow.dst[0]):
        return "refused"
    return "timeout" if code == errno.ETIMEDOUT else "unreachable"
