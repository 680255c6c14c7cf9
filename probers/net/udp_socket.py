"""A bound UDP socket with the kernel's time stamps, ICMP errors, and TTL and DSCP per packet."""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from contextlib import suppress
from time import time_ns
from typing import TYPE_CHECKING, Final, NamedTuple

from probers.net.packet import Address

if TYPE_CHECKING:
    import skeletonhunter_native

# Linux constants that the socket module does not define.
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
    """A datagram; ``received_ns`` on the wall clock, stamped by the kernel when ``kernel``.

    read_ns  when it was read, on the monotonic clock; 0: just now
    """

    data: bytes
    peer: Address
    received_ns: int
    kernel: bool
    read_ns: int = 0


class SendTimestamp(NamedTuple):
    """The kernel sent a datagram at wall-clock time ``sent_ns``; ``data`` ends with it."""

    data: bytes
    sent_ns: int


class IcmpError(NamedTuple):
    """An ICMP error about a datagram to ``target``.

    data      what the error quotes of the datagram; empty where a router quotes headers only
    offender  address of the host or router that sent the error; "": the own kernel
    """

    data: bytes
    target: Address
    offender: str
    type: int
    code: int


class UdpSocket:
    """One UDP socket bound to (ip, port), for requests and replies."""

    def __init__(
        self, ip: str = "", port: int = 0, device: str = "", descriptor: int | None = None
    ) -> None:
        """Bind, or take the bound socket of another process by its descriptor; raises OSError when
        the address is not the host's, the port is in use, or it is no UDP socket."""
        if descriptor is None:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        else:
            self._socket = socket.socket(fileno=descriptor)
        try:
            self._socket.setblocking(False)
            if descriptor is not None and (self._socket.family, self._socket.type) != (
                socket.AF_INET, socket.SOCK_DGRAM,
            ):  # fmt: skip
                raise OSError(errno.EPROTOTYPE, os.strerror(errno.EPROTOTYPE))
            if device and _LINUX:
                self._socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode() + b"\0"
                )
            self.has_send_timestamps = _LINUX and self._enable_kernel_timestamps()
            if descriptor is None:
                self._socket.bind((ip, port))
        except OSError:
            self._socket.close()
            raise
        self.address: Address = self._socket.getsockname()
        #: The compiled helper's part of it, where that serves it (``probers.net.native_sockets``).
        self.served: skeletonhunter_native.Socket | None = None

    def fileno(self) -> int:
        """The file descriptor, for the loop."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket and release the port."""
        self._socket.close()

    def send(
        self, data: bytes, to: Address, *, dscp: int = 0, ttl: int = 0, timestamp: bool = False
    ) -> None:
        """Send one datagram; raises OSError when the kernel refuses.

        ttl        0: the system's default
        timestamp  have the kernel report the time of sending through ``next_error``
        """
        control: list[tuple[int, int, bytes]] = []
        if dscp:
            control.append((socket.IPPROTO_IP, socket.IP_TOS, struct.pack("=i", dscp << 2)))
        if ttl:
            control.append((socket.IPPROTO_IP, socket.IP_TTL, struct.pack("=i", ttl)))
        if timestamp and self.has_send_timestamps:
            control.append(_STAMP_NEXT_SEND)
        for last_try in (False, False, True):
            try:
                self._socket.sendmsg([data], control, 0, to)
                return
            except OSError:
                # With IP_RECVERR an ICMP error about an *earlier* datagram fails the next send,
                # once; the error itself stays in the error queue. A real refusal is repeated.
                if last_try:
                    raise

    def receive(self) -> Received | None:
        """The next datagram, or None when there is none (the error queue may have entries)."""
        try:
            data, control, _, peer = self._socket.recvmsg(2048, _ROOM)
        except OSError:  # nothing, or an ICMP error that next_error returns
            return None
        for level, kind, body in control:
            if level == socket.SOL_SOCKET and kind in (_SO_TIMESTAMPING, _SO_TIMESTAMPNS):
                received_ns = _nanoseconds(body)
                if received_ns:
                    return Received(data, peer, received_ns, True)
        return Received(data, peer, time_ns(), False)

    def next_error(self) -> SendTimestamp | IcmpError | None:
        """The next time stamp or ICMP error of the error queue, or None when it is empty."""
        while _LINUX:
            try:
                data, control, _, target = self._socket.recvmsg(2048, _ROOM, socket.MSG_ERRQUEUE)
            except OSError:
                return None
            sent_ns = origin = 0
            found: IcmpError | None = None
            for level, kind, body in control:
                if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPING:
                    sent_ns = _nanoseconds(body)
                elif level == socket.IPPROTO_IP and kind == _IP_RECVERR:
                    _, origin, icmp_type, code, _, _ = _ERROR.unpack_from(body)
                    offender = socket.inet_ntoa(body[20:24]) if origin == _ORIGIN_ICMP else ""
                    if origin == _ORIGIN_LOCAL:  # the own kernel found no neighbour
                        icmp_type, code = UNREACHABLE, 1
                    found = IcmpError(data, target or ("", 0), offender, icmp_type, code)
            if origin == _ORIGIN_TIMESTAMPING and sent_ns:
                return SendTimestamp(data, sent_ns)
            if found is not None and origin in (_ORIGIN_ICMP, _ORIGIN_LOCAL):
                return found
        return None

    def _enable_kernel_timestamps(self) -> bool:
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
