"""TCP traceroutes: SYNs of exactly the probed five-tuple with small hop limits."""

from __future__ import annotations

import errno
from itertools import count

from probers.agentless.connecting import Connecting
from probers.agentless.engine import Allowed, DeviceOf
from probers.net.five_tuple import FiveTuple
from probers.net.udp_socket import PORT_UNREACHABLE, UNREACHABLE, IcmpError
from probers.probing.traceroute import HopHandler
from probers.process.loop import Loop


class TcpHops:
    """Sends the packets of ``Tracer``."""

    def __init__(self, loop: Loop, allowed: Allowed, device_of: DeviceOf) -> None:
        self._loop, self._allowed, self._device_of = loop, allowed, device_of
        self._numbers = count(1)
        self._open: dict[int, tuple[HopHandler, FiveTuple, Connecting]] = {}

    def next_sequence(self) -> int:
        """A number for the next packet."""
        return next(self._numbers)

    def send_hop(self, handler: HopHandler, sequence: int, flow: FiveTuple, ttl: int) -> bool:
        """Send one SYN; False: the rate limit does not allow it. Raises OSError."""
        if not self._allowed():
            return False
        connecting = Connecting(flow, self._device_of(flow.src[0]), ttl)
        if not connecting.begun:
            connecting.close()
            raise OSError(connecting.code, "not sent")
        self._open[sequence] = handler, flow, connecting
        self._loop.add_writer(connecting.fileno(), lambda: self._on_ready(sequence))
        return True

    def cancel(self, sequence: int) -> None:
        """Stop waiting for an answer."""
        if (found := self._open.pop(sequence, None)) is not None:
            self._loop.remove_writer(found[2].fileno())
            found[2].close()

    def close(self) -> None:
        """Give up all."""
        for sequence in list(self._open):
            self.cancel(sequence)

    def _on_ready(self, sequence: int) -> None:
        handler, flow, connecting = self._open[sequence]
        code, icmp = connecting.outcome()
        self.cancel(sequence)
        if code == 0:
            handler.on_answer(sequence)
        elif code == errno.ECONNREFUSED:
            closed = IcmpError(b"", flow.dst, flow.dst[0], UNREACHABLE, PORT_UNREACHABLE)
            handler.on_icmp_error(sequence, closed)
        else:
            unknown = IcmpError(b"", flow.dst, "", UNREACHABLE, 1)
            handler.on_icmp_error(sequence, icmp or unknown)
