"""skh.placement, skh.maintenance, skh.topology -> the localizers: documents about the site.

Every worker reads the topics from their beginnings and follows them: a document may be in any
partition, and the fabric that it is about may be judged by any worker. A topology that is not valid
is refused, so that the last valid one of its fabric stays; it cannot be withdrawn, only replaced.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from schemas.documents import decoding
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.times import rfc3339, seconds_of
from schemas.documents.topology import Topology, parse
from schemas.limits import LIMITS
from streams import dead_letters
from streams.errors import BrokerUnreachable
from streams.kafka.fetch import FETCH
from streams.kafka.messages import OutMessage
from streams.kafka.offset_ranges import offset_ranges
from streams.readers.parameters import OPERATOR_FEED

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 10.0
_BATCH: Final = 500

OperatorDocument: TypeAlias = Placement | Maintenance | Topology
_TYPES: Final[dict[str, type[OperatorDocument]]] = {
    topics.PLACEMENT.name: Placement,
    topics.MAINTENANCE.name: Maintenance,
    topics.TOPOLOGY.name: Topology,
}


class OperatorFeed:
    """The topics from their beginnings, and what is added to them. For one event loop.

    refused  by topic, documents that are not valid; only rises [count]
    """

    def __init__(
        self,
        kafka: Mapping[str, Any],
        on_document: Callable[[OperatorDocument], None] = lambda _: None,
        more: Mapping[str, type[Any]] | None = None,
        on_evict: Callable[[int], None] = lambda _: None,
    ) -> None:
        """on_document  called with every valid document as it is read
        more         further topics to read, and the types of their documents
        on_evict     called with the second of each eviction [s]
        """
        self._types: dict[str, type[Any]] = {**_TYPES, **(more or {})}
        self._kafka = dict(kafka)
        self._on_document, self._on_evict = on_document, on_evict
        self._consumer: Consumer | None = None
        self._known: dict[tuple[str, bytes], deque[tuple[int, OperatorDocument]]] = {}
        self._letters: list[OutMessage] = []
        self._lettered: set[tuple[str, int, int]] = set()
        self.refused: Counter[str] = Counter()
        self._evicted_s = 0
        self._next: dict[tuple[str, int], int] = {}  # topic, partition -> offset to come
        self._begun = False
        self._while_reading: list[OperatorDocument] = []  # new ones that ``read`` met

    @property
    def known(self) -> list[OperatorDocument]:
        """The current document of each key and the last ones before it, in order of arrival.

        Partitions are read in any order, so it is the brokers' time that decides.
        """
        found = [each for versions in self._known.values() for each in versions]
        return [document for _, document in sorted(found, key=lambda each: each[0])]

    def __len__(self) -> int:
        """Keys with a document [count]."""
        return len(self._known)

    async def begin(self) -> None:
        """Read the topics to their present ends, anew; raises BrokerUnreachable."""
        await asyncio.to_thread(self.read)

    def new_documents(self) -> list[OperatorDocument]:
        """Documents that have arrived since the last call; does not wait.

        Those that came just before a later ``begin`` are among them, although it has read them: a
        localizer that is there already has yet to get them.
        """
        found, self._while_reading = self._while_reading, []
        while self._consumer is not None:
            messages = self._consumer.consume(_BATCH, 0)
            found += [doc for each in messages if (doc := self._receive(each)) is not None]
            if len(messages) < _BATCH:
                break
        return found

    def new_dead_letters(self) -> list[OutMessage]:
        """Dead letters since the last call; one for each document, however often it is read."""
        letters, self._letters = self._letters, []
        return letters

    def evict(self, second: int) -> None:
        """Drop containers that were gone, maintenance that was over, and topologies that others had
        replaced, long before a second."""
        if second - self._evicted_s < OPERATOR_FEED.evict_every_s:
            return
        self._evicted_s = second
        self._on_evict(second)
        for key, versions in list(self._known.items()):
            _, last = versions[-1]
            if isinstance(last, Topology):  # a large fabric's has tens of megabytes
                while len(versions) > 1 and _replaced(versions[1][1], second):
                    versions.popleft()
                continue
            if isinstance(last, Maintenance):
                over_s = seconds_of(last.until)
            elif isinstance(last, Placement) and last.state == "gone":
                over_s = seconds_of(last.valid_from)
            elif isinstance(last, Incident) and last.state == "resolved":
                over_s = seconds_of(last.updated_at)
            else:
                continue
            if over_s < second - OPERATOR_FEED.retention_s:
                del self._known[key]

    def close(self) -> None:
        """Stop following the topics."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def read(self) -> None:
        """``begin``, blocking."""
        self.close()
        self._known.clear()
        before, again, self._begun = dict(self._next), self._begun, True
        self._consumer = consumer = Consumer({
            **self._kafka, **FETCH, "group.id": "skh-notices", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "log_level": 4,
        })  # fmt: skip
        unread = {}
        start = []
        for name in self._types:
            if not (found := offset_ranges(consumer, name)):
                _log.warning("%s does not exist; `skeletonhunter topics --create` makes it", name)
            for partition, (low, high) in found.items():
                start.append(TopicPartition(name, partition, low))
                if high > low:
                    unread[name, partition] = high
        consumer.assign(start)
        while unread:
            message = consumer.poll(_TIMEOUT_S)
            if message is None:
                missing = ", ".join(sorted({name for name, _ in unread}))
                raise BrokerUnreachable(
                    str(self._kafka.get("bootstrap.servers")),
                    f"{missing} cannot be read to its end",
                )
            document = self._receive(message)
            place = (message.topic() or "", message.partition() or 0)
            new = (message.offset() or 0) >= before.get(place, 0)
            if again and new and document is not None:
                self._while_reading.append(document)
            if message.error() is None and (message.offset() or 0) + 1 >= unread.get(place, 0):
                unread.pop(place, None)

    def add(self, topic: str, key: bytes, document: OperatorDocument, arrival_ms: int = 0) -> None:
        """Retain a document of a key, as if it had been read."""
        versions = self._known.setdefault((topic, key), deque(maxlen=OPERATOR_FEED.versions))
        versions.append((arrival_ms, document))
        self._on_document(document)

    def _receive(self, message: Any) -> OperatorDocument | None:
        if message.error() is not None:
            _log.warning("operator feed: %s", message.error())  # librdkafka tries again by itself
            return None
        topic, raw = message.topic(), message.value()
        self._next[topic, message.partition()] = message.offset() + 1
        key = message.key() or raw or b""
        if not raw and topic != topics.TOPOLOGY.name:  # a tombstone: the document is withdrawn
            self._known.pop((topic, key), None)
            return None
        try:
            document = decode(topic, raw or b"", self._types[topic])
        except Exception as why:  # whatever a decoder raises costs its document
            self._refuse((topic, message.partition(), message.offset()), raw or b"", str(why))
            return None
        time_ms = message.timestamp()[1]
        if isinstance(document, Topology) and not document.valid_from:
            document = msgspec.structs.replace(document, valid_from=rfc3339(time_ms * 1_000_000))
        self.add(topic, key, document, time_ms)
        return document

    def _refuse(self, place: tuple[str, int, int], raw: bytes, why: str) -> None:
        """Count, log and dead-letter a document once, however often its topic is read again."""
        if place in self._lettered or len(self._lettered) >= OPERATOR_FEED.lettered:
            return
        self._lettered.add(place)
        self.refused[place[0]] += 1
        letter = dead_letters.message(*place, raw, why)
        _log.warning("%s: offset %d is left out: %s", place[0], place[2], why[:300])
        if len(self._letters) < OPERATOR_FEED.letters:
            self._letters.append(letter)


def _replaced(following: OperatorDocument, second: int) -> bool:
    """Whether the topology that follows one had held for long at a second."""
    if not isinstance(following, Topology) or not following.valid_from:
        return False
    return seconds_of(following.valid_from) < second - OPERATOR_FEED.retention_s


def decode(topic: str, raw: bytes, kind: type[Any] | None = None) -> OperatorDocument:
    """The document of a message; raises ValueError, in one line, when it is not valid."""
    topology = topic == topics.TOPOLOGY.name
    most = LIMITS.topology_bytes if topology else LIMITS.document_bytes
    most = LIMITS.incident_bytes if kind is Incident else most
    if len(raw) > most:
        raise ValueError(f"document of {len(raw)} B; it may have {most} B")
    if topology:
        if not raw:
            raise ValueError("a topology cannot be withdrawn; publish the one that holds instead")
        return parse(raw)
    found: OperatorDocument = decoding.decode(raw, kind or _TYPES[topic])
    return found
