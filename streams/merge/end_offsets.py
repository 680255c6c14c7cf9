"""Where partitions end, asked of the broker: what a consumer knows is as old as its last fetch."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

_log = logging.getLogger(__name__)
#: Leaders that are there answer in milliseconds; of one that is not, nobody waits for long.
_TIMEOUT_S: Final = 2.0


class EndOffsets:
    """Asks on a connection of its own, so that no fetch and no commit waits for the answer."""

    def __init__(self, kafka: Mapping[str, Any]) -> None:
        self._kafka = dict(kafka)
        self._consumer: Consumer | None = None
        self._lock = threading.Lock()  # stages ask at the same time; closing waits for the answer

    async def ask(self, topic: str, partitions: Collection[int]) -> dict[int, int]:
        """Partition -> one past its last message; those whose leader does not answer are absent."""
        return await asyncio.to_thread(self._ask, topic, sorted(partitions))

    def _ask(self, topic: str, partitions: list[int]) -> dict[int, int]:
        with self._lock:
            if self._consumer is None:
                self._consumer = Consumer({**self._kafka, "group.id": "skh-ends", "log_level": 2})
            return _ends(self._consumer, topic, partitions)

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None


def _ends(consumer: Consumer, topic: str, partitions: list[int]) -> dict[int, int]:
    found = {}
    for partition in partitions:
        at = TopicPartition(topic, partition)
        try:
            found[partition] = consumer.get_watermark_offsets(at, timeout=_TIMEOUT_S)[1]
        except KafkaException as why:
            _log.warning("%s: where partition %d ends: %s", topic, partition, why.args[0])
    return found
