"""What one client of the relay may take from the others: memory, time and a place."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from probers.publishing.frames import FrameReader

_MIB: Final = 1024 * 1024
_MAX_STEP_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a relay. An agent sends a heartbeat a second and some 0.2 MB/s of records.

    connections       at the same time
    buffered_bytes    of frames that have not arrived in full, over all connections
    idle_s            without a byte, then the connection is closed
    frame_s           from the first byte of a frame to its last, however steadily it drips
    evict_s           without a whole frame: may lose its place when another client comes
    bytes_per_s, burst_bytes  read from one connection; beyond, its sender waits
    total_bytes_per_s read from all of them
    frame_cost        a frame counts as so many bytes on top of its own, whatever its size
    """

    connections: int = 512
    buffered_bytes: int = 64 * _MIB
    idle_s: float = 120.0
    frame_s: float = 30.0
    evict_s: float = 5.0
    bytes_per_s: float = 8 * _MIB
    burst_bytes: float = 16 * _MIB
    total_bytes_per_s: float = 64 * _MIB
    frame_cost: int = 2048


class RunningClock:
    """Seconds during which this process ran: a stop or a suspension of it counts 2 s at most, so
    that clients that could not be read meanwhile are not taken for idle ones."""

    def __init__(self) -> None:
        self._last, self.now = monotonic(), 0.0

    def turn(self) -> float:
        """The time now; to be called at least every _MAX_STEP_S."""
        real = monotonic()
        self.now += min(real - self._last, _MAX_STEP_S)
        self._last = real
        return self.now


@dataclass(slots=True)
class Allowance:
    """A token bucket that may be overdrawn once; then nothing is taken until it is even again."""

    rate: float
    burst: float
    tokens: float
    at: float

    def take(self, amount: float, now: float) -> float:
        """Take ``amount``; returns for how long nothing more may be taken [s]."""
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate) - amount
        self.at = now
        return max(0.0, -self.tokens / self.rate)


@dataclass(slots=True)
class Client:
    """One connection. Times are the RunningClock's [s].

    heard_at     when its last byte came; whole_at: its last whole frame, or the connection
    began_at     when the frame that is on its way began; None: none is
    pending      bytes of that frame
    """

    reader: FrameReader
    allowance: Allowance
    heard_at: float
    whole_at: float
    began_at: float | None = None
    pending: int = 0


@dataclass
class Clients:
    """All connections of a relay with their bounds. ``paused``: those that are not read before
    a time, because they have sent too much."""

    limits: Limits
    counts: Counter[str]
    by_socket: dict[socket.socket, Client] = field(default_factory=dict)
    paused: dict[socket.socket, float] = field(default_factory=dict)
    buffered: int = 0

    def add(self, connection: socket.socket, reader: FrameReader, now: float) -> None:
        """A new connection, which has not said anything yet."""
        limits = self.limits
        allowance = Allowance(limits.bytes_per_s, limits.burst_bytes, limits.burst_bytes, now)
        self.by_socket[connection] = Client(reader, allowance, now, now)

    def remove(self, connection: socket.socket) -> bool:
        """Forget a connection and what it had sent of a frame; True when it was paused."""
        self.buffered -= self.by_socket.pop(connection).pending
        return self.paused.pop(connection, None) is not None

    def heard(self, connection: socket.socket, size: int, frames: int, now: float) -> bool:
        """``size`` bytes came and completed ``frames``; True when the connection is now paused."""
        client = self.by_socket[connection]
        pending = client.reader.pending
        self.buffered += pending - client.pending
        client.pending, client.heard_at = pending, now
        if frames:
            client.whole_at = now
        if not pending:
            client.began_at = None
        elif frames or client.began_at is None:
            client.began_at = now
        wait_s = client.allowance.take(size + frames * self.limits.frame_cost, now)
        if not wait_s:
            return False
        self.counts["throttled"] += 1
        self.paused[connection] = now + wait_s
        return True

    def rested(self, now: float) -> list[socket.socket]:
        """Paused connections that may be read again; they are paused no longer."""
        rested = [one for one, until in self.paused.items() if until <= now]
        for connection in rested:
            del self.paused[connection]
        return rested

    def overdue(self, now: float) -> Iterator[tuple[socket.socket, str]]:
        """Connections that have used up their time, with the reason. A paused one is not late:
        it is we who do not read it."""
        for connection, client in list(self.by_socket.items()):
            if connection in self.paused:
                continue
            if client.began_at is not None and now - client.began_at > self.limits.frame_s:
                yield connection, "slow-frame"
            elif now - client.heard_at > self.limits.idle_s:
                yield connection, "idle"

    def too_large(self) -> socket.socket | None:
        """The connection that holds most memory while all together hold too much."""
        if self.buffered <= self.limits.buffered_bytes:
            return None
        return max(self.by_socket, key=lambda one: self.by_socket[one].pending)

    def evictable(self, now: float) -> socket.socket | None:
        """The connection that has gone longest without a whole frame, if that is long enough."""
        oldest = min(self.by_socket, key=lambda one: self.by_socket[one].whole_at, default=None)
        if oldest is None or now - self.by_socket[oldest].whole_at < self.limits.evict_s:
            return None
        return oldest
