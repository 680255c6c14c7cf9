"""skh.requests and skh.evidence: what was asked lately, what agents answer."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from schemas.documents.requests import evidence, request
from schemas.documents.requests.evidence import Answer
from schemas.documents.requests.request import Request
from schemas.signing.headers import FOREIGN_RECORD, Refused
from streams.admission.admission import Admission
from streams.errors import BrokerUnreachable
from streams.kafka.fetch import FETCH, received
from streams.kafka.messages import InMessage
from streams.kafka.offset_ranges import offset_ranges

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 10.0
_BATCH: Final = 500
_WAIT_S: Final = 0.2
_TAIL: Final = 5_000  # messages of a partition: more than can be asked until the last one expires
_TOPICS: Final = (topics.REQUESTS.name, topics.EVIDENCE.name)


class RequestFeed:
    """All partitions of both topics, from their last documents on; for one event loop.

    admission  decides who may answer
    names      of the topics that are read
    tail       newest messages of a partition that ``begin`` returns
    wait_s     how long ``read`` waits for some [s]
    refused    documents that cannot be read, or are not their sender's; only rises [count]
    missing    topics that the broker does not have; after ``begin``
    """

    def __init__(
        self,
        kafka: Mapping[str, Any],
        admission: Admission,
        *,
        names: Sequence[str] = _TOPICS,
        tail: int = _TAIL,
        wait_s: float = _WAIT_S,
    ) -> None:
        self._kafka = dict(kafka)
        self._admission = admission
        self._names, self._tail, self._wait_s = names, tail, wait_s
        self._consumer: Consumer | None = None
        self._closed = False
        self._lock = threading.Lock()  # a reading goes on when the task that waits is cancelled
        self.refused = 0
        self.missing: list[str] = []

    async def begin(self) -> list[Request | Answer]:
        """The newest documents up to the present ends; raises BrokerUnreachable."""
        return await asyncio.to_thread(self._begin)

    async def read(self) -> list[Request | Answer]:
        """Documents that have arrived since; waits a moment for some."""
        return await asyncio.to_thread(self._read)

    def close(self) -> None:
        """Stop reading; blocks until a reading that goes on has ended."""
        with self._lock:
            self._closed = True
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None

    def _begin(self) -> list[Request | Answer]:
        with self._lock:
            if self._closed:
                return []
            self._consumer = consumer = Consumer({
                **self._kafka, **FETCH, "group.id": "skh-controller", "enable.auto.commit": False,
                "auto.offset.reset": "latest", "log_level": 4,
            })  # fmt: skip
            ranges: dict[tuple[str, int], tuple[int, int]] = {}
            for name in self._names:
                if not (known := offset_ranges(consumer, name)):
                    self.missing.append(name)
                for partition, (low, high) in known.items():
                    ranges[name, partition] = max(low, high - self._tail), high
            consumer.assign([TopicPartition(*place, low) for place, (low, _) in ranges.items()])
            unread = {place: high for place, (low, high) in ranges.items() if high > low}
            found = []
            while unread:
                message = consumer.poll(_TIMEOUT_S)
                if message is None:
                    raise BrokerUnreachable(
                        str(self._kafka.get("bootstrap.servers")),
                        f"{', '.join(sorted({name for name, _ in unread}))} cannot be read",
                    )
                if (document := self._document(message)) is not None:
                    found.append(document)
                place = message.topic() or "", message.partition() or 0
                read_to = (message.offset() or 0) + 1
                if message.error() is None and read_to >= unread.get(place, 0):
                    unread.pop(place, None)
        return found

    def _read(self) -> list[Request | Answer]:
        with self._lock:
            messages = (
                [] if self._consumer is None else self._consumer.consume(_BATCH, self._wait_s)
            )
        found = (self._document(message) for message in messages)
        return [each for each in found if each is not None]

    def _document(self, message: Any) -> Request | Answer | None:
        if message.error() is not None:
            _log.warning("requests: %s", message.error())  # librdkafka tries again
            return None
        try:
            if message.topic() == topics.REQUESTS.name:
                return request.parse(message.value() or b"")
            return answer(self._admission, received(message), message.partition())
        except (Refused, ValueError) as why:
            self.refused += 1
            _log.warning("%s: offset %d: %s", message.topic(), message.offset(), str(why)[:300])
        return None


def answer(admission: Admission, message: InMessage, partition: int) -> Answer:
    """The evidence of a message, which must be of the host that signed it.

    All readers of skh.evidence use it. Raises Refused, ValueError.
    """
    claim = admission.claim(topics.EVIDENCE.name, message, partition)
    found = evidence.parse(message.value)
    if claim is not None and (claim.fabric, claim.sender) != (found.fabric, found.node_sn):
        admission.refused[FOREIGN_RECORD] += 1
        raise Refused(FOREIGN_RECORD, f"evidence of {found.node_sn[:100]!r} from {claim}")
    return Answer(found, "" if claim is None else claim.client)
