"""The TCP engine: times handshakes on fixed five-tuples; the peer needs no agent.

The peer's kernel answers a SYN, with SYN and ACK where somebody listens, else with a reset; both
show that the path works. Of a handshake the own kernel measures the round trip (``tcpi_rtt``,
tcp(7)), so a prober that is held up measures right; of a reset the process's own clock has to do.
Neither is stamped by the peer: its kernel answers in a few microseconds.

Every connection is reset at once: nothing is sent over it, and its five-tuple is free again.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from time import monotonic_ns, time_ns
from typing import Final

from probers.net.five_tuple import FiveTuple
from probers.probing.udp import Burst, RoundTrip
from probers.process.loop import Deadlines, Loop

_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
_NO_ROUTE: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
_RTT_AT, _RTT_END = 68, 72  # tcpi_rtt [us] in struct tcp_info


class _Handshake:
    """One connection that is being made."""

    __slots__ = ("burst", "mono_ns", "socket")

    def __init__(self, burst: Burst, mono_ns: int, connecting: socket.socket) -> None:
        self.burst, self.mono_ns, self.socket = burst, mono_ns, connecting


class TcpEngine:
    """Makes handshakes one after another and reports each burst once; for the loop's thread."""

    def __init__(
        self, loop: Loop, on_done: Callable[[Burst], None], *, timeout_s: float = 0.5
    ) -> None:
        self._loop, self._on_done = loop, on_done
        self._timeout_ns = int(timeout_s * 1e9)
        self._number = count()
        self._open: dict[int, _Handshake] = {}
        self._deadlines = Deadlines(loop, self._timeout_ns, self._on_expiry)
        #: Probes by source address, as heartbeats report them.
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        #: Probes that were in flight while the process did not run; see ``Deadlines.stalled``.
        self.stalled = 0

    def probe(self, flow: FiveTuple, burst: int = 1) -> None:
        """Make ``burst`` handshakes of ``flow``: the next one when the last one has ended, since
        they share a five-tuple."""
        result = Burst(flow, time_ns(), burst)
        result.sending = False
        self._connect(result)

    @property
    def in_flight(self) -> int:
        """Handshakes that have not ended."""
        return len(self._open)

    def close(self) -> None:
        """Give up what is in flight; nothing is reported of it."""
        for number in list(self._open):
            self._take(number)

    def _connect(self, burst: Burst) -> None:
        flow = burst.flow
        connecting = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            connecting.setblocking(False)
            connecting.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            connecting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            if flow.dscp:
                connecting.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow.dscp << 2)
            connecting.bind(flow.src)
            mono_ns = monotonic_ns()
            burst.sent_ns = burst.sent_ns or time_ns()
            code = connecting.connect_ex(flow.dst)
        except OSError as why:  # not an own address, or the five-tuple is in use
            code, mono_ns = why.errno or errno.EIO, monotonic_ns()
            burst.sent_ns = burst.sent_ns or time_ns()
        handshake = _Handshake(burst, mono_ns, connecting)
        if code not in (0, errno.EINPROGRESS):
            self._end(handshake, code, refused_by_self=True)
            return
        number = next(self._number)
        self._open[number] = handshake
        self._loop.add_writer(connecting.fileno(), lambda: self._on_ready(number))
        self._deadlines.add(number, mono_ns)

    def _on_ready(self, number: int) -> None:
        handshake = self._take(number, close=False)
        code = handshake.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self._end(handshake, code)

    def _on_expiry(self, number: int) -> None:
        if number not in self._open:
            return
        stalled = self._deadlines.stalled
        handshake = self._take(number)
        self._count(handshake.burst, errno.ETIMEDOUT, stalled=stalled)

    def _take(self, number: int, *, close: bool = True) -> _Handshake:
        handshake = self._open.pop(number)
        self._loop.remove_writer(handshake.socket.fileno())
        if close:
            handshake.socket.close()
        return handshake

    def _end(self, handshake: _Handshake, code: int, *, refused_by_self: bool = False) -> None:
        """Close, and record how it ended; code: 0 or an errno."""
        elapsed_ns, kernel_us = monotonic_ns() - handshake.mono_ns, 0
        if code == 0:
            with suppress(OSError):
                info = handshake.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RTT_END)
                kernel_us = int.from_bytes(info[_RTT_AT:_RTT_END], "little")
        handshake.socket.close()
        burst, elapsed_us = handshake.burst, elapsed_ns / 1e3
        late = elapsed_ns > 2 * self._timeout_ns  # read late by this process
        answered = code == 0 or (code == errno.ECONNREFUSED and not refused_by_self)
        known = 0 < kernel_us <= elapsed_us
        if answered and (known or not late):
            rtt_us = kernel_us if known else elapsed_us
            burst.round_trips.append(RoundTrip(rtt_us, elapsed_us - rtt_us, None, known))
        self._count(burst, code, stalled=answered and late and not known,
                    own=refused_by_self and code not in _NO_ROUTE)  # fmt: skip

    def _count(self, burst: Burst, code: int, *, stalled: bool = False, own: bool = False) -> None:
        """Record one outcome, and go on with the burst.

        stalled  this process did not run meanwhile; own: the own kernel did not send it
        """
        if stalled or own:
            self.stalled += stalled
            burst.dials.append("error")
        else:
            burst.sent += 1
            self.sent[burst.flow.src[0]] += 1
            self.answered[burst.flow.src[0]] += code in (0, errno.ECONNREFUSED)
            burst.dials.append(_DIALS.get(code, "unreachable"))
        if len(burst.dials) < burst.size:
            self._connect(burst)
        else:
            self._on_done(burst)


_DIALS: Final = {
    0: "success", errno.ECONNREFUSED: "refused", errno.ETIMEDOUT: "timeout",
}  # fmt: skip
