"""Publishes what the stages write to skh.windows, merged in event-time order.

When a worker catches up, one partition may be read to its end before another has begun, and
heartbeats, which are small, long before pings. A localizer would judge the first partition alone.
So outputs are buffered until every partition with unread messages has reached the same event time.
A worker that keeps up has no unread messages, and buffers nothing. A message that a stage has read
but not yet processed counts as unread: another stage may publish at that moment.

Where a quiet partition ends is asked once a second, and a worker that catches up reads minutes in
that time. So the broker is asked again before event time moves by more than ``unasked_s``.

There is no time-out: a slow worker buffers for as long as it takes. Only a stalled partition
(``stall_detector``) is not waited for. The buffer is bounded; above the limit the oldest messages
are published, still in event-time order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from streams.kafka.messages import OutMessage
from streams.kafka.producer import MessageProducer
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.event_time_merge import (
    EventTimeMerge,
    OnPublished,
    Partition,
)
from streams.merge.parameters import MERGE
from streams.merge.stall_detector import PartitionProgress, StallDetector

_log = logging.getLogger(__name__)


class MergeInput(NamedTuple):
    """A stage whose partitions are merged.

    event_time_s  event time that a partition has reached [s]; 0 before its first message
    unprocessed   messages of a partition have been read, but their output has not been added yet
    on_stalled    called with a partition that is not waited for until it advances again
    """

    topic: str
    progress: ConsumerProgress
    event_time_s: Callable[[int], int]
    unprocessed: Callable[[int], bool]
    on_stalled: Callable[[int], None]


class OutputMerger:
    """Merges the outputs of all stages of one worker that write to skh.windows."""

    def __init__(
        self,
        producer: MessageProducer,
        clock_s: Callable[[], float] = time.monotonic,
        max_bytes: int = MERGE.buffer_bytes,
    ) -> None:
        self._producer = producer
        self._clock_s = clock_s
        self._merge = EventTimeMerge(max_bytes)
        self._inputs: dict[str, MergeInput] = {}
        self._stalls = StallDetector()
        self._lock = asyncio.Lock()
        self._published_s: dict[Partition, int] = {}  # event time that each has reached
        self._asked_s: dict[Partition, int] = {}  # the same when the broker was last asked
        self._refreshes: dict[str, int] = {}  # topic -> of its progress, at that time
        self.early = 0  # messages published before their time; only rises

    def register(self, merge_input: MergeInput) -> None:
        """Wait for the partitions of this stage from now on."""
        self._inputs[merge_input.topic] = merge_input

    @property
    def stalled(self) -> int:
        """Partitions that are not waited for [count]."""
        return len(self._stalls.stalled)

    @property
    def buffered_bytes(self) -> int:
        """Payload that is buffered [B]."""
        return self._merge.buffered_bytes

    def add(
        self, partition: Partition, messages: Sequence[OutMessage], on_published: OnPublished
    ) -> None:
        """See ``EventTimeMerge.add``."""
        self._merge.add(partition, messages, on_published)

    def discard(self, topic: str, partition: int | None = None) -> None:
        """See ``EventTimeMerge.discard``."""
        self._merge.discard(topic, partition)
        for reached in (self._published_s, self._asked_s):
            for key in [key for key in reached if key[0] == topic and partition in (None, key[1])]:
                del reached[key]

    async def publish(self) -> None:
        """Publish every message whose event time all awaited partitions have reached."""
        async with self._lock:
            until_s = self._until_s()
            if self._moves_far(until_s):
                self._asked_s |= self._merge.reach_s(until_s)
                await self._ask_for_ends()
                until_s = self._until_s()
            self._published_s |= self._merge.reach_s(until_s)
            released = self._merge.release(until_s)
            self.early += released.early
            await self._producer.send(released.messages)
            for on_published in released.callbacks:
                on_published()

    def _moves_far(self, until_s: int | None) -> bool:
        """Whether a partition would move far from where it was when the broker was last asked."""
        refreshes = {topic: each.progress.refreshes for topic, each in self._inputs.items()}
        if all(refreshes[topic] > self._refreshes.get(topic, 0) for topic in refreshes):
            self._asked_s, self._refreshes = dict(self._published_s), refreshes
        return any(
            end_s > self._asked_s.get(key, 0) + MERGE.unasked_s
            for key, end_s in self._merge.reach_s(until_s).items()
        )

    async def _ask_for_ends(self) -> None:
        for topic, each in self._inputs.items():
            await each.progress.begin()
            await each.progress.ask_between({p for of, p in self._stalls.stalled if of == topic})

    def _until_s(self) -> int | None:
        progress = {
            (each.topic, partition): PartitionProgress(
                each.progress.position(partition),
                each.progress.end(partition),
                each.progress.has_more(partition) or each.unprocessed(partition),
                each.event_time_s(partition),
            )
            for each in self._inputs.values()
            for partition in each.progress.partitions()
        }
        for topic, partition in self._stalls.update(self._clock_s(), progress):
            _log.warning("%s: partition %d has stalled; it is not waited for", topic, partition)
            self._inputs[topic].on_stalled(partition)
        stalled = self._stalls.stalled
        return min(
            (
                each.event_time_s
                for partition, each in progress.items()
                if each.has_more and partition not in stalled
            ),
            default=None,
        )
