"""Where partitions end, by the broker: a consumer only knows the ends of its last fetch."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

_log = logging.getLogger(__name__)
#: A partition's leader answers in milliseconds; one that is down must not hold up the others [s].
_TIMEOUT_S: Final = 2.0


class EndOffsets:
    """Asks over a connection of its own, so that no fetch and no commit waits for the answer."""

    def __init__(self, kafka: Mapping[str, Any]) -> None:
        self._kafka = dict(kafka)
        self._consumer: Consumer | None = None
        self._lock = threading.Lock()  # stages query concurrently; ``close`` waits for the answer

    async def query(self, topic: str, partitions: Collection[int]) -> dict[int, int]:
        """Partition -> one past its last message; without those whose leader does not answer."""
        return await asyncio.to_thread(self._query, topic, sorted(partitions))

    def _query(self, topic: str, partitions: list[int]) -> dict[int, int]:
        with self._lock:
            if self._consumer is None:
                self._consumer = Consumer({**self._kafka, "group.id": "skh-ends", "log_level": 2})
            return _end_offsets(self._consumer, topic, partitions)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None


def _end_offsets(consumer: Consumer, topic: str, partitions: list[int]) -> dict[int, int]:
    found = {}
    for partition in partitions:
        asked = TopicPartition(topic, partition)
        try:
            found[partition] = consumer.get_watermark_offsets(asked, timeout=_TIMEOUT_S)[1]
        except KafkaException as why:
            _log.warning("%s: end of partition %d is unknown: %s", topic, partition, why.args[0])
    return found
