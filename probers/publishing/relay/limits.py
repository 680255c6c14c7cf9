"""What one client of the relay may use at the expense of the others: memory, time, a connection.

No I/O; times are arguments, taken from ``RunningClock``.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from probers.publishing.frames import FrameReader
from probers.publishing.relay.stamping import Stamping

_MIB: Final = 1024 * 1024
_MAX_STEP_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a relay. An agent sends a heartbeat a second and about 0.2 MB/s of records.

    connections       at the same time
    buffered_bytes    of incomplete frames, over all connections
    idle_s            without a byte, then the connection is closed
    frame_s           from the first byte of a frame to its last, even if bytes keep arriving
    evict_s           without a complete frame, then the connection may be closed for a new one
    bytes_per_s, burst_bytes  read from one connection; above, its sender waits
    total_bytes_per_s read from all connections
    frame_cost        bytes that every frame counts for in addition to its size
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
    """Seconds during which this process ran.

    A stop or suspension of the process counts as 2 s at most, so that clients that could not be
    read meanwhile do not look idle.
    """

    def __init__(self) -> None:
        self._last, self.now = monotonic(), 0.0

    def advance(self) -> float:
        """The time now; must be called at least every 2 s."""
        real = monotonic()
        self.now += min(real - self._last, _MAX_STEP_S)
        self._last = real
        return self.now


@dataclass(slots=True)
class TokenBucket:
    """A token bucket that may be overdrawn; until it is refilled to zero nothing may be spent.

    rate [tokens/s], burst (capacity), tokens (may be negative), updated_s (when it was counted)
    """

    rate: float
    burst: float
    tokens: float
    updated_s: float

    def spend(self, amount: float, now: float) -> float:
        """Spend ``amount`` at time ``now`` [s]; returns how long to wait before the next [s]."""
        refilled = self.tokens + (now - self.updated_s) * self.rate
        self.tokens = min(self.burst, refilled) - amount
        self.updated_s = now
        return max(0.0, -self.tokens / self.rate)


@dataclass(slots=True)
class Connection:
    """One client's connection. Times are the RunningClock's [s].

    last_byte_s      when its newest byte arrived
    last_frame_s     when its newest frame was complete; before the first one, when it connected
    frame_started_s  when its incomplete frame began; None: there is none
    pending          bytes of the incomplete frame
    stamping         of its client, where clients are identified; None: it is not known yet
    identify_at_s    when to try again
    """

    reader: FrameReader
    bucket: TokenBucket
    last_byte_s: float
    last_frame_s: float
    frame_started_s: float | None = None
    pending: int = 0
    stamping: Stamping | None = None
    identify_at_s: float = 0.0


@dataclass
class Connections:
    """All connections of a relay. ``paused``: connections over their rate -> when to read again."""

    limits: Limits
    counts: Counter[str]
    by_socket: dict[socket.socket, Connection] = field(default_factory=dict)
    paused: dict[socket.socket, float] = field(default_factory=dict)
    buffered: int = 0

    def add(self, client: socket.socket, reader: FrameReader, now: float) -> None:
        """Add a new connection."""
        limits = self.limits
        bucket = TokenBucket(limits.bytes_per_s, limits.burst_bytes, limits.burst_bytes, now)
        self.by_socket[client] = Connection(reader, bucket, now, now)

    def remove(self, client: socket.socket) -> bool:
        """Remove a connection and its incomplete frame; True when it was paused."""
        self.buffered -= self.by_socket.pop(client).pending
        return self.paused.pop(client, None) is not None

    def received(self, client: socket.socket, size: int, frames: int, now: float) -> bool:
        """Account for ``size`` bytes that completed ``frames``; True: it is paused now."""
        connection = self.by_socket[client]
        pending = connection.reader.pending
        self.buffered += pending - connection.pending
        connection.pending, connection.last_byte_s = pending, now
        if frames:
            connection.last_frame_s = now
        if not pending:
            connection.frame_started_s = None
        elif frames or connection.frame_started_s is None:
            connection.frame_started_s = now
        wait_s = connection.bucket.spend(size + frames * self.limits.frame_cost, now)
        if not wait_s:
            return False
        self.counts["throttled"] += 1
        self.paused[client] = now + wait_s
        return True

    def resume(self, now: float) -> list[socket.socket]:
        """Remove and return the paused connections that may be read again."""
        resumed = [client for client, until in self.paused.items() if until <= now]
        for client in resumed:
            del self.paused[client]
        return resumed

    def timed_out(self, now: float) -> Iterator[tuple[socket.socket, str]]:
        """Connections over a time limit, with the reason; a paused one is not late, because the
        relay does not read it."""
        for client, connection in list(self.by_socket.items()):
            if client in self.paused:
                continue
            started_s = connection.frame_started_s
            if started_s is not None and now - started_s > self.limits.frame_s:
                yield client, "slow-frame"
            elif now - connection.last_byte_s > self.limits.idle_s:
                yield client, "idle"

    def largest_over_limit(self) -> socket.socket | None:
        """The connection that buffers most, while all together buffer more than allowed."""
        if self.buffered <= self.limits.buffered_bytes:
            return None
        return max(self.by_socket, key=lambda client: self.by_socket[client].pending)

    def evictable(self, now: float) -> socket.socket | None:
        """The connection longest without a complete frame, if that is ``evict_s`` or more."""
        oldest = min(
            self.by_socket, key=lambda client: self.by_socket[client].last_frame_s, default=None
        )
        if oldest is None or now - self.by_socket[oldest].last_frame_s < self.limits.evict_s:
            return None
        return oldest
