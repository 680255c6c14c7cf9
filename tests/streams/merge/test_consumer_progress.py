"""What is known of the messages of a partition that are still to come."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from streams.merge.consumer_progress import ConsumerProgress, UnreadRange

pytestmark = pytest.mark.anyio


class Broker:
    """Answers where partitions end, except those whose leader is down; records the queries."""

    def __init__(self, **ends: int) -> None:
        self.ends = {int(name.removeprefix("p")): end for name, end in ends.items()}
        self.down: set[int] = set()
        self.asked: list[set[int]] = []

    async def query(self, partitions: Collection[int]) -> dict[int, int]:
        self.asked.append(set(partitions))
        return {p: self.ends[p] for p in partitions if p not in self.down}


def progress_of(broker: Broker) -> ConsumerProgress:
    async def extents() -> dict[int, UnreadRange]:
        return {partition: UnreadRange(0, 1) for partition in broker.ends}

    return ConsumerProgress(extents, query_end_offsets=broker.query)


async def test_a_partition_ends_where_the_broker_says_and_not_where_the_last_fetch_did() -> None:
    broker = Broker(p0=10)
    progress = ConsumerProgress(high_watermark=lambda p: 5, query_end_offsets=broker.query)
    progress.record(0, 4)
    assert not progress.has_more(0), "as far as the last fetch knew"
    await progress.refresh()  # it has come since the last time
    assert await progress.refresh() == set()
    assert progress.has_more(0)
    progress.record(0, 9)
    await progress.refresh()
    assert await progress.refresh() == {0}


async def test_only_partitions_that_have_not_advanced_are_queried() -> None:
    broker = Broker(p0=1, p1=1)
    progress = progress_of(broker)
    await progress.begin()
    progress.record(1, 0)
    assert await progress.refresh() == set()
    assert broker.asked == [{0}]
    assert await progress.refresh() == {1}, "0 holds a message that has not come"


async def test_a_partition_that_advances_during_the_query_is_not_quiet() -> None:
    async def query(partitions: Collection[int]) -> dict[int, int]:
        if partitions:
            progress.record(0, 1)
        return dict.fromkeys(partitions, 1)

    progress = ConsumerProgress(query_end_offsets=query)
    progress.record(0, 0)
    await progress.refresh()
    assert await progress.refresh() == set()


async def test_a_partition_whose_leader_is_down_may_have_more() -> None:
    broker = Broker(p0=1)
    broker.down = {0}
    progress = progress_of(broker)
    progress.record(0, 0)
    assert await progress.refresh() == set()
    assert not progress.has_more(0), "it came just now"
    assert await progress.refresh() == set()
    assert progress.has_more(0)
    broker.down = set()
    assert await progress.refresh() == {0}
    assert not progress.has_more(0)


async def test_a_message_proves_that_the_leader_is_back() -> None:
    broker = Broker(p0=1)
    broker.down = {0}
    progress = progress_of(broker)
    progress.record(0, 0)
    for _ in range(2):
        await progress.refresh()
    progress.record(0, 1)
    assert not progress.has_more(0)


def test_gaps_in_offsets_are_counted_and_reading_again_is_no_gap() -> None:
    progress = ConsumerProgress()
    assert progress.record(0, 3), "the first"
    assert not progress.record(0, 4)
    assert not progress.record(0, 8)
    assert progress.record(0, 4), "from further back"
    progress.reset()
    assert progress.record(0, 9)
    assert progress.missing == 3


async def test_a_backlog_is_caught_up_with_once_in_an_assignment() -> None:
    ends = {0: 3}

    async def ask(partitions: Collection[int]) -> dict[int, int]:
        return {partition: ends[partition] for partition in partitions}

    progress = ConsumerProgress(query_end_offsets=ask, high_watermark=lambda p: ends[p])
    assert not progress.catching_up, "nothing has come"
    progress.record(0, 0)
    await progress.refresh()
    assert progress.catching_up
    for offset in (1, 2):
        progress.record(0, offset)
    await progress.refresh()
    assert not progress.catching_up
    ends[0] = 100
    await progress.refresh()
    assert not progress.catching_up, "it has fallen behind, which is another thing"
    progress.record(0, 1)
    assert progress.catching_up, "Faust went back to the commit"
    progress.mark_caught_up()
    assert progress.catching_up, "how much there is was not asked yet"
    await progress.refresh()
    progress.mark_caught_up()
    assert not progress.catching_up, "hardly late, though there is always more"
    progress.reset()
    progress.record(0, 1)
    assert progress.catching_up, "a rebalance"


async def test_messages_deleted_before_they_were_read_are_missing_also_at_the_beginning() -> None:
    async def ranges() -> dict[int, UnreadRange]:
        return {0: UnreadRange(30, 40, deleted=20), 1: UnreadRange(0, 5)}

    progress = ConsumerProgress(ranges)
    await progress.begin()
    await progress.begin()
    progress.record(0, 30)
    assert progress.missing == 20
    progress.record(0, 33)
    assert progress.missing == 22


@pytest.mark.parametrize("known_first", [True, False])
async def test_messages_that_the_first_one_leaves_out_are_missing(known_first: bool) -> None:
    async def ranges() -> dict[int, UnreadRange]:
        return {0: UnreadRange(30, 60), 1: UnreadRange(0, 5)}

    progress = ConsumerProgress(ranges)
    if known_first:
        await progress.begin()
    progress.record(0, 46)
    progress.record(0, 47)
    progress.record(1, 0)
    await progress.begin()
    assert progress.missing == 16
    progress.record(0, 30)
    assert progress.missing == 16, "they come after all: what has been counted only rises"


async def test_ranges_of_an_assignment_that_is_over_are_read_again() -> None:
    answers = [{0: UnreadRange(0, 9, deleted=7)}, {1: UnreadRange(5, 6, deleted=5)}]

    async def ranges() -> dict[int, UnreadRange]:
        if len(answers) == 2:
            progress.reset()  # a rebalance during the query
        return answers.pop(0)

    progress = ConsumerProgress(ranges)
    await progress.begin()
    assert progress.partitions() == {1}
    assert progress.missing == 5


async def test_two_that_ask_at_once_count_a_gap_once() -> None:
    async def ranges() -> dict[int, UnreadRange]:
        await asyncio.sleep(0)
        return {0: UnreadRange(7, 9, deleted=7)}

    progress = ConsumerProgress(ranges)
    await asyncio.gather(progress.begin(), progress.begin())
    assert progress.missing == 7
