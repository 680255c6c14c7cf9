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

from probers.agent.log import say
from probers.agent.threads import describe
from probers.publishing.frames import MAX_FRAME_BYTES, Frame, FrameError, FrameReader
from probers.publishing.relay_limits import Allowance, Clients, Limits, RunningClock
from schemas import topics
from schemas.signing.headers import HEADERS, RELAY_CLIENT, RELAY_TENANT

Headers = dict[str, bytes]
Sink = Callable[[str, str, Headers, bytes], None]

RELAYED_BY: Final = "relayed-by"  # header: who vouches for the message
_READ_BYTES: Final = 64 * 1024  # of one connection before the next one has its turn
_DRAIN_S: Final = 2.0
_TICK_S: Final = 1.0
_NO_DESCRIPTOR_S: Final = 1.0  # without accepting, when descriptors have run out


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
    limits    what one client may take from the others
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
        limits: Limits | None = None,
    ) -> None:
        self._path, self._sink, self._node_sn = Path(path), sink, node_sn
        self._client = client
        self._allowed, self._max_frame_bytes = allowed_topics, max_frame_bytes
        #: frames, bytes, malformed, forbidden-topic, client-heartbeat, incomplete, sink-failed,
        #: failed (a defect of ours); connections that were refused-connections, no-descriptor,
        #: evicted, idle, slow-frame or over-memory (see ``Limits``); throttled: times that a
        #: sender had to wait
        self.counts: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._clients = Clients(limits or Limits(), self.counts)
        self._clock = RunningClock()
        self._accept_again_at: float | None = None
        self._sweep_at = 0.0
        total = self._clients.limits.total_bytes_per_s
        self._total = Allowance(total, total, total, 0.0)
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
        for connection in list(self._clients.by_socket):
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

    @property
    def connections(self) -> int:
        """Clients that are connected."""
        return len(self._clients.by_socket)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of frames that have not arrived in full."""
        return self._clients.buffered

    def _run(self) -> None:
        give_up_at = 0.0  # once asked to stop: until then what has arrived is still read
        while not give_up_at or (self._unread() and time.monotonic() < give_up_at):
            try:
                if self._turn(0.0 if give_up_at else self._wait_s()):
                    give_up_at = give_up_at or time.monotonic() + _DRAIN_S
                    self._resume(float("inf"))  # what has arrived is read, however much it is
            except Exception as why:  # a defect of ours must not end the service of all agents
                self._failed(why)
                time.sleep(0.1)  # it may come again at once

    def _turn(self, wait_s: float | None) -> bool:
        """Serve everyone who has something for us once; True when asked to stop."""
        stop = False
        events = self._selector.select(wait_s)
        now = self._clock.turn()
        for key, _ in events:
            if key.fileobj is self._ear:
                stop = True
            elif key.fileobj is self._server:
                self._accept(now)
            elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._clients.by_socket:
                try:
                    self._read(key.fileobj, now)
                except Exception as why:  # a defect of ours costs this connection, not the others'
                    self._failed(why)
                    self._drop(key.fileobj)
        self._resume(now)
        if now >= self._sweep_at:
            self._sweep_at = now + _TICK_S
            for connection, reason in self._clients.overdue(now):
                self.counts[reason] += 1
                self._drop(connection)
        return stop

    def _wait_s(self) -> float | None:
        if not self._clients.by_socket and self._accept_again_at is None:
            return None
        resume_at = min(self._clients.paused.values(), default=float("inf"))
        return max(0.0, min(_TICK_S, resume_at - self._clock.turn()))

    def _unread(self) -> bool:
        """Whether any connection still has something for us."""
        ready = self._selector.select(0)
        return any(key.fileobj in self._clients.by_socket for key, _ in ready)

    def _resume(self, now: float) -> None:
        """Read again the connections that have waited long enough."""
        for connection in self._clients.rested(now):
            self._selector.register(connection, selectors.EVENT_READ)
        if self._accept_again_at is not None and self._accept_again_at <= now:
            self._accept_again_at = None
            if self._server is not None:
                self._selector.register(self._server, selectors.EVENT_READ)

    def _accept(self, now: float) -> None:
        if self._server is None:
            return
        try:
            connection, _ = self._server.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:  # out of file descriptors: clients wait in the backlog, others are read
            self.counts["no-descriptor"] += 1
            self._selector.unregister(self._server)
            self._accept_again_at = now + _NO_DESCRIPTOR_S
            return
        if self.connections >= self._clients.limits.connections:
            evicted = self._clients.evictable(now)
            if evicted is None:
                self.counts["refused-connections"] += 1
                connection.close()
                return
            self.counts["evicted"] += 1
            self._drop(evicted)
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ)
        self._clients.add(connection, FrameReader(self._max_frame_bytes), now)

    def _read(self, connection: socket.socket, now: float) -> None:
        client = self._clients.by_socket[connection]
        try:
            data = connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.counts["incomplete"] += bool(client.reader.pending)
            self._drop(connection)
            return
        frames = 0
        try:
            for frame in client.reader.feed(data):
                frames += 1
                self._pass_on(frame)
        except FrameError:
            self.counts["malformed"] += 1
            self._drop(connection)
            return
        if self._clients.heard(connection, len(data), frames, now):
            self._selector.unregister(connection)
        while (largest := self._clients.too_large()) is not None:
            self.counts["over-memory"] += 1
            self._drop(largest)
        rest_s = self._total.take(len(data) + frames * self._clients.limits.frame_cost, now)
        if rest_s:
            time.sleep(min(rest_s, 0.1))  # all together send more than we may read: all wait

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
            headers |= {n: value for n, value in frame.headers.items() if n in HEADERS}
        if self._client is not None:
            headers[RELAY_CLIENT] = self._client.node_id.encode()
            if self._client.tenant:
                headers[RELAY_TENANT] = self._client.tenant.encode()
        try:
            self._sink(frame.topic, key, headers, frame.payload)
        except Exception:  # the sink is not ours; one bad message must not end all agents' service
            self.counts["sink-failed"] += 1
            return
        self.counts["frames"] += 1
        self.counts["bytes"] += len(frame.payload)

    def _drop(self, connection: socket.socket) -> None:
        if not self._clients.remove(connection):
            self._selector.unregister(connection)
        connection.close()

    def _failed(self, why: Exception) -> None:
        self.counts["failed"] += 1
        say("error", "relay-failed", why=describe(why))


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
