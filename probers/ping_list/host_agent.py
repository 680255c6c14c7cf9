"""The list of a container and the requests to it, from the agent of its host, and what the
container says of itself.

``HostAgentClient`` takes the place of ``fetch`` in a ``PingListPoller``. The host's agent knows the
container by its network namespace; ``probers.containers.server`` is the other end.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

import msgspec

from probers.containers.connection import LENGTH_BYTES
from probers.containers.readiness import State
from probers.ping_list.controller import Ready
from probers.ping_list.document import MAX_BYTES, PingListError
from probers.requests.usable import usable
from schemas.documents.requests.request import Request

#: Between two looks whether the container has become ready [s].
_LOOK_S: Final = 1.0
CONTAINER_PAUSE_S: Final = 0.2
#: For a first list: the host's agent may have to get its own first.
CONTAINER_DEADLINE_S: Final = 10.0
_READ_BYTES: Final = 64 * 1024


class _Frame(msgspec.Struct, frozen=True):
    """Requests, or a ping list, of which nothing is read here."""

    requests: list[msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET


_frame = msgspec.json.Decoder(_Frame)


class HostAgentClient:
    """Reads the list of one container; for one thread, but ``say``.

    path      unix socket of the host's agent
    ready     called before each reading
    requests  called with all open requests whenever they are others than before
    draining  set before the container ends: no other agent is to probe it any more
    """

    def __init__(
        self,
        path: str,
        ready: Callable[[], Ready],
        requests: Callable[[Sequence[Request]], None] = lambda _: None,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.location = f"unix:{path}"
        self._path, self._ready, self._requests, self._clock = path, ready, requests, clock
        self._socket: socket.socket | None = None
        self._buffer = bytearray()
        self._list: bytes | None = None
        self._said: State | None = None
        self.draining = False
        self._lock = threading.Lock()  # of what is said

    def __call__(self, location: str, deadline_s: float) -> bytes:
        """The list, after a short wait for another one; raises PingListError."""
        until_s = self._clock() + (_LOOK_S if self._list is not None else deadline_s)
        try:
            connection = self._socket or self._connect()
            self._say(connection)
            newest = None
            while newest is None and (left_s := until_s - self._clock()) > 0:
                connection.settimeout(left_s)
                with suppress(TimeoutError):
                    data = connection.recv(_READ_BYTES)
                    if not data:
                        raise ConnectionResetError("the host's agent has closed the connection")
                    self._buffer += data
                    newest = self._newest()
        except OSError as why:
            self.close()
            raise PingListError(
                f"{location}: {why.strerror or why}; does the host's agent run, and is its socket "
                "mounted here?"
            ) from why
        if newest is not None:
            self._list = newest
        if self._list is None:
            raise PingListError(f"{location}: the host's agent has no list yet")
        return self._list

    def say(self) -> None:
        """Say what the container is now, without waiting for the next reading. Safe in any thread;
        errors are those of the next reading."""
        connection = self._socket
        if connection is not None:
            with suppress(OSError):
                self._say(connection)

    def close(self) -> None:
        """Close the connection; the next reading makes another one."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._list, self._said = None, None, None
        self._buffer.clear()

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(CONTAINER_DEADLINE_S)
            connection.connect(self._path)
        except BaseException:
            connection.close()
            raise
        self._socket = connection
        return connection

    def _say(self, connection: socket.socket) -> None:
        with self._lock:
            answers = self._ready()
            state: State = "ready" if answers.served and not answers.missing else "starting"
            if self.draining:
                state = "draining"
            if state != self._said:
                connection.sendall(state.encode() + b"\n")
                self._said = state

    def _newest(self) -> bytes | None:
        """The newest whole list that has arrived, and requests handed on; raises ConnectionError
        for what is neither."""
        found = None
        while len(self._buffer) >= LENGTH_BYTES:
            length = int.from_bytes(self._buffer[:LENGTH_BYTES], "big")
            if length > MAX_BYTES:
                raise ConnectionError(f"a list of {length} bytes, over {MAX_BYTES}")
            end = LENGTH_BYTES + length
            if len(self._buffer) < end:
                break
            document = bytes(self._buffer[LENGTH_BYTES:end])
            del self._buffer[:end]
            try:
                asked = _frame.decode(document).requests
            except (msgspec.MsgspecError, UnicodeDecodeError) as why:
                raise ConnectionError(f"neither a list nor requests ({why})") from why
            if asked is msgspec.UNSET:
                found = document
            else:
                self._requests(usable(asked))
        return found
