"""A socket for ICMP echoes: the kernel's unprivileged one, else a raw one.

Unprivileged sockets (``SOCK_DGRAM``, icmp(7)) are for the groups in ``net.ipv4.ping_group_range``,
for IPv6 too; the kernel writes the identifier and the checksum, and hands each socket its own
answers only. Raw sockets need ``CAP_NET_RAW``.
"""

from __future__ import annotations

import errno
import socket
import struct
from typing import Final, NamedTuple

from probers.net.addresses import family_of
from probers.net.packet import Address
from probers.net.udp_socket import UdpSocket

NOT_ALLOWED: Final = (
    "ICMP needs this process's group in net.ipv4.ping_group_range (sysctl -w "
    "net.ipv4.ping_group_range='0 2147483647', in the agent's network namespace) or CAP_NET_RAW"
)
_HEADER: Final = struct.Struct("!BBHHH")  # type, code, checksum, identifier, sequence
_MAGIC: Final = b"SKHI"
_NONCE_BYTES: Final = 8
#: Of an echo, without the IP header: as ping(8) sends them.
SIZE: Final = 64
_REQUEST: Final = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY: Final = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PROTOCOL: Final = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}
_ALL: Final = 0xFFFF_FFFF
#: Option of ICMP's and of ICMPv6's raw sockets: a bit set for each type that is not received.
_FILTER_4, _FILTER_6 = (255, 1), (socket.IPPROTO_ICMPV6, 1)


class Echo(NamedTuple):
    """A request or a reply; ``nonce`` is empty where a router quoted the header only."""

    sequence: int
    nonce: bytes
    reply: bool


class EchoSocket(UdpSocket):
    """Bound to an own address and an identifier; time stamps and errors as of a UDP socket."""

    def __init__(self, ip: str, identifier: int, device: str = "") -> None:
        """identifier  above 0

        Raises OSError; EPERM: neither socket is allowed.
        """
        self._family, self._raw = family_of(ip), False
        super().__init__(ip, identifier, device)
        if self._raw:
            self.address: Address = (ip, identifier)

    @property
    def raw(self) -> bool:
        """Whether it is a raw one."""
        return self._raw

    def request(self, sequence: int, nonce: bytes) -> bytes:
        """An echo request; the kernel completes it, but for the checksum of a raw IPv4 one."""
        kind = _REQUEST[self._family]
        body = (_MAGIC + nonce).ljust(SIZE - _HEADER.size, b"\0")
        made = _HEADER.pack(kind, 0, 0, self.address[1], sequence) + body
        if not self._raw or self._family == socket.AF_INET6:
            return made
        return _HEADER.pack(kind, 0, checksum(made), self.address[1], sequence) + body

    def read(self, data: bytes) -> Echo | None:
        """What ``receive`` or an error returned; None: no echo of this socket."""
        if self._raw and self._family == socket.AF_INET and data[:1] >= b"\x40":
            data = data[4 * (data[0] & 15) :]  # received raw datagrams have their IP header
        if len(data) < _HEADER.size:
            return None
        kind, _, _, identifier, sequence = _HEADER.unpack_from(data)
        reply = kind == _REPLY[self._family]
        if not (reply or kind == _REQUEST[self._family]) or identifier != self.address[1]:
            return None
        body = data[_HEADER.size :]
        if len(body) < len(_MAGIC) + _NONCE_BYTES:
            return Echo(sequence, b"", reply)
        if not body.startswith(_MAGIC):
            return None
        return Echo(sequence, body[len(_MAGIC) :][:_NONCE_BYTES], reply)

    def _new(self, ip: str) -> socket.socket:
        protocol = _PROTOCOL[self._family]
        try:
            made = socket.socket(self._family, socket.SOCK_DGRAM, protocol)
        except PermissionError:
            return self._new_raw(protocol)
        # Sockets of different own addresses share an identifier.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return made

    def _new_raw(self, protocol: int) -> socket.socket:
        try:
            made = socket.socket(self._family, socket.SOCK_RAW, protocol)
        except PermissionError as why:
            raise OSError(errno.EPERM, NOT_ALLOWED) from why
        self._raw, reply = True, _REPLY[self._family]
        if self._family == socket.AF_INET:
            made.setsockopt(*_FILTER_4, struct.pack("=I", _ALL & ~(1 << reply)))
        else:
            blocked = [_ALL] * 8
            blocked[reply >> 5] &= ~(1 << (reply & 31))
            made.setsockopt(*_FILTER_6, struct.pack("=8I", *blocked))
        return made


def checksum(data: bytes) -> int:
    """The Internet checksum of an even number of bytes (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
