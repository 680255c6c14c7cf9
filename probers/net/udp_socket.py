"""A bound UDP socket, with the kernel's time stamps, ICMP errors and per-packet TTL."""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import suppress
from time import time_ns
from typing import Final, NamedTuple

from probers.net.packet import Address

# Linux numbers that the socket module does not name.
_IP_RECVERR: Final = 11
_SO_TIMESTAMPNS: Final = 35
_SO_TIMESTAMPING: Final = 37
_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE = 1 << 1, 1 << 3, 1 << 4
_ERROR = struct.Struct("=IBBBxII")  # sock_extended_err; the offender's sockaddr_in follows
_ORIGIN_LOCAL, _ORIGIN_ICMP, _ORIGIN_TIMESTAMPING = 1, 2, 4
_TIME = struct.Struct("@ll")
_STAMP_NEXT_SEND: Final = (
    socket.SOL_SOCKET,
    _SO_TIMESTAMPING,
    struct.pack("=I", _TX_SOFTWARE),
)
_LINUX: Final = sys.platform == "linux"
_ROOM: Final = 256  # for control messages: three timespecs and one extended error

UNREACHABLE: Final = 3
PORT_UNREACHABLE: Final = 3
TIME_EXCEEDED: Final = 11


class Received(NamedTuple):
    """A datagram; ``at_ns`` on the wall clock, by the kernel when ``kernel``."""

    data: bytes
    peer: Address
    at_ns: int
    kernel: bool


class Stamp(NamedTuple):
    """The kernel sent this datagram at that wall-clock time. ``data`` ends with the datagram."""

    data: bytes
    at_ns: int


class Icmp(NamedTuple):
    """An ICMP error about something we sent to ``target``; ``data`` is what it quoted of it,
    empty where a router quotes headers only. ``offender`` is "" for an error of our own kernel."""

    data: bytes
    target: Address
    offender: str
    type: int
    code: int


class UdpSocket:
    """One UDP socket bound to (ip, port): asks from there, or answers there."""

    def __init__(self, ip: str, port: int, device: str = "") -> None:
        """Bind; raises OSError when the address is not ours or the port is taken."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            if device and _LINUX:
                self._socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode() + b"\0"
                )
            self.stamps_sends = _LINUX and self._ask_for_kernel_help()
            self._socket.bind((ip, port))
        except OSError:
            self._socket.close()
            raise
        self.address: Address = (ip, self._socket.getsockname()[1])

    def fileno(self) -> int:
        """For the selector."""
        return self._socket.fileno()

    def close(self) -> None:
        """Free the port."""
        self._socket.close()

    def send(
        self, data: bytes, to: Address, *, dscp: int = 0, ttl: int = 0, stamp: bool = False
    ) -> None:
        """Send one datagram; ``ttl`` 0 = the system's. ``stamp``: have the kernel report when it
        left, by ``next_error``. Raises OSError when the kernel refuses to send."""
        control: list[tuple[int, int, bytes]] = []
        if dscp:
            control.append((socket.IPPROTO_IP, socket.IP_TOS, struct.pack("=i", dscp << 2)))
        if ttl:
            control.append((socket.IPPROTO_IP, socket.IP_TTL, struct.pack("=i", ttl)))
        if stamp and self.stamps_sends:
            control.append(_STAMP_NEXT_SEND)
        for last_try in (False, False, True):
            try:
                self._socket.sendmsg([data], control, 0, to)
                return
            except OSError:
                # With IP_RECVERR an ICMP error about an *earlier* datagram fails the next send,
                # once; what it was about stays in the error queue. A real refusal comes again.
                if last_try:
                    raise

    def receive(self) -> Received | None:
        """The next datagram, or None when there is none now (an error may be waiting instead)."""
        try:
            data, control, _, peer = self._socket.recvmsg(2048, _ROOM)
        except OSError:  # nothing, or an ICMP error that next_error explains
            return None
        for level, kind, body in control:
            if level == socket.SOL_SOCKET and kind in (_SO_TIMESTAMPING, _SO_TIMESTAMPNS):
                at = _nanoseconds(body)
                if at:
                    return Received(data, peer, at, True)
        return Received(data, peer, time_ns(), False)

    def next_error(self) -> Stamp | Icmp | None:
        """The next entry of the error queue that matters to us, or None when it is empty."""
        while _LINUX:
            try:
                data, control, _, target = self._socket.recvmsg(2048, _ROOM, socket.MSG_ERRQUEUE)
            except OSError:
                return None
            at = origin = 0
            found: Icmp | None = None
            for level, kind, body in control:
                if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPING:
                    at = _nanoseconds(body)
                elif level == socket.IPPROTO_IP and kind == _IP_RECVERR:
                    _, origin, icmp_type, code, _, _ = _ERROR.unpack_from(body)
                    offender = socket.inet_ntoa(body[20:24]) if origin == _ORIGIN_ICMP else ""
                    if origin == _ORIGIN_LOCAL:  # our own kernel found no neighbour
                        icmp_type, code = UNREACHABLE, 1
                    found = Icmp(data, target or ("", 0), offender, icmp_type, code)
            if origin == _ORIGIN_TIMESTAMPING and at:
                return Stamp(data, at)
            if found is not None and origin in (_ORIGIN_ICMP, _ORIGIN_LOCAL):
                return found
        return None

    def _ask_for_kernel_help(self) -> bool:
        with suppress(OSError):
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _RX_SOFTWARE | _SOFTWARE)
        except OSError:
            with suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            return False
        return True


def _nanoseconds(body: bytes) -> int:
    seconds, nanoseconds = _TIME.unpack_from(body)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
