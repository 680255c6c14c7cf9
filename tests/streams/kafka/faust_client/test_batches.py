"""Messages of skh.pings reach their stage in batches, in order, partition by partition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from faust.types import TP

from schemas import topics
from streams.kafka.faust_client.batches import DEFAULT, Batch, BatchScheduler, batches

SIZE = DEFAULT.size
PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name


def test_batches_hold_every_message_in_order_and_have_the_last_ones_offset() -> None:
    found = batches(records(PINGS, 0, 2 * SIZE + 3))
    assert [len(each.value) for each in found] == [SIZE, SIZE, 3]
    assert [r.offset for each in found for r in each.value] == list(range(2 * SIZE + 3))
    assert [each.offset for each in found] == [SIZE - 1, 2 * SIZE - 1, 2 * SIZE + 2]
    assert {(each.topic, each.partition, each.timestamp_type) for each in found} == {(PINGS, 0, 1)}


def test_nothing_fetched_makes_no_batch() -> None:
    assert batches([]) == []


def test_topics_and_partitions_take_turns_and_only_pings_come_in_batches() -> None:
    fetched = {
        TP(PINGS, 0): records(PINGS, 0, 2 * SIZE),
        TP(PINGS, 1): records(PINGS, 1, 1),
        TP(BEATS, 0): records(BEATS, 0, 2),
    }
    order = [
        (tp, [r.offset for r in each.value] if isinstance(each, Batch) else each.offset)
        for tp, each in BatchScheduler().iterate(fetched)
    ]
    assert order == [
        (TP(PINGS, 0), list(range(SIZE))),
        (TP(BEATS, 0), 0),
        (TP(PINGS, 1), [0]),
        (TP(BEATS, 0), 1),
        (TP(PINGS, 0), list(range(SIZE, 2 * SIZE))),
    ]


def records(topic: str, partition: int, count: int) -> list[Any]:
    """What aiokafka's consumer returns, with offsets from 0 on."""
    return [
        SimpleNamespace(
            topic=topic, partition=partition, offset=offset, timestamp=offset, timestamp_type=1,
            headers=(), key=None, value=b"",
        )
        for offset in range(count)
    ]  # fmt: skip
