"""Offsets of partitions, as a broker answers: first, end, and where a group goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from streams.merge.consumer_progress import UnreadRange

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_TIMEOUT_S: Final = 10.0
_PAUSE_S: Final = 0.5
_UNANSWERED: Final = frozenset({
    KafkaError._TIMED_OUT,  # noqa: SLF001 — names of librdkafka's own codes
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._WAIT_COORD,  # noqa: SLF001
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
})  # fmt: skip


class OffsetRange(NamedTuple):
    """What the broker has of a partition: offsets in [start, end)."""

    start: int
    end: int


async def unread_ranges(
    kafka: Mapping[str, Any], group: str, topic: str, partitions: set[int]
) -> dict[int, UnreadRange]:
    """Partition -> from a group's committed offset to the present end.

    Waits while the brokers do not answer: without the ranges nothing can be merged in order.
    """
    return await until_answered(lambda: _unread_ranges(dict(kafka), group, topic, partitions))


async def until_answered(ask: Callable[[], _T]) -> _T:
    """The result of a blocking question to the brokers, asked again while they do not answer.

    Raises KafkaException for what no repetition mends. A broker that starts, or that is busy with
    the coordinator's log, needs longer than one time-out, and a worker that ended of it would have
    to read everything again.
    """
    while True:
        try:
            return await asyncio.to_thread(ask)
        except KafkaException as why:
            if why.args[0].code() not in _UNANSWERED:
                raise
            _log.warning("offsets cannot be read yet: %s", why.args[0].str())
            await asyncio.sleep(_PAUSE_S)


def _unread_ranges(
    kafka: dict[str, Any], group: str, topic: str, partitions: set[int]
) -> dict[int, UnreadRange]:
    consumer = Consumer({**kafka, "group.id": group, "log_level": 4})
    out = {}
    try:
        asked = [TopicPartition(topic, partition) for partition in sorted(partitions)]
        for committed in consumer.committed(asked, timeout=_TIMEOUT_S) if asked else ():
            low, high = consumer.get_watermark_offsets(committed, timeout=_TIMEOUT_S)
            low, end = max(low, 0), max(high, 0)
            deleted = low - committed.offset if 0 <= committed.offset < low else 0
            out[committed.partition] = UnreadRange(max(committed.offset, low), end, deleted)
    finally:
        consumer.close()
    return out


def offset_ranges(consumer: Consumer, topic: str) -> dict[int, OffsetRange]:
    """Partition -> from the first offset that the broker has to the present end."""
    known = consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
    out = {}
    for partition in known:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), _TIMEOUT_S)
        out[partition] = OffsetRange(max(low, 0), max(high, low, 0))
    return out
