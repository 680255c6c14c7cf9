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

from probers.net.addresses import family_of
from probers.net.packet import Address

if TYPE_CHECKING:
    import skeletonhunter_native

# Linux constants that the socket module does not define.
_IP_RECVERR, _IPV6_RECVERR = 11, 25
_SO_TIMESTAMPNS: Final = 35
_SO_TIMESTAMPING: Final = 37
_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE = 1 << 1, 1 << 3, 1 << 4
_ERROR = struct.Struct("=IBBBxII")  # sock_extended_err; the offender's socket address follows
_ORIGIN_LOCAL, _ORIGIN_ICMP, _ORIGIN_ICMP6, _ORIGIN_TIMESTAMPING = 1, 2, 3, 4
_TIME = struct.Struct("@ll")
_STAMP_NEXT_SEND: Final = (
    socket.SOL_SOCKET,
    _SO_TIMESTAMPING,
    struct.pack("=I", _TX_SOFTWARE),
)
_TOS, _TTL = (socket.IPPROTO_IP, socket.IP_TOS), (socket.IPPROTO_IP, socket.IP_TTL)
_TCLASS = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
_HOP_LIMIT = (socket.IPPROTO_IPV6, 52)  # IPV6_HOPLIMIT
_RECVERR: Final = ((socket.IPPROTO_IP, _IP_RECVERR), (socket.IPPROTO_IPV6, _IPV6_RECVERR))
_LINUX: Final = sys.platform == "linux"
_ROOM: Final = 256  # for control messages: three timespecs and one extended error

UNREACHABLE: Final = 3
PORT_UNREACHABLE: Final = 3
TIME_EXCEEDED: Final = 11
#: Types of ICMPv6 as those of ICMP, and the code of a closed port (RFC 4443).
_TYPES_6: Final = {1: UNREACHABLE, 3: TIME_EXCEEDED}
_PORT_UNREACHABLE_6: Final = 4


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
    type      and code: those of ICMP, also of ICMPv6 errors that mean the same
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
            self._socket = self._new(ip)
        else:
            self._socket = socket.socket(fileno=descriptor)
        self._ipv6 = self._socket.family == socket.AF_INET6
        try:
            self._socket.setblocking(False)
            if descriptor is not None and (
                self._socket.family not in (socket.AF_INET, socket.AF_INET6)
                or self._socket.type != socket.SOCK_DGRAM
            ):
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
        self.address: Address = self._socket.getsockname()[:2]
        #: The compiled helper's part of it, where that serves it (``probers.net.native_sockets``).
        self.served: skeletonhunter_native.Socket | None = None

    def _new(self, ip: str) -> socket.socket:
        """The socket to be bound to an address."""
        return socket.socket(family_of(ip), socket.SOCK_DGRAM)

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
            option = _TCLASS if self._ipv6 else _TOS
            control.append((*option, struct.pack("=i", dscp << 2)))
        if ttl:
            option = _HOP_LIMIT if self._ipv6 else _TTL
            control.append((*option, struct.pack("=i", ttl)))
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
                    return Received(data, peer[:2], received_ns, True)
        return Received(data, peer[:2], time_ns(), False)

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
                elif (level, kind) in _RECVERR:
                    origin = body[4]
                    found = icmp_error(body, data, (target or ("", 0))[:2])
            if origin == _ORIGIN_TIMESTAMPING and sent_ns:
                return SendTimestamp(data, sent_ns)
            if found is not None:
                return found
        return None

    def _enable_kernel_timestamps(self) -> bool:
        with suppress(OSError):
            self._socket.setsockopt(*_RECVERR[self._ipv6], 1)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _RX_SOFTWARE | _SOFTWARE)
        except OSError:
            with suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            return False
        return True


def icmp_error(body: bytes, data: bytes, target: Address) -> IcmpError | None:
    """An entry of an error queue: a ``sock_extended_err`` and the address behind it; None: it is
    about a time stamp."""
    _, origin, kind, code, _, _ = _ERROR.unpack_from(body)
    if origin == _ORIGIN_ICMP:
        return IcmpError(data, target, socket.inet_ntoa(body[20:24]), kind, code)
    if origin == _ORIGIN_ICMP6:
        offender = socket.inet_ntop(socket.AF_INET6, body[24:40])
        kind, closed = _TYPES_6.get(kind, kind), kind == 1 and code == _PORT_UNREACHABLE_6
        return IcmpError(data, target, offender, kind, PORT_UNREACHABLE if closed else code)
    if origin == _ORIGIN_LOCAL:  # the own kernel found no neighbour
        return IcmpError(data, target, "", UNREACHABLE, 1)
    return None


def _nanoseconds(body: bytes) -> int:
    seconds, nanoseconds = _TIME.unpack_from(body)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
