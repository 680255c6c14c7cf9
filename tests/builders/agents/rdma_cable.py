"""An RDMA prober and a responder whose ports are joined by a simulated cable."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from probers.net.packet import Key
from probers.net.responder import Responder
from probers.rdma.engine import RdmaProber
from probers.rdma.packet import QpAddress
from probers.rdma.port import HOP_LIMIT, Arrived, Sent
from probers.rdma.responder import RdmaResponder

WALL = 1_700_000_000 * 10**9  # the wall clocks' time at the begin [ns]


class Time:
    """The true time [ns]; it passes whenever a clock is read."""

    def __init__(self) -> None:
        self.now = 0


class Clock:
    """The clocks of one end; ``offset``: its monotonic clock minus the true time."""

    def __init__(self, time: Time, offset: int) -> None:
        self.time, self._offset = time, offset

    def mono(self) -> int:
        self.time.now += 1_000
        return self.time.now + self._offset

    def wall(self) -> int:
        return WALL + self.time.now


class Cable:
    """One of two ports: what one sends, the other receives, except the kinds in ``loses``.

    Sending takes 20 us, and a message arrives 50 us later.
    """

    def __init__(self, clock: Clock, addresses: Sequence[QpAddress]) -> None:
        self.addresses, self.clock = addresses, clock
        self._events: deque[Sent | Arrived] = deque()
        self.other: Cable
        self.loses: set[int] = set()  # kinds
        self.count = 0
        self.prepared: set[QpAddress] = set()
        self.completes_sends = True
        self.hops = 0  # routers of the cable
        self.dscps: list[int] = []
        self.closed = False

    def prepare(self, own: int, to: QpAddress, dscp: int = 0, hop_limit: int = HOP_LIMIT) -> None:
        if to not in self.prepared:
            self.clock.time.now += 1_100_000_000  # the kernel resolves the neighbour
            self.prepared.add(to)

    def send(
        self, own: int, to: QpAddress, payload: bytes, dscp: int = 0, hop_limit: int = HOP_LIMIT
    ) -> int:
        self.count += 1
        self.dscps.append(dscp)
        self.clock.time.now += 20_000
        if self.completes_sends:
            self._events.append(Sent(self.count, self.clock.mono()))
        if payload[5] not in self.loses and hop_limit > self.hops:
            self.clock.time.now += 50_000
            if to in self.other.addresses:
                receiver = list(self.other.addresses).index(to)
                self.other.deliver(self.addresses[own], receiver, payload)
        return self.count

    def deliver(self, peer: QpAddress, own: int, payload: bytes) -> None:
        self._events.append(Arrived(peer, own, payload, self.clock.mono()))

    def poll(self) -> Sent | Arrived | None:
        return self._events.popleft() if self._events else None

    def fileno(self) -> int:
        return -1

    def rearm(self) -> None:
        """``poll`` may be called at any time."""

    def close(self) -> None:
        self.closed = True


class Pair:
    """A prober and a responder whose clocks are an hour apart, joined by a cable."""

    def __init__(
        self,
        asked_with: Key,
        answered_with: Key,
        ips: tuple[str, str] = ("10.0.0.1", "10.0.0.2"),
    ) -> None:
        time = Time()
        here, there = Clock(time, 0), Clock(time, 3600 * 10**9)
        self.near = Cable(here, [QpAddress(ips[0], 17), QpAddress(ips[0], 18)])
        self.far = Cable(there, [QpAddress(ips[1], 2**24 - 1)])
        self.near.other, self.far.other = self.far, self.near
        self.admission = Responder(answered_with)
        self.prober = RdmaProber(asked_with, self.near, now=here.mono, wall=here.wall)
        self.responder = RdmaResponder(
            answered_with, self.far, self.admission, now=there.mono, wall=there.wall
        )

    @property
    def target(self) -> QpAddress:
        return self.far.addresses[0]

    def settle(self) -> None:
        while self.prober.poll() or self.responder.poll():
            pass

    def time_out(self) -> None:
        self.near.clock.time.now += 10**9
        self.prober.poll()
