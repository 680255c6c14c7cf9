"""The unix socket on which containers get their ping lists and say whether they are ready.

A thread. To a container: frames of 4 bytes of length and a ping list, or the open requests to it;
the first ones when it connects, then one for each change. From it: lines, one of
``readiness.STATES``.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from probers.containers.connection import Connection, Malformed, TooMuch
from probers.containers.peers import Namespace, Peer, UnknownPeer, peer_of
from probers.containers.placed import Ambiguous, Placed, of_namespace, placed
from probers.containers.readiness import Readiness
from probers.ping_list.document import PingList, restrict
from probers.process.log import log_event
from probers.process.thread_failures import describe_error
from probers.publishing.relay.limits import TokenBucket
from probers.publishing.relay.stamping import ClientIdentity
from probers.publishing.relay.unix_server import listen
from probers.requests.checks import of_sources
from schemas.documents.requests.request import Request

#: Twice the virtual functions of an rnic.
MAX_CONNECTIONS: Final = 256
SOCKET_MODE: Final = 0o660
_READ_BYTES: Final = 1024
_ACCEPTS_PER_S, _BURST_ACCEPTS = 20.0, 256.0
#: Between two looks whether a peer has become one of the host's containers [s].
_LOOK_S: Final = 1.0


class ContainerServer:
    """Serves ``path`` until closed; other threads may call ``offer`` and ``ready``.

    namespace  of a peer
    """

    def __init__(
        self,
        path: str | Path,
        *,
        namespace: Callable[[Peer], Namespace] = Peer.namespace,
        max_connections: int = MAX_CONNECTIONS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._path, self._namespace, self._clock = Path(path), namespace, clock
        self._max_connections = max_connections
        #: accepted; refused, by reason: malformed, too-much, unknown-peer, ambiguous, connections,
        #: replaced (its container has connected again), taken (another namespace with the same
        #: addresses is connected); failed (a defect of the agent)
        self.counts: Counter[str] = Counter()
        self._clients: dict[socket.socket, Connection] = {}
        self._readiness = Readiness(clock())
        self._lock = threading.Lock()  # of the readiness
        self._offered: PingList | None = None  # whole, of the host
        self._document: PingList | None = None  # the same, as the thread knows it
        self._requests: Sequence[Request] = ()  # open ones, of the host
        self._placed: tuple[Placed, ...] = ()
        self._speaking: dict[str, int] = {}  # node_id -> network namespace that is connected
        self._changed = False
        self._accepts = TokenBucket(_ACCEPTS_PER_S, _BURST_ACCEPTS, _BURST_ACCEPTS, clock())
        self._accept_again_s: float | None = None
        self._look_s = 0.0
        self._selector = selectors.DefaultSelector()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_receiver.setblocking(False)
        self._wake_sender.setblocking(False)
        self._server: socket.socket | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="containers", daemon=True)

    def start(self) -> ContainerServer:
        """Listen (a stale socket is replaced) and serve; raises RelayError."""
        self._server = listen(self._path, SOCKET_MODE)
        self._selector.register(self._server, selectors.EVENT_READ)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._thread.start()
        return self

    def close(self) -> None:
        """Close all connections and remove the socket file."""
        self._stopping = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join(5.0)
        for connection in list(self._clients):
            self._drop(connection)
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)
        self._selector.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    @property
    def connections(self) -> int:
        """Connected containers, known or not."""
        return len(self._clients)

    def offer(self, document: PingList | None) -> None:
        """The host's list has changed; None: it is lost, and no container probes any more."""
        if document is not None:
            self._offered = document
        elif self._offered is not None:
            # With its endpoints: what asks a container is answered while nothing is probed.
            self._offered = msgspec.structs.replace(self._offered, targets=[])
        self._changed = True
        self._wake()

    def ask(self, requests: Sequence[Request]) -> None:
        """All open requests of the host: each container gets those to its own endpoints."""
        self._requests = tuple(requests)
        self._changed = True
        self._wake()

    def ready(self, placed: Collection[str]) -> tuple[str, ...] | None:
        """See ``Readiness.ready``."""
        with self._lock:
            return self._readiness.ready(placed, self._clock())

    def client_of(self, connection: socket.socket) -> ClientIdentity | None:
        """Which container has connected to another socket of this process; None: none of the list.

        Safe in any thread.
        """
        try:
            with closing(peer_of(connection)) as peer:
                here = self._namespace(peer)
            found = of_namespace(self._placed, here.addresses)
        except (UnknownPeer, Ambiguous, OSError):
            return None
        if found is not None and self._speaking.get(found.node_id, here.number) != here.number:
            return None
        return None if found is None else ClientIdentity(found.node_id, found.tenant)

    def _wake(self) -> None:
        with suppress(OSError):  # full: it wakes anyway
            self._wake_sender.send(b"!")

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._serve_once()
            except Exception as why:  # a defect must not end the service of all containers
                self.counts["failed"] += 1
                log_event("error", "containers-failed", why=describe_error(why))
                threading.Event().wait(0.1)  # the defect may occur again at once

    def _serve_once(self) -> None:
        events = self._selector.select(_LOOK_S)
        now = self._clock()
        changed, self._changed = self._changed, False
        if changed:
            self._document = self._offered
            self._placed = placed(self._document)
        for key, mask in events:
            ready = key.fileobj
            if ready is self._wake_receiver:
                with suppress(BlockingIOError):
                    self._wake_receiver.recv(4096)
            elif ready is self._server:
                self._accept(now)
            elif isinstance(ready, socket.socket) and ready in self._clients:
                self._serve(ready, mask, now)
        if self._accept_again_s is not None and now >= self._accept_again_s:
            self._accept_again_s = None
            if self._server is not None:
                self._selector.register(self._server, selectors.EVENT_READ)
        if changed or now >= self._look_s:
            self._look_s = now + _LOOK_S
            for connection, client in list(self._clients.items()):
                if connection in self._clients and (changed or client.node_id is None):
                    self._identify(connection, client)

    def _accept(self, now: float) -> None:
        if self._server is None:
            return
        try:
            connection, _ = self._server.accept()
        except OSError:  # it has gone again, or there are no file descriptors
            self._pause(now + _LOOK_S)
            return
        if wait_s := self._accepts.spend(1, now):
            self._pause(now + wait_s)
        self.counts["accepted"] += 1
        if len(self._clients) >= self._max_connections and not self._evict():
            self._refuse(connection, None, "connections", f"{self._max_connections} are open")
            return
        try:
            peer = peer_of(connection)
        except (UnknownPeer, OSError) as why:
            self._refuse(connection, None, "unknown-peer", str(why))
            return
        connection.setblocking(False)
        self._clients[connection] = client = Connection(peer, now)
        self._selector.register(connection, selectors.EVENT_READ)
        self._identify(connection, client)

    def _pause(self, until_s: float) -> None:
        """Accept no connection until then; clients wait in the backlog."""
        if self._server is not None and self._accept_again_s is None:
            self._selector.unregister(self._server)
            self._accept_again_s = until_s

    def _evict(self) -> bool:
        """Close the oldest connection that is of no container, if there is one."""
        unknown = (c for c, client in self._clients.items() if client.node_id is None)
        oldest = min(unknown, key=lambda c: self._clients[c].since_s, default=None)
        if oldest is not None:
            self._refuse(oldest, self._clients[oldest], "connections", "it is of no container")
        return oldest is not None

    def _identify(self, connection: socket.socket, client: Connection) -> None:
        """Find the container of a connection by its addresses, and send it its list."""
        if self._document is None:
            return
        try:
            here = self._namespace(client.peer)
            found = of_namespace(self._placed, here.addresses)
        except UnknownPeer as why:
            self._refuse(connection, client, "unknown-peer", str(why))
            return
        except Ambiguous as why:
            self._refuse(connection, client, "ambiguous", str(why))
            return
        node_id = None if found is None else found.node_id
        if node_id is not None and self._speaking.get(node_id, here.number) != here.number:
            other = f"another network namespace with the addresses of {node_id} is connected"
            self._refuse(connection, client, "taken", other)
            return
        if node_id != client.node_id:
            self._leave(client)
            client.node_id = node_id
            if node_id is not None:
                self._speaking[node_id] = here.number
                self._join(connection, client, node_id)
        part = (
            msgspec.structs.replace(self._document, endpoints=[], targets=[])
            if node_id is None
            else restrict(self._document, layer="overlay", node_id=node_id)
        )
        asked = of_sources(self._requests, {own.ip for own in part.endpoints})
        more = client.queue("list", msgspec.json.encode(part))
        if asked or "requests" in client.sent:
            more |= client.queue("requests", msgspec.json.encode({"requests": asked}))
        if more:
            try:
                self._write(connection, client)
            except OSError:
                self._drop(connection)

    def _join(self, connection: socket.socket, client: Connection, node_id: str) -> None:
        """The connection speaks for a container from now on, and no older one does."""
        for other, known in list(self._clients.items()):
            if other is not connection and known.node_id == node_id:
                known.node_id = None  # the container itself goes on
                self._refuse(other, known, "replaced", f"{node_id} has connected again")
        log_event("info", "container-connected", node_id=node_id, pid=client.peer.pid)
        with self._lock:
            self._readiness.said(node_id, client.state)

    def _leave(self, client: Connection) -> None:
        if client.node_id is not None:
            self._speaking.pop(client.node_id, None)
            log_event("info", "container-disconnected", node_id=client.node_id, was=client.state)
            with self._lock:
                self._readiness.closed(client.node_id, self._clock())

    def _serve(self, connection: socket.socket, mask: int, now: float) -> None:
        client = self._clients[connection]
        try:
            if mask & selectors.EVENT_WRITE:
                self._write(connection, client)
            if mask & selectors.EVENT_READ:
                data = connection.recv(_READ_BYTES)
                if not data:
                    self._drop(connection)
                    return
                self._read(connection, client, data, now)
        except BlockingIOError:
            return
        except OSError:
            self._drop(connection)

    def _read(self, connection: socket.socket, client: Connection, data: bytes, now: float) -> None:
        try:
            said = client.read(data, now)
        except TooMuch as why:
            self._refuse(connection, client, "too-much", str(why))
        except Malformed as why:
            self._refuse(connection, client, "malformed", str(why))
        else:
            if said and client.node_id is not None:
                with self._lock:
                    self._readiness.said(client.node_id, client.state)

    def _write(self, connection: socket.socket, client: Connection) -> None:
        more = client.write(connection)
        self._selector.modify(
            connection, selectors.EVENT_READ | (selectors.EVENT_WRITE if more else 0)
        )

    def _refuse(
        self, connection: socket.socket, client: Connection | None, reason: str, why: str
    ) -> None:
        self.counts[reason] += 1
        whose = {} if client is None else {"pid": client.peer.pid, "uid": client.peer.uid}
        log_event("warning", "container-refused", reason=reason, why=why, **whose)
        if client is None:
            connection.close()
        else:
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        client = self._clients.pop(connection)
        client.peer.close()
        self._leave(client)
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection)
        connection.close()
