"""A TCP server on loopback that sends exactly the bytes a test wants, at the pace it wants."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Handler = Callable[[socket.socket, threading.Event], None]


def sends(raw: bytes) -> Handler:
    """Read a request's head, send ``raw``, hang up."""

    def handle(connection: socket.socket, _over: threading.Event) -> None:
        read_head(connection)
        connection.sendall(raw)

    return handle


def drips(head: bytes, body: bytes, pause_s: float) -> Handler:
    """Send ``head`` at once and one byte of ``body`` each ``pause_s``, again and again."""

    def handle(connection: socket.socket, over: threading.Event) -> None:
        read_head(connection)
        connection.sendall(head)
        at = 0
        while not over.wait(pause_s):
            connection.sendall(body[at % len(body) :][:1])
            at += 1

    return handle


def hangs(_connection: socket.socket, over: threading.Event) -> None:
    """Accept, and never answer."""
    over.wait()


def read_head(connection: socket.socket) -> bytes:
    """A request up to its empty line."""
    head = b""
    while b"\r\n\r\n" not in head and (data := connection.recv(4096)):
        head += data
    return head


def ok(body: bytes, *headers: str) -> bytes:
    """A sound answer."""
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class RawServer:
    """``handler`` may be replaced while it serves."""

    def __init__(self, handler: Handler) -> None:
        self.handler, self.connections = handler, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/list"
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._server.shutdown(socket.SHUT_RDWR)
        for thread in (self._thread, *self._threads):
            thread.join(300.0)
        self._server.close()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection, self.handler))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, handler: Handler) -> None:
        with connection, suppress(OSError):  # the client may hang up when it likes
            handler(connection, self._over)
            connection.shutdown(socket.SHUT_WR)


@contextmanager
def serving(handler: Handler) -> Iterator[RawServer]:
    """A server as a context."""
    server = RawServer(handler)
    try:
        yield server
    finally:
        server.close()
