"""Partitions that are read at different speeds say what they have to say in order of time.

When a worker catches up, one partition may be read to its end before another has begun, and
heartbeats, which are small, long before pings. Whoever reads skh.windows would judge the first
alone. So what partitions say waits here until every partition that has still something to read
has come as far. Live, nobody has anything left to read, and nothing waits.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from schemas import topics
from streams.messages import OutMessage
from streams.publish import Outbox

#: For partitions that have more to read but do not come: better unaligned than not at all.
PATIENCE_S: Final = 5.0

Key = tuple[str, int]  # topic, partition
#: Seconds of event time that each partition with more to read has come to.
Fronts = Callable[[], Iterable[int]]


class _Step(NamedTuple):
    """A message, or the end of a step: what to do when all of it has been published."""

    end_s: int
    message: OutMessage | None
    done: Callable[[], None] | None


@dataclass(slots=True)
class Release:
    """What may be published, in order, and what to do after that."""

    messages: list[OutMessage] = field(default_factory=list)
    done: list[Callable[[], None]] = field(default_factory=list)


class Aligner:
    """Holds the messages of several partitions; each partition's stay in their order. Pure."""

    def __init__(self) -> None:
        self._waiting: dict[Key, deque[_Step]] = {}

    def put(self, key: Key, messages: Sequence[OutMessage], done: Callable[[], None]) -> None:
        """Add what a step of a partition said; ``done`` comes after its last message."""
        queue = self._waiting.setdefault(key, deque())
        end_s = queue[-1].end_s if queue else 0
        for message in messages:
            if message.topic == topics.WINDOWS.name:  # dead letters have no time of their own
                end_s = max(end_s, int(dict(message.headers)["end_s"]))
            queue.append(_Step(end_s, message, None))
        queue.append(_Step(end_s, None, done))

    def release(self, until_s: int | None) -> Release:
        """Everything up to ``until_s`` (None: everything), merged by time, then by partition."""
        out = Release()
        while True:
            heads = [
                (queue[0].end_s, key)
                for key, queue in self._waiting.items()
                if queue and (until_s is None or queue[0].end_s <= until_s)
            ]
            if not heads:
                return out
            end_s, key = min(heads)
            queue = self._waiting[key]
            while queue and queue[0].end_s <= end_s:
                step = queue.popleft()
                if step.message is not None:
                    out.messages.append(step.message)
                if step.done is not None:
                    out.done.append(step.done)

    def waiting(self) -> bool:
        return any(self._waiting.values())

    def forget(self, topic: str, partition: int | None = None) -> None:
        """Drop what a partition (None: all of a topic) had to say: it will be said again."""
        for key in list(self._waiting):
            if key[0] == topic and partition in (None, key[1]):
                del self._waiting[key]


class Confluence:
    """Where the stages of one worker that write skh.windows flow together."""

    def __init__(self, outbox: Outbox, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._outbox = outbox
        self._clock_s = clock_s
        self._aligner = Aligner()
        self._fronts: list[Fronts] = []
        self._lock = asyncio.Lock()
        self._blocked: tuple[int, float] | None = None  # front, since when it is the same

    def join(self, fronts: Fronts) -> None:
        """A stage takes part; it says how far those of its partitions are that are not done."""
        self._fronts.append(fronts)

    def put(self, key: Key, messages: Sequence[OutMessage], done: Callable[[], None]) -> None:
        """See ``Aligner.put``."""
        self._aligner.put(key, messages, done)

    def forget(self, topic: str, partition: int | None = None) -> None:
        """See ``Aligner.forget``."""
        self._aligner.forget(topic, partition)

    async def publish(self) -> None:
        """Publish what need not wait."""
        async with self._lock:
            released = self._aligner.release(self._until_s())
            await self._outbox.send(released.messages)
            for done in released.done:
                done()

    def _until_s(self) -> int | None:
        fronts = [front for each in self._fronts for front in each()]
        if not fronts or not self._aligner.waiting():
            self._blocked = None
            return None
        front, now = min(fronts), self._clock_s()
        if self._blocked is None or front > self._blocked[0]:
            self._blocked = (front, now)
        return None if now - self._blocked[1] > PATIENCE_S else front
