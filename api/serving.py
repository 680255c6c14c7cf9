"""uvicorn as this project runs it: a bounded number of connections, each with a deadline.

uvicorn waits without end for the rest of a request and for clients to read, and accepts until the
process has no file descriptors left; then nothing answers any more, liveness included. Here the
connection that has waited longest makes room for a new one, so that half-open ones cannot keep
others out. (uvicorn's ``limit_concurrency`` would answer 503 to everyone instead.)
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

#: A request must have come in whole, and a client must go on reading, within this time [s].
DEADLINE_S: Final = 10.0
#: Open connections of a server at most [count]; a quarter of the file descriptors if that is less.
CONNECTIONS: Final = 512
#: The head of a request at most [bytes]: a URL with every filter needs less than 6 KB.
HEAD_BYTES: Final = 16 * 1024
#: Accepted at one go at most [count], before the oldest of ``CONNECTIONS`` is closed.
_BACKLOG: Final = 128


def config(
    app: ASGIApp, *, connections: int = CONNECTIONS, deadline_s: float = DEADLINE_S
) -> uvicorn.Config:
    """What every server of this project is configured with."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = Room(min(connections, max(16, descriptors // 4)), deadline_s)
    return uvicorn.Config(
        app,
        http=partial(Connection, room),  # type: ignore[arg-type]  # called like the class
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )


class Room:
    """The open connections of one server; those that wait for their client, longest first."""

    def __init__(self, most: int, deadline_s: float) -> None:
        self.most = most
        self.deadline_s = deadline_s
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}

    def enter(self, connection: Connection) -> None:
        """Count one in; the one that has waited longest leaves when there are too many."""
        self._open.add(connection)
        self.wait(connection)
        if len(self._open) > self.most:
            next(iter(self._waiting)).cut()

    def wait(self, connection: Connection) -> None:
        """It waits for its client from now on."""
        self._waiting[connection] = None

    def work(self, connection: Connection) -> None:
        """It is being answered, and stays."""
        self._waiting.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        """It is closed."""
        self._open.discard(connection)
        self.work(connection)


class Connection(H11Protocol):
    """A connection that is cut off when its client neither sends nor reads what it should."""

    def __init__(self, room: Room, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._room = room
        self._deadline: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._room.enter(self)
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop()
        self._room.leave(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._settle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._settle()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._settle()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._settle()

    def cut(self) -> None:
        """Close at once, whatever was to be sent."""
        self._stop()
        self._room.leave(self)
        self.transport.abort()

    def _settle(self) -> None:
        """The deadline runs while the client has to act. What it sends does not put it off: else a
        byte now and then would hold a connection for ever.
        """
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering and not self.flow.write_paused:
            self._stop()
            self._room.work(self)
        elif self._deadline is None and not self._is_gone():
            self._room.wait(self)
            self._unread = self.transport.get_write_buffer_size()
            self._arm()

    def _is_gone(self) -> bool:
        return self.transport.is_closing() and not self.transport.get_write_buffer_size()

    def _arm(self) -> None:
        self._deadline = self.loop.call_later(self._room.deadline_s, self._too_late)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        unread = self.transport.get_write_buffer_size()
        if 0 < unread < self._unread:  # a slow reader of a long answer
            self._unread = unread
            self._arm()
        else:
            self.cut()

    def send_400_response(self, msg: str) -> None:
        """The answer to what is no HTTP, as a document like every other."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.cut()
            return
        response = answer(Problem("this is no HTTP request, or its head is too long"), 400)
        headers = [*response.raw_headers, (b"connection", b"close")]
        start = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (start, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """uvicorn raises SIGTERM again after serving, which would end the process before Faust."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ThreadServer:
    """A server on a thread and an event loop of its own, so that it answers whatever the rest of
    the process waits for.
    """

    def __init__(self, app: ASGIApp, listener: socket.socket, *, connections: int = 64) -> None:
        self._server = Server(config(app, connections=connections))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="http", daemon=True
        )
        host, port = listener.getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def start(self) -> None:
        """The listener accepts already; answers follow when the thread runs."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving; waits some seconds for answers under way."""
        self._server.should_exit = True
        self._thread.join(10)


def listen(host: str, port: int, *, or_any: bool = True) -> tuple[socket.socket, bool]:
    """A listening socket and whether another port had to be taken.

    or_any  take any free port when ``port`` is taken, else raise OSError
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for attempt in (port, 0) if or_any else (port,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, attempt))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            if attempt == 0 or not or_any:
                raise
        else:
            return listener, attempt != port
    raise AssertionError("unreachable: the last attempt returns or raises")
