"""Hosts whose agents probe each other over RDMA: real UDP sockets on loopback, simulated rnics."""

from __future__ import annotations

import socket
from collections import deque
from contextlib import suppress
from random import Random
from time import monotonic_ns

from builders.agents.site import own_network
from probers.net.packet import Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.ping_list.document import Endpoint, PingList, Target
from probers.probing.traceroute import Trace
from probers.probing.udp import Burst
from probers.process.loop import Loop
from probers.rdma.devices import RdmaError
from probers.rdma.packet import QpAddress
from probers.rdma.port import HOP_LIMIT, Arrived, Sent
from probers.rdma.scheduled.probing import RdmaProbing
from probers.rdma.scheduled.rnic import RdmaOptions

LISTEN_PORT = 65312


class Fabric:
    """Carries messages between ports. ``loses``: kinds of packets; ``hops``: routers on the way."""

    def __init__(self) -> None:
        self.ports: dict[QpAddress, RnicPort] = {}
        self.loses: set[int] = set()
        self.hops = 0
        self.numbers = iter(range(17, 10_000))


class RnicPort:
    """The port of one rnic; its completions make a real descriptor readable."""

    def __init__(self, fabric: Fabric, ip: str, queue_pairs: int) -> None:
        self._fabric = fabric
        self.addresses = [QpAddress(ip, next(fabric.numbers)) for _ in range(queue_pairs)]
        fabric.ports.update(dict.fromkeys(self.addresses, self))
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._events: deque[Sent | Arrived] = deque()
        self._count = 0
        self.dscps: list[int] = []
        self.broken = self.closed = False

    def prepare(self, own: int, to: QpAddress, dscp: int = 0, hop_limit: int = HOP_LIMIT) -> None:
        """Every neighbour is known."""

    def send(
        self, own: int, to: QpAddress, payload: bytes, dscp: int = 0, hop_limit: int = HOP_LIMIT
    ) -> int:
        self._count += 1
        self.dscps.append(dscp)
        self.complete(Sent(self._count, monotonic_ns()))
        port = self._fabric.ports.get(to)
        arrives = payload[5] not in self._fabric.loses and hop_limit > self._fabric.hops
        if port is not None and arrives:
            index = port.addresses.index(to)
            port.complete(Arrived(self.addresses[own], index, payload, monotonic_ns()))
        return self._count

    def complete(self, event: Sent | Arrived) -> None:
        """Add a completion."""
        self._events.append(event)
        self._writer.send(b"!")

    def fail(self) -> None:
        """From now on the device fails."""
        self.broken = True
        self._writer.send(b"!")

    def poll(self) -> Sent | Arrived | None:
        return self._events.popleft() if self._events else None

    def fileno(self) -> int:
        return self._reader.fileno()

    def rearm(self) -> None:
        if self.broken:
            raise RdmaError("the completion channel failed: no such device")
        with suppress(BlockingIOError):
            self._reader.recv(4096)

    def close(self) -> None:
        self.closed = True
        for address in self.addresses:
            self._fabric.ports.pop(address, None)
        self._reader.close()
        self._writer.close()


class RdmaHost:
    """One host's part: sockets, responder, RDMA probing; what it measured is in ``bursts``."""

    def __init__(
        self, loop: Loop, key: Key, fabric: Fabric, ip: str, *, queue_pairs: int = 2,
        timeout_s: float = 5.0, max_rate: float = 10_000, retry_s: float = 0.01,
        listen_port: int = LISTEN_PORT,
    ) -> None:  # fmt: skip
        self.listen_port = listen_port
        self.ip, self.fabric, self._loop, self._key = ip, fabric, loop, key
        self.queue_pairs, self._timeout_s, self._retry_s = queue_pairs, timeout_s, retry_s
        self._max_rate = max_rate
        self.bursts: list[Burst] = []
        self.traces: list[Trace] = []
        self.ports: list[RnicPort] = []
        self.lacks = ""  # why there is no device
        self.start()

    def start(self) -> None:
        """As when the agent starts: new queue pairs."""
        self.responder = Responder(self._key, rate=10_000, burst=10_000)
        self.sockets = SocketPool(self._loop, self._key, self.responder, self._max_rate)
        self.sockets.open((self.ip, self.listen_port))
        self.rdma = RdmaProbing(
            self._loop, self._key, self.sockets, self.responder, RdmaOptions(self.queue_pairs),
            Random(7), self.bursts.append, now=monotonic_ns, listen_port=self.listen_port,
            burst=1,            timeout_s=self._timeout_s, answer_rate=10_000, open_port=self._open,
            retry_s=self._retry_s,
        )  # fmt: skip

    def _open(self, ip: str, options: RdmaOptions) -> RnicPort:
        if self.lacks:
            raise RdmaError(self.lacks)
        self.ports.append(RnicPort(self.fabric, ip, options.queue_pairs))
        return self.ports[-1]

    def probe(self, *peers: RdmaHost, interval_s: float = 0.05, dscp: int = 26) -> None:
        """Apply a list that names these peers."""
        own = Endpoint(self.ip, self.ip, "underlay", asw=f"tor-of-{self.ip}")
        targets = [
            Target(self.ip, peer.ip, peer.ip, peer.ip, "underlay", [50_000], peer.listen_port, dscp)
            for peer in peers
        ]
        document = PingList(self.ip, fabric="f1", endpoints=[own], targets=targets)
        self.rdma.plan(document, document.targets, self.ip)
        self.rdma.start(interval_s)

    def end(self) -> None:
        """As when the agent ends: its sockets and queue pairs are gone."""
        self.rdma.close()
        self.sockets.close_except(())

    def dials(self) -> list[str]:
        """How the bursts ended."""
        return [burst.dial for burst in self.bursts]


def addresses() -> tuple[str, str]:
    """Two addresses of loopback that no other test uses."""
    network = own_network()
    return f"{network}.1", f"{network}.2"
