"""The relay: takes messages from agents on a unix socket and hands them to a sink.

For tenant sidecars, which never reach Kafka themselves, and for agents in network namespaces: a
unix socket is reached by path, whatever network the other side lives in.
"""

from __future__ import annotations

import os
import selectors
import socket
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from probers.frames import MAX_FRAME_BYTES, Frame, FrameError, FrameReader
from schemas import signing, topics

Headers = dict[str, bytes]
Sink = Callable[[str, str, Headers, bytes], None]

RELAYED_BY: Final = "relayed-by"  # header: who vouches for the message
_READ_BYTES: Final = 256 * 1024
MAX_CONNECTIONS: Final = 512
_DRAIN_S: Final = 2.0


class Client(NamedTuple):
    """Whom a socket belongs to: a container and its tenant; an empty tenant is not checked."""

    node_id: str
    tenant: str = ""


class RelayError(RuntimeError):
    """The relay cannot serve its socket; one line: what, where, what to do."""


class Relay:
    """Serves ``path`` in one thread until closed; a context manager.

    sink      called in the relay's thread for every frame: sink(topic, key, headers, payload).
              It must not block for long: agents wait in the socket meanwhile. An exception from
              it is counted (``sink-failed``); the frame is then lost, the connection stays.
    node_sn   the relay's own identity: becomes the key of every message, whatever the sender
              says, and the header relayed-by. None: keys and signatures are passed on as they are.
    client    the one container that this socket is for: stamped on every message, so that the
              analyser takes records of that container only. Its heartbeats are left out
              (``client-heartbeat``): they would speak for the host.
    """

    def __init__(
        self,
        path: str | Path,
        sink: Sink,
        *,
        node_sn: str | None = None,
        client: Client | None = None,
        allowed_topics: frozenset[str] = frozenset({topics.PINGS.name, topics.HEARTBEATS.name}),
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        self._path, self._sink, self._node_sn = Path(path), sink, node_sn
        self._client = client
        self._allowed, self._max_frame_bytes = allowed_topics, max_frame_bytes
        #: frames, bytes, malformed, forbidden-topic, client-heartbeat, incomplete, sink-failed,
        #: refused-connections
        self.counts: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._readers: dict[socket.socket, FrameReader] = {}
        self._ear, self._bell = socket.socketpair()
        self._server: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> Relay:
        """Bind the socket (mode 0600; a stale one is replaced) and serve; raises RelayError."""
        try:
            server = self._bind()
        except RelayError:
            self.close()
            raise
        server.setblocking(False)
        self._server = server
        self._selector.register(server, selectors.EVENT_READ)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._thread.start()
        return self

    def close(self) -> None:
        """Read what has arrived, close all connections, remove the socket file."""
        if self._thread.is_alive():
            self._bell.send(b"!")
            self._thread.join(10.0)
        for connection in list(self._readers):
            self._drop(connection)
        if self._server is not None:
            self._server.close()
            with suppress(FileNotFoundError):
                self._path.unlink()
        self._selector.close()
        self._ear.close()
        self._bell.close()

    def __enter__(self) -> Relay:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _bind(self) -> socket.socket:
        _remove_stale(self._path)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.bind(str(self._path))
            # Between bind and listen nobody can connect, so there is no moment of open doors.
            os.chmod(self._path, 0o600)
            server.listen(64)
        except OSError as why:
            server.close()
            raise RelayError(
                f"{self._path}: {why.strerror or why}; give a short path in a writable directory"
            ) from why
        return server

    def _run(self) -> None:
        give_up_at = 0.0  # once asked to stop: until then what has arrived is still read
        while not give_up_at or (self._unread() and time.monotonic() < give_up_at):
            for key, _ in self._selector.select(0 if give_up_at else None):
                if key.fileobj is self._ear:
                    give_up_at = give_up_at or time.monotonic() + _DRAIN_S
                elif key.fileobj is self._server:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket):
                    self._read(key.fileobj)

    def _unread(self) -> bool:
        """Whether any connection still has something for us."""
        ready = self._selector.select(0)
        return any(key.fileobj in self._readers for key, _ in ready)

    def _accept(self) -> None:
        if self._server is None:
            return
        try:
            connection, _ = self._server.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:  # out of file descriptors: agents wait in the backlog and try again
            self.counts["refused-connections"] += 1
            time.sleep(0.05)
            return
        if len(self._readers) >= MAX_CONNECTIONS:
            self.counts["refused-connections"] += 1
            connection.close()
            return
        connection.setblocking(False)
        self._readers[connection] = FrameReader(self._max_frame_bytes)
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        reader = self._readers[connection]
        try:
            data = connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.counts["incomplete"] += bool(reader.pending)
            self._drop(connection)
            return
        try:
            for frame in reader.feed(data):
                self._pass_on(frame)
        except FrameError:
            self.counts["malformed"] += 1
            self._drop(connection)

    def _pass_on(self, frame: Frame) -> None:
        if frame.topic not in self._allowed:
            self.counts["forbidden-topic"] += 1
            return
        if self._client is not None and frame.topic == topics.HEARTBEATS.name:
            self.counts["client-heartbeat"] += 1
            return
        headers: Headers = {topics.CONTENT_TYPE: frame.content_type.encode()}
        key = frame.key
        if self._node_sn is not None:
            key = self._node_sn
            headers[RELAYED_BY] = key.encode()
        else:
            headers |= {n: value for n, value in frame.headers.items() if n in signing.HEADERS}
        if self._client is not None:
            headers[signing.RELAY_CLIENT] = self._client.node_id.encode()
            if self._client.tenant:
                headers[signing.RELAY_TENANT] = self._client.tenant.encode()
        try:
            self._sink(frame.topic, key, headers, frame.payload)
        except Exception:  # the sink is not ours; one bad message must not end all agents' service
            self.counts["sink-failed"] += 1
            return
        self.counts["frames"] += 1
        self.counts["bytes"] += len(frame.payload)

    def _drop(self, connection: socket.socket) -> None:
        del self._readers[connection]
        self._selector.unregister(connection)
        connection.close()


def _remove_stale(path: Path) -> None:
    """Remove a socket file that nobody serves any more; anything else in the way is an error."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as why:
        raise RelayError(f"{path}: {why.strerror}; give a path in a readable directory") from why
    if not stat.S_ISSOCK(mode):
        raise RelayError(f"{path}: exists and is not a socket; give another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(1.0)
        try:
            knock.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass
    raise RelayError(f"{path}: another relay serves it; stop that one or give another path")
