"""Partitions that are read at different speeds say what they have to say in order of time.

When a worker catches up, one partition may be read to its end before another has begun, and
heartbeats, which are small, long before pings. Whoever reads skh.windows would judge the first
alone. So what partitions say waits here until every partition that has still something to read
has come as far. Live, nobody has anything left to read, and nothing waits.

A worker that is late waits as long as it takes. Left out is a partition that is stuck
(``patience``), and only that one. What waits has a bound; beyond it the oldest leaves, still in
order of time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from schemas import topics
from streams.kafka.messages import OutMessage
from streams.kafka.publisher import MessageProducer
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.stall_detector import Key, PartitionProgress, StallDetector

_log = logging.getLogger(__name__)
#: Payload that may wait; some minutes of a fabric with 10,000 paths.
MOST_BYTES: Final = 64 * 1024 * 1024


class _Step(NamedTuple):
    """A message, or the end of a step: what to do when all of it has been published."""

    end_s: int
    message: OutMessage | None
    done: Callable[[], None] | None


@dataclass(slots=True)
class Release:
    """What may be published, in order, and what to do after that.

    early  messages that leave before their time, because no more may wait
    """

    messages: list[OutMessage] = field(default_factory=list)
    done: list[Callable[[], None]] = field(default_factory=list)
    early: int = 0


class EventTimeMerge:
    """Holds the messages of several partitions; each partition's stay in their order. Pure."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._waiting: dict[Key, deque[_Step]] = {}
        self.bytes = 0  # of payload that waits

    def put(self, key: Key, messages: Sequence[OutMessage], done: Callable[[], None]) -> None:
        """Add what a step of a partition said; ``done`` comes after its last message."""
        queue = self._waiting.setdefault(key, deque())
        end_s = queue[-1].end_s if queue else 0
        for message in messages:
            if message.topic == topics.WINDOWS.name:  # dead letters have no time of their own
                end_s = max(end_s, int(dict(message.headers)["end_s"]))
            queue.append(_Step(end_s, message, None))
            self.bytes += len(message.value)
        queue.append(_Step(end_s, None, done))

    def release(self, until_s: int | None) -> Release:
        """Everything up to ``until_s`` (None: everything), merged by time, then by partition."""
        out = Release()
        while True:
            heads = [(queue[0].end_s, key) for key, queue in self._waiting.items() if queue]
            end_s, key = min(heads, default=(0, ("", 0)))
            early = until_s is not None and end_s > until_s
            if not heads or (early and self.bytes <= self._most_bytes):
                return out
            queue = self._waiting[key]
            while queue and queue[0].end_s <= end_s:
                step = queue.popleft()
                if step.message is not None:
                    out.messages.append(step.message)
                    out.early += early
                    self.bytes -= len(step.message.value)
                if step.done is not None:
                    out.done.append(step.done)

    def forget(self, topic: str, partition: int | None = None) -> None:
        """Drop what a partition (None: all of a topic) had to say: it will be said again."""
        for key in list(self._waiting):
            if key[0] == topic and partition in (None, key[1]):
                steps = self._waiting.pop(key)
                self.bytes -= sum(len(step.message.value) for step in steps if step.message)


class Stage(NamedTuple):
    """A stage as seen from here.

    front_s   event time that a partition has come to [s]; 0 before its first message
    left_out  told of a partition that nobody waits for any more, until it comes again
    """

    topic: str
    reading: ConsumerProgress
    front_s: Callable[[int], int]
    left_out: Callable[[int], None]


class OutputMerger:
    """Where the stages of one worker that write skh.windows flow together."""

    def __init__(
        self,
        outbox: MessageProducer,
        clock_s: Callable[[], float] = time.monotonic,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._outbox = outbox
        self._clock_s = clock_s
        self._aligner = EventTimeMerge(most_bytes)
        self._stages: dict[str, Stage] = {}
        self._patience = StallDetector()
        self._lock = asyncio.Lock()
        self.early = 0  # messages published before their time; only rises

    def join(self, stage: Stage) -> None:
        """A stage takes part."""
        self._stages[stage.topic] = stage

    @property
    def stuck(self) -> int:
        """Partitions that nobody waits for."""
        return len(self._patience.stuck)

    @property
    def waiting_bytes(self) -> int:
        """Payload that waits."""
        return self._aligner.bytes

    def put(self, key: Key, messages: Sequence[OutMessage], done: Callable[[], None]) -> None:
        """See ``EventTimeMerge.put``."""
        self._aligner.put(key, messages, done)

    def forget(self, topic: str, partition: int | None = None) -> None:
        """See ``EventTimeMerge.forget``."""
        self._aligner.forget(topic, partition)

    async def publish(self) -> None:
        """Publish what need not wait."""
        async with self._lock:
            released = self._aligner.release(self._until_s())
            self.early += released.early
            await self._outbox.send(released.messages)
            for done in released.done:
                done()

    def _until_s(self) -> int | None:
        standings = {
            (stage.topic, partition): PartitionProgress(
                stage.reading.position(partition),
                stage.reading.end(partition),
                stage.reading.behind(partition),
                stage.front_s(partition),
            )
            for stage in self._stages.values()
            for partition in stage.reading.partitions()
        }
        for topic, partition in self._patience.look(self._clock_s(), standings):
            _log.warning("%s: partition %d is stuck; it is not waited for", topic, partition)
            self._stages[topic].left_out(partition)
        stuck = self._patience.stuck
        fronts = (
            at.front_s for key, at in standings.items() if at.behind and key not in stuck
        )  # fmt: skip
        return min(fronts, default=None)
