"""uvicorn with a bounded number of connections, each with a deadline.

uvicorn waits for ever for the rest of a request and for clients to read, and accepts until the
process has no file descriptors left; then it answers nothing, liveness included. Here the
connection that has waited longest is closed for a new one, so half-open connections cannot block
others. (uvicorn's ``limit_concurrency`` would answer 503 to every client instead.)
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.documents import Problem, answer

#: Time within which a request must be complete, and a client must read more of a response [s].
DEADLINE_S: Final = 10.0
#: Time that responses in progress get when a server stops [s].
GRACE_S: Final = 5
#: Open connections of a server at most [count]; a quarter of the file descriptors if that is less.
CONNECTIONS: Final = 512
#: Largest head of a request [B]: a URL with every filter needs less than 6 kB.
HEAD_BYTES: Final = 16 * 1024
#: Connections that may wait to be accepted [count]; a quarter of those that may be open if that is
#: more.
_BACKLOG: Final = 128


def config(
    app: ASGIApp, *, connections: int = CONNECTIONS, deadline_s: float = DEADLINE_S
) -> uvicorn.Config:
    """The configuration of every server of this project."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    pool = ConnectionPool(min(connections, max(16, descriptors // 4)), deadline_s)
    return uvicorn.Config(
        app,
        http=partial(Connection, pool),  # type: ignore[arg-type]  # called like the class
        ws="none",
        lifespan="off",
        log_level="error",
        log_config=None,  # its lines go where those of the process go
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_backlog(connections),
        timeout_keep_alive=5,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )


class ConnectionPool:
    """The open connections of one server, and those that wait for their client, in that order."""

    def __init__(self, max_open: int, deadline_s: float) -> None:
        self.max_open = max_open
        self.deadline_s = deadline_s
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}

    def opened(self, connection: Connection) -> None:
        """Add a connection; above ``max_open`` the one that has waited longest is closed."""
        self._open.add(connection)
        self.waits(connection)
        if len(self._open) > self.max_open:
            next(iter(self._waiting)).abort()

    def waits(self, connection: Connection) -> None:
        """The connection waits for its client from now on."""
        self._waiting[connection] = None

    def answers(self, connection: Connection) -> None:
        """The connection is being answered, and is not closed for others."""
        self._waiting.pop(connection, None)

    def closed(self, connection: Connection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self.answers(connection)


class Connection(H11Protocol):
    """A connection that is closed when its client does not send or read within the deadline."""

    def __init__(self, pool: ConnectionPool, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pool = pool
        self._deadline: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Head and body of a response are two segments. asyncio sets this for some sockets only, and
        # the body then waits 40 ms for the client to acknowledge the head.
        accepted = transport.get_extra_info("socket")
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pool.opened(self)
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_deadline()
        self._pool.closed(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_deadline()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._update_deadline()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._update_deadline()

    def abort(self) -> None:
        """Close at once; data not sent yet is dropped."""
        self._stop_deadline()
        self._pool.closed(self)
        self.transport.abort()

    def _update_deadline(self) -> None:
        """Run the deadline while the client has to act. Data from the client does not extend it:
        a byte now and then must not hold a connection for ever.
        """
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering and not self.flow.write_paused:
            self._stop_deadline()
            self._pool.answers(self)
        elif self._deadline is None and not self._is_gone():
            self._pool.waits(self)
            self._unread = self.transport.get_write_buffer_size()
            self._start_deadline()

    def _is_gone(self) -> bool:
        return self.transport.is_closing() and not self.transport.get_write_buffer_size()

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._pool.deadline_s, self._deadline_passed)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _deadline_passed(self) -> None:
        unread = self.transport.get_write_buffer_size()
        if 0 < unread < self._unread:  # the client reads a long response slowly
            self._unread = unread
            self._start_deadline()
        else:
            self.abort()

    def send_400_response(self, msg: str) -> None:
        """The response to bytes that are no HTTP, as a document like all others."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.abort()
            return
        response = answer(Problem("this is no HTTP request, or its head is too long"), 400)
        headers = [*response.raw_headers, (b"connection", b"close")]
        start = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (start, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """Without uvicorn's signal handling: it would raise SIGTERM again before Faust has stopped.

    An application's ``state.end_streams()`` is called first when it shuts down: a response without
    an end would else be waited for.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for responses in progress."""
        end_streams = getattr(getattr(self.config.app, "state", None), "end_streams", None)
        if end_streams is not None:
            end_streams()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ThreadServer:
    """A server on a thread and event loop of its own: it answers while the rest of the process
    blocks.
    """

    def __init__(self, app: ASGIApp, listener: socket.socket, *, connections: int = 64) -> None:
        self._server = Server(config(app, connections=connections))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="http", daemon=True
        )
        host, port = listener.getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def start(self) -> None:
        """Start the thread; the listener accepts connections already."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving; waits up to 10 s for responses in progress."""
        self._server.should_exit = True
        self._thread.join(10)


def listen(
    host: str, port: int, *, or_any: bool = True, connections: int = CONNECTIONS
) -> tuple[socket.socket, bool]:
    """A listening socket, and whether its port is another one than asked for.

    or_any       use any free port when ``port`` is in use; else raise OSError
    connections  of the server that will accept them [count]
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for attempt in (port, 0) if or_any else (port,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, attempt))
            listener.listen(_backlog(connections))
        except OSError:
            listener.close()
            if attempt == 0 or not or_any:
                raise
        else:
            return listener, attempt != port
    raise AssertionError("unreachable: the last attempt returns or raises")


def _backlog(connections: int) -> int:
    return max(_BACKLOG, connections // 4)
