"""Offsets of partitions, as a broker answers: first, end, and where a group goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from streams.merge.consumer_progress import UnreadRange

_TIMEOUT_S: Final = 10.0


class OffsetRange(NamedTuple):
    """What the broker has of a partition: offsets in [start, end)."""

    start: int
    end: int


async def unread_ranges(
    kafka: Mapping[str, Any], group: str, topic: str, partitions: set[int]
) -> dict[int, UnreadRange]:
    """Partition -> from a group's committed offset to the present end."""
    return await asyncio.to_thread(_unread_ranges, dict(kafka), group, topic, partitions)


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
