"""A small HTTP server for the agent's health: one thread, bounded connections, sizes and times.

One request per connection, GET only, no body. The standard library's server keeps a thread for each
connection and waits for slow clients without a bound.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import Final, NamedTuple

from probers.health.access import HealthAccess
from probers.process.log import log_event
from probers.process.thread_failures import describe_error

MAX_CONNECTIONS: Final = 16
MAX_HEAD_BYTES: Final = 4096
DEADLINE_S: Final = 2.0  # for a whole request and its response
_RETRY_S: Final = 5.0


class Page(NamedTuple):
    """An HTTP response."""

    status: int
    content_type: str
    body: bytes


#: A path and the server's counts -> the page.
PageHandler = Callable[[str, Counter[str]], Page]


@dataclass(slots=True)
class _Client:
    deadline_s: float
    head: bytes = b""
    response: memoryview | None = None


class HealthServer:
    """Serves ``host:port`` in a thread of its own.

    An address that cannot be bound is logged once and tried again every few seconds: the agent
    runs without its health server.
    """

    def __init__(
        self,
        host: str,
        port: int,
        handler: PageHandler,
        *,
        access: HealthAccess | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """``access``: who may ask; without it this host alone."""
        self._host, self._port, self._handler = host, port, handler
        self._access = access or HealthAccess(host)
        self._deadline_s = deadline_s
        #: served, refused (not allowed, too many, too slow, no request), failed (a defect here)
        self.counts: Counter[str] = Counter()
        self._clients: dict[socket.socket, _Client] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_sender.setblocking(False)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._server: socket.socket | None = None
        self._bind_again_s = 0.0
        self._bind_failure_logged = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)

    @property
    def port(self) -> int:
        """The port that is served; 0: none."""
        server = self._server
        return 0 if server is None else int(server.getsockname()[1])

    def start(self) -> HealthServer:
        """Bind and serve."""
        self._bind(monotonic())
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving."""
        self._stopping = True
        self._wake_sender.send(b"!")
        if self._thread.is_alive():
            self._thread.join(5.0)
        for connection in list(self._clients):
            self._drop(connection)
        self._unbind()
        self._selector.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    def _bind(self, now: float) -> None:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        server = socket.socket(family, socket.SOCK_STREAM)
        try:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((self._host, self._port))
            server.listen(MAX_CONNECTIONS)
            server.setblocking(False)
            self._selector.register(server, selectors.EVENT_READ)
        except OSError as why:
            server.close()
            self._bind_again_s = now + _RETRY_S
            if not self._bind_failure_logged:
                log_event("error", "health-not-served", at=f"{self._host}:{self._port}",
                    why=why.strerror or why, retry=f"every {_RETRY_S:g} s")  # fmt: skip
            self._bind_failure_logged = True
            return
        self._server, self._bind_failure_logged = server, False

    def _unbind(self) -> None:
        if self._server is not None:
            self._selector.unregister(self._server)
            self._server.close()
            self._server = None

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._serve_once()
            except Exception as why:  # a defect here must not end the health server
                self.counts["failed"] += 1
                log_event("error", "health-failed", why=describe_error(why))
                threading.Event().wait(0.1)  # the defect may occur again at once

    def _serve_once(self) -> None:
        waits = [client.deadline_s for client in self._clients.values()]
        waits += [self._bind_again_s] if self._server is None else []
        now = monotonic()
        timeout = max(0.0, min(waits) - now) if waits else None
        events = self._selector.select(timeout)
        now = monotonic()
        if self._server is None and now >= self._bind_again_s:
            self._bind(now)
        for key, _ in events:
            if key.fileobj is self._server:
                self._accept(now)
            elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._clients:
                try:
                    self._serve(key.fileobj)
                except OSError:
                    self._drop(key.fileobj, "refused")
                except Exception as why:  # a defect costs this request, not the next ones
                    log_event("error", "health-failed", why=describe_error(why))
                    self._drop(key.fileobj, "failed")
        for connection, client in list(self._clients.items()):
            if client.deadline_s <= now:
                self._drop(connection, "refused")

    def _accept(self, now: float) -> None:
        server = self._server
        if server is None:
            return
        try:
            connection, peer = server.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:  # no file descriptors: listen again later
            self.counts["refused"] += 1
            self._unbind()
            self._bind_again_s = now + _RETRY_S
            return
        if not self._access.admits(peer[0]):  # before it can take the place of another client
            self.counts["refused"] += 1
            connection.close()
            return
        if len(self._clients) >= MAX_CONNECTIONS:
            self._drop(next(iter(self._clients)), "refused")  # the oldest one, which is slow
        connection.setblocking(False)
        self._clients[connection] = _Client(now + self._deadline_s)
        self._selector.register(connection, selectors.EVENT_READ)

    def _serve(self, connection: socket.socket) -> None:
        client = self._clients[connection]
        if client.response is None:
            with suppress(BlockingIOError):
                data = connection.recv(MAX_HEAD_BYTES + 1 - len(client.head))
                if not data:
                    self._drop(connection, "refused")
                    return
                client.head += data
            if len(client.head) > MAX_HEAD_BYTES:
                client.response = memoryview(_encode(Page(431, "text/plain", b"too long\n")))
            elif b"\r\n\r\n" in client.head or b"\n\n" in client.head:
                client.response = memoryview(_encode(self._page(client.head)))
            else:
                return
            self._selector.modify(connection, selectors.EVENT_WRITE)
        with suppress(BlockingIOError):
            client.response = client.response[connection.send(client.response) :]
        if not client.response:
            self.counts["served"] += 1
            self._drop(connection)

    def _page(self, head: bytes) -> Page:
        method, _, rest = head.partition(b"\n")[0].decode("latin-1").strip().partition(" ")
        path, _, version = rest.partition(" ")
        if not version.startswith("HTTP/1."):
            return Page(400, "text/plain", b"not HTTP/1\n")
        if method != "GET":
            return Page(405, "text/plain", b"GET only\n")
        if not self._access.accepts_host(head):
            return Page(400, "text/plain", b"Host: not a name or address of this host\n")
        return self._handler(path.partition("?")[0], self.counts)

    def _drop(self, connection: socket.socket, counted: str = "") -> None:
        if counted:
            self.counts[counted] += 1
        del self._clients[connection]
        self._selector.unregister(connection)
        connection.close()


def _encode(page: Page) -> bytes:
    head = (
        f"HTTP/1.1 {page.status} {HTTPStatus(page.status).phrase}\r\n"
        f"Content-Type: {page.content_type}\r\nContent-Length: {len(page.body)}\r\n"
        "Connection: close\r\nCache-Control: no-store\r\n\r\n"
    )
    return head.encode("latin-1") + page.body
