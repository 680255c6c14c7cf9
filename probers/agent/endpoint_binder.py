"""Opens the responder's socket on every own endpoint, and again when an address appears later."""

from __future__ import annotations

import errno
from collections.abc import Iterable

from probers.net.socket_pool import SocketPool
from probers.process.log import log_event


class EndpointBinder:
    """Replies are sent from these sockets; an address that is missing is logged once."""

    def __init__(self, sockets: SocketPool, port: int) -> None:
        self._sockets, self._port = sockets, port
        #: Own addresses without a socket, and those of them whose port another process has.
        self.unbound: set[str] = set()
        self.in_use: set[str] = set()

    def bind(self, addresses: Iterable[str]) -> None:
        """Open the sockets of these addresses that are not open."""
        for ip in addresses:
            try:
                self._sockets.open((ip, self._port))
            except OSError as why:
                taken = why.errno == errno.EADDRINUSE
                (self.in_use.add if taken else self.in_use.discard)(ip)
                if ip not in self.unbound:
                    hint = "; does another agent of this host run?" if taken else ""
                    log_event("error", "endpoint-not-bound", ip=ip, port=self._port,
                              why=f"{why.strerror}{hint}", retry="every second")  # fmt: skip
                self.unbound.add(ip)
            else:
                self.in_use.discard(ip)
                if ip in self.unbound:
                    self.unbound.discard(ip)
                    log_event("info", "endpoint-bound", ip=ip)

    def retain(self, addresses: set[str]) -> None:
        """Drop what is known about other addresses: they are not endpoints any more."""
        self.unbound &= addresses
        self.in_use &= addresses
