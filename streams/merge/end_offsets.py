"""Where partitions end, by the broker: a consumer only knows the ends of its last fetch."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

_log = logging.getLogger(__name__)
#: Leaders answer in milliseconds; those that are down must not hold up a worker [s].
_TIMEOUT_S: Final = 2.0
#: Of a client that takes a former leader, or a former term of the same one, for the present one.
_STALE: Final = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    }
)


class _Answers(NamedTuple):
    """ends: partition -> one past its last message; failed: partition -> why it is not known."""

    ends: dict[int, int]
    failed: dict[int, KafkaError]


class EndOffsets:
    """Asks over a connection of its own, so that no fetch and no commit waits for the answer.

    All partitions are asked at once, so leaders that are down cost one time-out and not one each.
    """

    def __init__(self, kafka: Mapping[str, Any], timeout_s: float = _TIMEOUT_S) -> None:
        self._kafka, self._timeout_s = dict(kafka), timeout_s
        self._admin: AdminClient | None = None
        self._failing: dict[str, set[int]] = {}  # topic -> partitions
        self._lock = threading.Lock()  # stages query concurrently; ``close`` waits for the answer

    async def query(self, topic: str, partitions: Collection[int]) -> dict[int, int]:
        """Partition -> one past its last message; without those whose leader does not answer."""
        return await asyncio.to_thread(self._query, topic, sorted(partitions))

    def _query(self, topic: str, partitions: list[int]) -> dict[int, int]:
        if not partitions:
            return {}
        with self._lock:
            found = self._ask(topic, partitions)
            if any(why.code() in _STALE for why in found.failed.values()):
                self._admin = None  # its metadata are from before an election, and stay so
                found = self._ask(topic, partitions)
            self._log_changes(topic, found.failed)
            return found.ends

    def _ask(self, topic: str, partitions: list[int]) -> _Answers:
        if self._admin is None:
            self._admin = AdminClient({**self._kafka, "log_level": 2})
        return _end_offsets(self._admin, topic, partitions, self._timeout_s)

    def _log_changes(self, topic: str, failed: Mapping[int, KafkaError]) -> None:
        """Log which partitions fail, when others do than before."""
        if set(failed) != self._failing.get(topic, set()):
            self._failing[topic] = set(failed)
            if failed:
                first, why = min(failed.items())
                _log.warning("%s: ends of %d partitions are unknown, the first of %d: %s", topic,
                             len(failed), first, why)  # fmt: skip
            else:
                _log.warning("%s: ends of all partitions are known again", topic)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._admin = None


def _end_offsets(
    admin: AdminClient, topic: str, partitions: list[int], timeout_s: float
) -> _Answers:
    newest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, each): newest for each in partitions}
    found = _Answers({}, {})
    for place, answer in admin.list_offsets(asked, request_timeout=timeout_s).items():
        try:
            found.ends[place.partition] = answer.result().offset
        except KafkaException as why:
            found.failed[place.partition] = why.args[0]
    return found
