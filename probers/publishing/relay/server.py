"""The relay's thread: accepts agents on a unix socket, reads frames, calls the sink."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final

from probers.process.log import log_event
from probers.process.thread_failures import describe_error
from probers.publishing.frames import MAX_FRAME_BYTES, Frame, FrameError, FrameReader
from probers.publishing.relay.limits import Connections, Limits, RunningClock, TokenBucket
from probers.publishing.relay.stamping import AGENT_TOPICS, ClientIdentity, Headers, Stamping
from probers.publishing.relay.unix_server import RelayError, listen

Sink = Callable[[str, str, Headers, bytes], None]
Identify = Callable[[socket.socket], ClientIdentity | None]

_READ_BYTES: Final = 64 * 1024  # of one connection before the next one is read
_DRAIN_S: Final = 2.0  # for reading what has arrived when the relay is closed
_SWEEP_S: Final = 1.0  # between two looks for connections over a time limit
_IDENTIFY_S: Final = 1.0  # between two attempts to find out whose a connection is
_NO_DESCRIPTOR_S: Final = 1.0  # without accepting, when file descriptors have run out


class Relay:
    """Serves ``path`` in one thread until closed; a context manager.

    sink      called in the relay's thread for every message: sink(topic, key, headers, payload).
              It must not block for long, because agents wait meanwhile. When it raises, the
              message is lost and counted (``sink-failed``); the connection stays.
    limits    bounds per client, see ``Limits``
    identify  which container a connection is of, in the place of ``client``; None: none, and its
              frames are dropped
    node_sn, client, allowed_topics  see ``Stamping``
    """

    def __init__(
        self,
        path: str | Path,
        sink: Sink,
        *,
        node_sn: str | None = None,
        client: ClientIdentity | None = None,
        allowed_topics: frozenset[str] = AGENT_TOPICS,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        limits: Limits | None = None,
        identify: Identify | None = None,
    ) -> None:
        self._path, self._sink = Path(path), sink
        self._stamping = Stamping(node_sn, client, allowed_topics)
        self._identify = identify
        self._max_frame_bytes = max_frame_bytes
        #: frames, bytes, malformed, forbidden-topic, client-heartbeat, unknown-client (frames of
        #: no container that is known), incomplete, sink-failed,
        #: failed (a defect of the relay); connections: refused-connections, no-descriptor,
        #: evicted, idle, slow-frame, over-memory (see ``Limits``); throttled: times that a sender
        #: had to wait
        self.counts: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._connections = Connections(limits or Limits(), self.counts)
        self._clock = RunningClock()
        self._accept_again_s: float | None = None
        self._next_sweep_s = 0.0
        total = self._connections.limits.total_bytes_per_s
        self._total = TokenBucket(total, total, total, 0.0)
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._server: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> Relay:
        """Listen (socket mode 0600; a stale one is replaced) and serve; raises RelayError."""
        try:
            self._server = listen(self._path)
        except RelayError:
            self.close()
            raise
        self._selector.register(self._server, selectors.EVENT_READ)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._thread.start()
        return self

    def close(self) -> None:
        """Read what has arrived, close all connections, remove the socket file."""
        if self._thread.is_alive():
            self._wake_sender.send(b"!")
            self._thread.join(10.0)
        for client in list(self._connections.by_socket):
            self._drop(client)
        if self._server is not None:
            self._server.close()
            with suppress(FileNotFoundError):
                self._path.unlink()
        self._selector.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    def __enter__(self) -> Relay:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def connections(self) -> int:
        """Connected clients."""
        return len(self._connections.by_socket)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of incomplete frames."""
        return self._connections.buffered

    def _run(self) -> None:
        deadline_s = 0.0  # set when the relay is closed: until then what has arrived is read
        while not deadline_s or (self._unread() and time.monotonic() < deadline_s):
            try:
                if self._serve_once(0.0 if deadline_s else self._timeout_s()):
                    deadline_s = deadline_s or time.monotonic() + _DRAIN_S
                    self._resume(float("inf"))  # throttled connections are read to the end too
            except Exception as why:  # a defect must not end the service of all agents
                self._failed(why)
                time.sleep(0.1)  # the defect may occur again at once

    def _serve_once(self, timeout_s: float | None) -> bool:
        """Serve every ready connection once; True when the relay is being closed."""
        closing = False
        events = self._selector.select(timeout_s)
        now = self._clock.advance()
        for key, _ in events:
            ready = key.fileobj
            if ready is self._wake_receiver:
                closing = True
            elif ready is self._server:
                self._accept(now)
            elif isinstance(ready, socket.socket) and ready in self._connections.by_socket:
                try:
                    self._read(ready, now)
                except Exception as why:  # a defect costs this connection, not the others
                    self._failed(why)
                    self._drop(ready)
        self._resume(now)
        if now >= self._next_sweep_s:
            self._next_sweep_s = now + _SWEEP_S
            for client, reason in self._connections.timed_out(now):
                self.counts[reason] += 1
                self._drop(client)
        return closing

    def _timeout_s(self) -> float | None:
        if not self._connections.by_socket and self._accept_again_s is None:
            return None
        resume_s = min(self._connections.paused.values(), default=float("inf"))
        return max(0.0, min(_SWEEP_S, resume_s - self._clock.advance()))

    def _unread(self) -> bool:
        """Whether any connection has bytes to read."""
        ready = self._selector.select(0)
        return any(key.fileobj in self._connections.by_socket for key, _ in ready)

    def _resume(self, now: float) -> None:
        """Read again from connections that have waited long enough, and accept again."""
        for client in self._connections.resume(now):
            self._selector.register(client, selectors.EVENT_READ)
        if self._accept_again_s is not None and self._accept_again_s <= now:
            self._accept_again_s = None
            if self._server is not None:
                self._selector.register(self._server, selectors.EVENT_READ)

    def _accept(self, now: float) -> None:
        if self._server is None:
            return
        try:
            client, _ = self._server.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:  # no file descriptors: clients wait in the backlog, others are served
            self.counts["no-descriptor"] += 1
            self._selector.unregister(self._server)
            self._accept_again_s = now + _NO_DESCRIPTOR_S
            return
        if self.connections >= self._connections.limits.connections:
            evicted = self._connections.evictable(now)
            if evicted is None:
                self.counts["refused-connections"] += 1
                client.close()
                return
            self.counts["evicted"] += 1
            self._drop(evicted)
        client.setblocking(False)
        self._selector.register(client, selectors.EVENT_READ)
        self._connections.add(client, FrameReader(self._max_frame_bytes), now)

    def _read(self, client: socket.socket, now: float) -> None:
        reader = self._connections.by_socket[client].reader
        try:
            data = client.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.counts["incomplete"] += bool(reader.pending)
            self._drop(client)
            return
        frames = 0
        stamping = self._stamping_of(client, now)
        try:
            for frame in reader.feed(data):
                frames += 1
                self._pass_on(frame, stamping)
        except FrameError:
            self.counts["malformed"] += 1
            self._drop(client)
            return
        if self._connections.received(client, len(data), frames, now):
            self._selector.unregister(client)
        while (largest := self._connections.largest_over_limit()) is not None:
            self.counts["over-memory"] += 1
            self._drop(largest)
        cost = len(data) + frames * self._connections.limits.frame_cost
        if wait_s := self._total.spend(cost, now):
            time.sleep(min(wait_s, 0.1))  # all clients together are over the rate: all wait

    def _stamping_of(self, client: socket.socket, now: float) -> Stamping | None:
        if self._identify is None:
            return self._stamping
        connection = self._connections.by_socket[client]
        if connection.stamping is None and now >= connection.identify_at_s:
            connection.identify_at_s = now + _IDENTIFY_S
            identity = self._identify(client)
            if identity is not None:
                connection.stamping = replace(self._stamping, client=identity)
        return connection.stamping

    def _pass_on(self, frame: Frame, stamping: Stamping | None) -> None:
        if stamping is None:
            self.counts["unknown-client"] += 1
            return
        stamped = stamping.apply(frame, self.counts)
        if stamped is None:
            return
        key, headers = stamped
        try:
            self._sink(frame.topic, key, headers, frame.payload)
        except Exception:  # the caller's sink: one message must not end the service of all agents
            self.counts["sink-failed"] += 1
            return
        self.counts["frames"] += 1
        self.counts["bytes"] += len(frame.payload)

    def _drop(self, client: socket.socket) -> None:
        if not self._connections.remove(client):
            self._selector.unregister(client)
        client.close()

    def _failed(self, why: Exception) -> None:
        self.counts["failed"] += 1
        log_event("error", "relay-failed", why=describe_error(why))
