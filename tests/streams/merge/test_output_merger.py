"""Which messages a merger publishes, in which order, and which partitions it waits for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from builders.streams.chunk_messages import end_seconds, nothing, panes

from schemas import topics
from streams.kafka.messages import OutMessage
from streams.merge.consumer_progress import ConsumerProgress, UnreadRange
from streams.merge.output_merger import MergeInput, OutputMerger
from streams.merge.parameters import MERGE

pytestmark = pytest.mark.anyio
NAME = topics.PINGS.name


class TwoPartitions:
    """A merger of one topic; partition 0 has reached 10 s and stays there, with more to read."""

    def __init__(self, max_bytes: int = 10**6) -> None:
        self.now_s, self.end_s = 0.0, 100
        self.sent: list[OutMessage] = []
        self.stalled: list[int] = []
        self.ends = {0: 10, 1: 0}
        self.progress = ConsumerProgress(high_watermark=self.ends.get)
        self.event_time_s = {0: 10, 1: 10}
        self.merger = OutputMerger(self, lambda: self.now_s, max_bytes)
        self.unprocessed = set[int]()
        self.merger.register(
            MergeInput(
                NAME, self.progress, self.event_time_s.__getitem__, self.unprocessed.__contains__,
                self.stalled.append,
            )
        )  # fmt: skip
        self.progress.record(0, 4)

    async def send(self, messages: Sequence[OutMessage]) -> None:
        self.sent += messages

    async def advance_1(self, after_s: float) -> None:
        """Another second of partition 1."""
        self.now_s += after_s
        self.end_s += 1
        self.progress.record(1, self.end_s)
        self.merger.add((NAME, 1), panes(self.end_s), nothing)
        await self.merger.publish()


async def test_a_slow_worker_waits_for_all_partitions() -> None:
    two = TwoPartitions()
    for _ in range(5):
        await two.advance_1(after_s=120)
    assert two.sent == []
    assert two.merger.buffered_bytes == 5


async def test_messages_that_were_read_but_not_processed_are_waited_for() -> None:
    two = TwoPartitions()
    two.ends[0] = 5  # partition 0 is read to its end
    two.unprocessed.add(0)
    await two.advance_1(after_s=1)
    assert two.sent == []
    two.unprocessed.clear()
    await two.advance_1(after_s=1)
    assert len(two.sent) == 2


async def test_only_a_stalled_partition_is_not_waited_for_and_the_order_stays() -> None:
    two = TwoPartitions()
    two.ends[2], two.event_time_s[2] = 10**6, 105
    two.progress.record(2, 0)  # far from its end, and it advances
    for offset in range(100):
        two.progress.record(2, 1 + offset)
        await two.advance_1(after_s=0.1)
    assert two.stalled == [0]
    assert two.merger.stalled == 1
    assert end_seconds(two.sent) == [101, 102, 103, 104, 105], "2 is waited for"
    assert two.merger.early == 0

    two.progress.record(0, 5)
    two.event_time_s[2] = 110
    await two.advance_1(after_s=0.1)
    assert end_seconds(two.sent)[5:] == [], "0 has advanced, and is at 10 s"
    two.event_time_s[0] = 108
    await two.advance_1(after_s=0.1)
    assert end_seconds(two.sent)[5:] == [106, 107, 108]


async def test_elapsed_time_alone_releases_nothing() -> None:
    two = TwoPartitions()
    await two.advance_1(after_s=0)
    for _ in range(100):
        two.now_s += MERGE.stall_s
        await two.merger.publish()
    assert two.sent == []


async def test_the_buffer_is_bounded_while_no_partition_has_stalled() -> None:
    two = TwoPartitions(max_bytes=20)
    for _ in range(50):
        await two.advance_1(after_s=0.01)
    assert two.merger.buffered_bytes == 20
    assert end_seconds(two.sent) == list(range(101, 131))
    assert two.merger.early == 30
    assert two.stalled == []


class Catching:
    """A merger of two partitions that are read from the beginning; 1 is not known of at first."""

    def __init__(self) -> None:
        self.sent: list[OutMessage] = []
        self.asked: list[set[int]] = []
        self.ends = {0: 100, 1: 0}
        self.event_time_s = {0: 0, 1: 0}
        self.progress = ConsumerProgress(self._ranges, query_end_offsets=self._query)
        self.merger = OutputMerger(self, lambda: 0.0)
        self.merger.register(
            MergeInput(
                NAME, self.progress, self.event_time_s.__getitem__, lambda _: False, lambda _: None
            )
        )

    async def _ranges(self) -> dict[int, UnreadRange]:
        return {0: UnreadRange(0, 1), 1: UnreadRange(0, 0)}

    async def _query(self, partitions: Collection[int]) -> dict[int, int]:
        self.asked.append(set(partitions))
        return {partition: self.ends[partition] for partition in partitions}

    async def send(self, messages: Sequence[OutMessage]) -> None:
        self.sent += messages

    async def advance(self, partition: int, *end_s: int) -> None:
        self.progress.record(partition, end_s[-1] - 1)
        self.event_time_s[partition] = end_s[-1]
        self.merger.add((NAME, partition), panes(*end_s), nothing)
        await self.merger.publish()


async def test_minutes_are_not_published_while_another_partition_may_not_have_begun() -> None:
    two = Catching()
    await two.progress.begin()
    two.ends[1] = 50  # its messages have arrived since
    await two.advance(0, *range(1, 41))
    assert end_seconds(two.sent) == [], "1 has not begun"
    await two.advance(1, *range(1, 51))
    assert end_seconds(two.sent) == sorted([*range(1, 41), *range(1, 51)])


async def test_a_partition_read_as_it_grows_asks_the_broker_once_in_seconds_of_event_time() -> None:
    two = Catching()
    await two.advance(0, 1000)
    assert two.asked == [{1}], "its first second may be any"
    for end_s in range(1001, 1001 + 4 * MERGE.unasked_s):
        await two.advance(0, end_s)
    assert len(two.asked) == 1 + 3
    assert len(two.sent) == 1 + 4 * MERGE.unasked_s


async def test_ends_that_the_stages_ask_for_count_too() -> None:
    two = Catching()
    await two.advance(0, 1000)
    for end_s in range(1001, 1001 + 4 * MERGE.unasked_s):
        await two.progress.refresh()
        asked = len(two.asked)
        await two.advance(0, end_s)
        assert len(two.asked) == asked
