"""A TCP connection that is begun on a fixed five-tuple, and how it ended; it is reset at once."""

from __future__ import annotations

import errno
import socket
import struct
from contextlib import suppress
from time import monotonic_ns
from typing import Final

from probers.net.addresses import family_of
from probers.net.five_tuple import FiveTuple
from probers.net.udp_socket import IcmpError, icmp_error

_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
_RTT_AT, _RTT_END = 68, 72  # tcpi_rtt [us] in struct tcp_info
_RECVERR: Final = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (41, 25)}
_TOS: Final = {
    socket.AF_INET: (socket.IPPROTO_IP, socket.IP_TOS),
    socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_TCLASS),
}
_TTL: Final = {
    socket.AF_INET: (socket.IPPROTO_IP, socket.IP_TTL),
    socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS),
}


class Connecting:
    """A SYN that was sent, unless ``code`` says otherwise.

    mono_ns  when; code: 0 or EINPROGRESS, else the errno with which the own kernel refused
    """

    def __init__(self, flow: FiveTuple, device: str = "", ttl: int = 0) -> None:
        """ttl  0: the system's default"""
        family = family_of(flow.dst[0])
        self._socket = made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            with suppress(OSError):  # no Linux: who sent an ICMP error stays unknown
                made.setsockopt(*_RECVERR[family], 1)
            if device:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode() + b"\0")
            if flow.dscp:
                made.setsockopt(*_TOS[family], flow.dscp << 2)
            if ttl:
                made.setsockopt(*_TTL[family], ttl)
            made.bind(flow.src)
            self.mono_ns = monotonic_ns()
            self.code = made.connect_ex(flow.dst)
        except OSError as why:  # not an own address, or the five-tuple is in use
            self.mono_ns, self.code = monotonic_ns(), why.errno or errno.EIO

    @property
    def begun(self) -> bool:
        """Whether the own kernel sent it."""
        return self.code in (0, errno.EINPROGRESS)

    def fileno(self) -> int:
        """The file descriptor, for the loop."""
        return self._socket.fileno()

    def outcome(self) -> tuple[int, IcmpError | None]:
        """0 or an errno, and the ICMP error behind it, if there is one; once it can be written."""
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return code, self._icmp_error() if code else None

    def kernel_rtt_us(self) -> int:
        """The own kernel's measurement of the handshake; 0: none."""
        with suppress(OSError):
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RTT_END)
            return int.from_bytes(info[_RTT_AT:_RTT_END], "little")
        return 0

    def close(self) -> None:
        """Reset the connection, or give it up."""
        self._socket.close()

    def _icmp_error(self) -> IcmpError | None:
        found: IcmpError | None = None
        with suppress(OSError):
            _, control, _, target = self._socket.recvmsg(0, 256, socket.MSG_ERRQUEUE)
            for level, kind, body in control:
                if (level, kind) in _RECVERR.values():
                    found = icmp_error(body, b"", (target or ("", 0))[:2])
        return found
