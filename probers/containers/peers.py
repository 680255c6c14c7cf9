"""Who is at the other end of a unix socket: the network namespace of the process that connected.

The kernel says which process that is, and shows the addresses of its namespace. So a container need
not name or authenticate itself, and cannot be another one.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
from contextlib import suppress
from typing import Final, NamedTuple

from probers.throughput.interfaces import interfaces_6

_CREDENTIALS: Final = struct.Struct("=iII")  # struct ucred
_SO_PEERPIDFD: Final = 77  # Linux 6.5
_NS_GET_USERNS: Final = 0xB701
_MAX_BYTES: Final = 4 * 1024 * 1024


class UnknownPeer(Exception):
    """Who has connected cannot be found out; one line: why, what to do."""


class Namespace(NamedTuple):
    """A network namespace: its number, and its IP addresses."""

    number: int
    addresses: frozenset[str]


class Peer:
    """The process that has connected: its numbers in this process's namespaces, and a handle that
    tells it from a later process of the same number."""

    def __init__(self, pid: int, uid: int, handle: int) -> None:
        self.pid, self.uid, self._handle = pid, uid, handle

    def namespace(self) -> Namespace:
        """Its network namespace; raises UnknownPeer."""
        try:
            found = self._look()
        except OSError as why:
            raise UnknownPeer(f"process {self.pid}: {why.strerror or why}") from why
        ended = select.poll()
        ended.register(self._handle, select.POLLIN)
        if ended.poll(0):  # what was looked at may have been another process
            raise UnknownPeer(f"process {self.pid} has ended; it must live as long as it speaks")
        return found

    def _look(self) -> Namespace:
        entrance = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            number = os.fstat(entrance).st_ino
            owner = fcntl.ioctl(entrance, _NS_GET_USERNS)
            try:
                ours = os.fstat(owner).st_ino == os.stat("/proc/self/ns/user").st_ino
            finally:
                os.close(owner)
        finally:
            os.close(entrance)
        if not ours:
            raise UnknownPeer(
                f"process {self.pid} is in a network of its own user namespace: it can give itself "
                "any address"
            )
        addresses = local_addresses(self._read("fib_trie"))
        with suppress(OSError):  # a kernel without IPv6
            addresses = addresses.union(interfaces_6(self._read("if_inet6")))
        return Namespace(number, addresses)

    def _read(self, what: str) -> str:
        with open(f"/proc/{self.pid}/net/{what}", "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            raise UnknownPeer(f"process {self.pid} has over {_MAX_BYTES} bytes of {what}")
        return raw.decode(errors="replace")

    def close(self) -> None:
        """Release the handle."""
        with suppress(OSError):
            os.close(self._handle)


def peer_of(connection: socket.socket) -> Peer:
    """Raises UnknownPeer, OSError. The caller closes it."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    if not pid:
        raise UnknownPeer(
            "its process is not visible; run the host's agent in the host's PID namespace (hostPID)"
        )
    try:
        handle = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError:  # an older kernel: the process that has the number now
        handle = os.pidfd_open(pid)
    return Peer(pid, uid, handle)


def local_addresses(trie: str) -> frozenset[str]:
    """The addresses of a namespace in the kernel's print of its routes, without those of whole
    networks. Pure."""
    found, address = set(), ""
    for line in trie.splitlines():
        words = line.split()
        if words[:1] == ["|--"]:
            address = words[1]
        elif words == ["/32", "host", "LOCAL"]:
            found.add(address)
    return frozenset(found)
