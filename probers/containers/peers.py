"""Who is at the other end of a unix socket: the addresses of its network namespace.

The kernel says which process has connected, and shows the routes of that process's namespace. So a
container need not name or authenticate itself, and cannot be another one.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, NamedTuple

_CREDENTIALS: Final = struct.Struct("=iII")  # struct ucred
_MAX_BYTES: Final = 4 * 1024 * 1024


class UnknownPeer(Exception):
    """Who has connected cannot be found out; one line: why, what to do."""


class Peer(NamedTuple):
    """The process that has connected. Its numbers are those of this process's namespaces."""

    pid: int
    uid: int


def peer_of(connection: socket.socket) -> Peer:
    """Raises UnknownPeer, OSError."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    if not pid:
        raise UnknownPeer(
            "its process is not visible; run the host's agent in the host's PID namespace (hostPID)"
        )
    return Peer(pid, uid)


def addresses_of(peer: Peer) -> frozenset[str]:
    """The IPv4 addresses of the peer's network namespace, without those of whole networks.

    Raises UnknownPeer where the process has ended or may not be looked at.
    """
    path = f"/proc/{peer.pid}/net/fib_trie"
    try:
        with open(path, "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except OSError as why:
        raise UnknownPeer(f"{path}: {why.strerror}") from why
    if len(raw) > _MAX_BYTES:
        raise UnknownPeer(f"{path}: over {_MAX_BYTES} bytes of routes")
    return local_addresses(raw.decode(errors="replace"))


def local_addresses(trie: str) -> frozenset[str]:
    """The addresses of a namespace in the kernel's print of its routes. Pure."""
    found, address = set(), ""
    for line in trie.splitlines():
        words = line.split()
        if words[:1] == ["|--"]:
            address = words[1]
        elif words == ["/32", "host", "LOCAL"]:
            found.add(address)
    return frozenset(found)
