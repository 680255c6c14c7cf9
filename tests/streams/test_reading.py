"""What a partition is known to hold, and what is known not to be known."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from streams.merge.consumer_progress import ConsumerProgress, OffsetRange

pytestmark = pytest.mark.anyio


class Broker:
    """Says where partitions end, but for those whose leader is down; remembers who asked."""

    def __init__(self, **ends: int) -> None:
        self.ends = {int(name.removeprefix("p")): end for name, end in ends.items()}
        self.down: set[int] = set()
        self.asked: list[set[int]] = []

    async def ask(self, partitions: Collection[int]) -> dict[int, int]:
        self.asked.append(set(partitions))
        return {p: self.ends[p] for p in partitions if p not in self.down}


def reading_of(broker: Broker) -> ConsumerProgress:
    async def extents() -> dict[int, OffsetRange]:
        return {partition: OffsetRange(0, 1) for partition in broker.ends}

    return ConsumerProgress(extents, ask_ends=broker.ask)


async def test_a_partition_ends_where_the_broker_says_and_not_where_the_last_fetch_did() -> None:
    broker = Broker(p0=10)
    reading = ConsumerProgress(highwater=lambda p: 5, ask_ends=broker.ask)
    reading.take(0, 4)
    assert not reading.behind(0), "as far as the last fetch knew"
    await reading.refresh()  # it has come since the last time
    assert await reading.refresh() == set()
    assert reading.behind(0)
    reading.take(0, 9)
    await reading.refresh()
    assert await reading.refresh() == {0}


async def test_only_who_has_not_come_is_asked_for() -> None:
    broker = Broker(p0=1, p1=1)
    reading = reading_of(broker)
    await reading.begin()
    reading.take(1, 0)
    assert await reading.refresh() == set()
    assert broker.asked == [{0}]
    assert await reading.refresh() == {1}, "0 holds a message that has not come"


async def test_who_comes_while_the_broker_is_asked_was_not_silent() -> None:
    reading = ConsumerProgress()

    async def ask(partitions: Collection[int]) -> dict[int, int]:
        if partitions:
            reading.take(0, 1)
        return dict.fromkeys(partitions, 1)

    reading.take(0, 0)
    await reading.refresh()
    reading._ask_ends = ask  # noqa: SLF001 — it must know the reading that it disturbs
    assert await reading.refresh() == set()


async def test_whose_leader_is_down_may_hold_more() -> None:
    broker = Broker(p0=1)
    broker.down = {0}
    reading = reading_of(broker)
    reading.take(0, 0)
    assert await reading.refresh() == set()
    assert not reading.behind(0), "it came just now"
    assert await reading.refresh() == set()
    assert reading.behind(0)
    broker.down = set()
    assert await reading.refresh() == {0}
    assert not reading.behind(0)


async def test_a_message_says_that_the_leader_is_back() -> None:
    broker = Broker(p0=1)
    broker.down = {0}
    reading = reading_of(broker)
    reading.take(0, 0)
    for _ in range(2):
        await reading.refresh()
    reading.take(0, 1)
    assert not reading.behind(0)


def test_gaps_in_offsets_are_counted_and_reading_again_is_none() -> None:
    reading = ConsumerProgress()
    assert reading.take(0, 3), "the first"
    assert not reading.take(0, 4)
    assert not reading.take(0, 8)
    assert reading.take(0, 4), "from further back"
    reading.forget()
    assert reading.take(0, 9)
    assert reading.missing == 3


async def test_what_was_there_at_the_beginning_is_caught_up_with_once() -> None:
    ends = {0: 3}

    async def ask(partitions: Collection[int]) -> dict[int, int]:
        return {partition: ends[partition] for partition in partitions}

    reading = ConsumerProgress(ask_ends=ask, highwater=lambda p: ends[p])
    assert not reading.catching_up, "nothing has come"
    reading.take(0, 0)
    await reading.refresh()
    assert reading.catching_up
    for offset in (1, 2):
        reading.take(0, offset)
    await reading.refresh()
    assert not reading.catching_up
    ends[0] = 100
    await reading.refresh()
    assert not reading.catching_up, "it has fallen behind, which is another thing"
    reading.take(0, 1)
    assert reading.catching_up, "Faust went back to the commit"
    reading.settle()
    assert reading.catching_up, "how much there is was not asked yet"
    await reading.refresh()
    reading.settle()
    assert not reading.catching_up, "hardly late, though there is always more"
    reading.forget()
    reading.take(0, 1)
    assert reading.catching_up, "a rebalance"
