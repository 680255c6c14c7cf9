"""skh.anomalies from now on: what is suspect, for the controller's feedback loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from schemas.documents.incident import Anomaly
from schemas.documents.times import milliseconds_of
from schemas.limits import LIMITS
from streams.kafka.fetch import FETCH
from streams.kafka.offset_ranges import offset_ranges

_log = logging.getLogger(__name__)
_BATCH: Final = 500
_WAIT_S: Final = 0.2
_decoder = msgspec.json.Decoder(Anomaly)


class AnomalyFeed:
    """All partitions of the topic, from their ends on; for one event loop.

    invalid  messages that are no anomalies; only rises [count]
    """

    def __init__(self, kafka: Mapping[str, Any]) -> None:
        self._kafka = dict(kafka)
        self._consumer: Consumer | None = None
        self._closed = False
        self._lock = threading.Lock()  # a reading goes on when the task that waits is cancelled
        self.invalid = 0

    async def begin(self) -> bool:
        """Start at the ends; False where the topic does not exist."""
        return await asyncio.to_thread(self._begin)

    def _begin(self) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._consumer = Consumer({
                **self._kafka, **FETCH, "group.id": "skh-controller", "enable.auto.commit": False,
                "auto.offset.reset": "latest", "log_level": 4,
            })  # fmt: skip
            name = topics.ANOMALIES.name
            known = offset_ranges(self._consumer, name)
            self._consumer.assign([TopicPartition(name, at, end) for at, (_, end) in known.items()])
            return bool(known)

    async def read(self) -> list[Anomaly]:
        """Anomalies that have arrived; waits a moment for some."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> list[Anomaly]:
        with self._lock:
            messages = [] if self._consumer is None else self._consumer.consume(_BATCH, _WAIT_S)
        found = []
        for message in messages:
            raw = message.value() or b""
            if message.error() is not None:
                _log.warning("skh.anomalies: %s", message.error())  # librdkafka tries again
            elif (anomaly := decode(raw)) is None:
                self.invalid += 1
                _log.warning("skh.anomalies: offset %d is no anomaly", message.offset())
            else:
                found.append(anomaly)
        return found

    def close(self) -> None:
        """Stop reading; blocks until a reading that goes on has ended."""
        with self._lock:
            self._closed = True
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None


def decode(raw: bytes) -> Anomaly | None:
    """The anomaly of a message; None where it is none."""
    if len(raw) > LIMITS.document_bytes:
        return None
    try:
        found = _decoder.decode(raw)
        milliseconds_of(found.window_end)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None
    return found
