"""skh.throughput -> the controller: samples of rnics, from some time ago on."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from schemas.signing.headers import Refused
from schemas.wire.decoded import CodecError
from streams.admission.admission import Admission
from streams.kafka.fetch import FETCH, received
from streams.kafka.offset_ranges import offset_ranges
from streams.readers.throughput_rows import ThroughputRows, admitted

_log = logging.getLogger(__name__)
_TIMEOUT_S = 10.0
_BATCH = 500
_WAIT_S = 0.5


class Received(NamedTuple):
    """Samples of one message; time_ms: when the broker got it."""

    rows: ThroughputRows
    time_ms: int


class ThroughputFeed:
    """All partitions of the topic; for one event loop.

    admission  decides who may send; None: any client of the broker may
    refused    messages that cannot be read, or are not their sender's; only rises [count]
    """

    def __init__(self, kafka: Mapping[str, Any], admission: Admission | None = None) -> None:
        self._kafka = dict(kafka)
        self._admission = admission or Admission()
        self._consumer: Consumer | None = None
        self._closed = False
        self._lock = threading.Lock()  # a reading goes on when the task that waits is cancelled
        self.refused = 0

    async def begin(self, since_ms: int) -> None:
        """Start at what the broker got at ``since_ms`` or later."""
        await asyncio.to_thread(self._begin, since_ms)

    def _begin(self, since_ms: int) -> None:
        with self._lock:
            if not self._closed:
                self._open(since_ms)

    def _open(self, since_ms: int) -> None:
        self._consumer = consumer = Consumer({
            **self._kafka, **FETCH, "group.id": "skh-controller", "enable.auto.commit": False,
            "auto.offset.reset": "latest", "log_level": 4,
        })  # fmt: skip
        name = topics.THROUGHPUT.name
        known = offset_ranges(consumer, name)
        if not known:
            _log.warning("%s does not exist; `skeletonhunter topics --create` makes it", name)
            return
        asked = [TopicPartition(name, partition, since_ms) for partition in known]
        consumer.assign(consumer.offsets_for_times(asked, timeout=_TIMEOUT_S))

    async def read(self) -> list[Received]:
        """Samples that have arrived; waits a moment for some."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> list[Received]:
        with self._lock:
            messages = [] if self._consumer is None else self._consumer.consume(_BATCH, _WAIT_S)
        found = []
        for message in messages:
            if message.error() is not None:
                _log.warning("skh.throughput: %s", message.error())  # librdkafka tries again
                continue
            try:
                found.append(self._admitted(message))
            except (Refused, CodecError) as why:
                self.refused += 1
                _log.warning("skh.throughput: offset %d: %s", message.offset(), str(why)[:300])
        return found

    def _admitted(self, message: Any) -> Received:
        """The samples of a message; raises Refused, CodecError."""
        plain = received(message)
        return Received(admitted(self._admission, plain, message.partition()), plain.time_ms)

    def close(self) -> None:
        """Stop reading; blocks until a reading that goes on has ended."""
        with self._lock:
            self._closed = True
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None
