"""Where partitions end, by the broker: a consumer only knows the ends of its last fetch."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection, Mapping
from typing import Any, Final

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

_log = logging.getLogger(__name__)
#: Leaders answer in milliseconds; those that are down must not hold up a worker [s].
_TIMEOUT_S: Final = 2.0


class EndOffsets:
    """Asks over a connection of its own, so that no fetch and no commit waits for the answer.

    All partitions are asked at once, so leaders that are down cost one time-out and not one each.
    """

    def __init__(self, kafka: Mapping[str, Any], timeout_s: float = _TIMEOUT_S) -> None:
        self._kafka, self._timeout_s = dict(kafka), timeout_s
        self._admin: AdminClient | None = None
        self._lock = threading.Lock()  # stages query concurrently; ``close`` waits for the answer

    async def query(self, topic: str, partitions: Collection[int]) -> dict[int, int]:
        """Partition -> one past its last message; without those whose leader does not answer."""
        return await asyncio.to_thread(self._query, topic, sorted(partitions))

    def _query(self, topic: str, partitions: list[int]) -> dict[int, int]:
        if not partitions:
            return {}
        with self._lock:
            if self._admin is None:
                self._admin = AdminClient({**self._kafka, "log_level": 2})
            return _end_offsets(self._admin, topic, partitions, self._timeout_s)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._admin = None


def _end_offsets(
    admin: AdminClient, topic: str, partitions: list[int], timeout_s: float
) -> dict[int, int]:
    newest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, each): newest for each in partitions}
    found = {}
    for place, answer in admin.list_offsets(asked, request_timeout=timeout_s).items():
        try:
            found[place.partition] = answer.result().offset
        except KafkaException as why:
            _log.warning("%s: end of partition %d is unknown: %s", topic, place.partition,
                         why.args[0])  # fmt: skip
    return found
