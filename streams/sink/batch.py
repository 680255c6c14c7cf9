"""The pure half of the sink: messages in, tables and the offsets they reach out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pyarrow as pa

from schemas import topics
from schemas.wire import window_chunks
from schemas.wire.batches import I64
from streams import dead_letters
from streams.admission.admission import Admission
from streams.kafka.messages import InMessage
from streams.sink import dead_letters as sink_letters
from streams.sink import rows as sink_rows
from streams.sink.dead_letters import DeadLetter
from streams.sink.rows import BadMessage, Place

#: What the sink reads. Gaps in the offsets of a compacted topic are normal and not counted.
TOPICS: Final = (
    topics.PINGS, topics.WINDOWS, topics.ANOMALIES, topics.INCIDENTS, topics.DEAD_LETTER,
)  # fmt: skip
_COMPACTED: Final = frozenset(topic.name for topic in TOPICS if topic.compacted)


#: Messages of skh.pings that are checked together, at the most.
_CHECK_MESSAGES: Final = 512
_CHECK_BYTES: Final = 8 * 1024 * 1024
_LEAST_BYTES: Final = 64  # of a record in a message, at the least


class Message(NamedTuple):
    """A Kafka message, without Kafka. time_ms: the broker's time stamp."""

    place: Place
    value: bytes
    headers: Mapping[str, bytes]
    key: bytes = b""
    time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """When a batch is due: whichever comes first."""

    rows: int = 200_000
    bytes: int = 64 * 1024 * 1024
    age_s: float = 1.0


@dataclass(slots=True)
class Batch:
    """What one round of inserts stores.

    tables   name -> rows; a table is absent when it gets none
    letters  dead letters to publish on skh.dead-letter before the offsets are committed
    offsets  (topic, partition) -> first offset that is not in here, ready to be committed
    """

    tables: dict[str, pa.Table]
    letters: list[DeadLetter]
    offsets: dict[tuple[str, int], int]


@dataclass(slots=True)
class Read:
    """What has been read since the start; see schemas.metrics for the meaning."""

    messages: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)


class Batcher:
    """Collects messages until they are worth an insert.

    A record of skh.pings that is no record is dead-lettered on the topic by streams.ingest, which
    reads the same message; the sink stores it under the same key, so that it is kept once, and
    also when no stream worker runs. Of the other topics the sink is the judge and publishes it.
    """

    def __init__(self, limits: Limits | None = None, *, admission: Admission | None = None) -> None:
        """admission  decides on skh.pings as the stream workers' does; None: all are taken"""
        self.limits = limits or Limits()
        self._admission = admission or Admission()
        self.read = Read()
        self._next: dict[tuple[str, int], int] = {}
        self._readers: dict[str, Callable[[Message], None]] = {
            topics.PINGS.name: self._read_pings,
            topics.WINDOWS.name: self._read_window,
            topics.ANOMALIES.name: self._read_anomaly,
            topics.INCIDENTS.name: self._read_incident,
            topics.DEAD_LETTER.name: self._read_dead_letter,
        }
        self._start()

    def _start(self) -> None:
        self._raw: list[Message] = []  # of skh.pings: checked many at a time
        self._raw_bytes = 0
        self._pings: list[tuple[pa.RecordBatch, list[Place], I64]] = []
        self._tables: dict[str, list[pa.Table]] = {}
        self._found: list[DeadLetter] = []  # to be stored
        self._letters: list[DeadLetter] = []  # to be published
        self._offsets: dict[tuple[str, int], int] = {}
        self._rows = 0
        self._bytes = 0
        self._first_s: float | None = None
        self._urgent = False

    def expect(self, topic: str, partition: int, offset: int) -> None:
        """The next message of a partition ought to have this offset; a later one is a gap."""
        self._next[topic, partition] = offset

    def add(self, message: Message, now_s: float) -> None:
        """Take one message; what is wrong with it becomes a dead letter, never an exception."""
        place = message.place
        at = (place.topic, place.partition)
        self.read.messages[place.topic] += 1
        gap = place.offset - self._next.get(at, place.offset)
        if gap > 0 and place.topic not in _COMPACTED:
            self.read.missing[place.topic] += gap
        self._next[at] = self._offsets[at] = place.offset + 1
        self._bytes += len(message.value)
        self._first_s = now_s if self._first_s is None else self._first_s
        try:
            self._readers[place.topic](message)
        except BadMessage as why:
            self._reject(DeadLetter(place, str(why), message.value))
        except Exception as why:  # whatever escapes a reader: one message must not stop the sink
            reason = f"cannot be read: {type(why).__name__}: {why}"
            self._reject(DeadLetter(place, reason, message.value))

    def due(self, now_s: float) -> bool:
        """Whether to insert now; an incident does not wait, because people do."""
        if self._first_s is None:
            return False
        if self._rows + self._raw_bytes // _LEAST_BYTES >= self.limits.rows:
            self._check_pings()  # it may be as many rows as that: count them
        return (
            self._urgent
            or self._rows >= self.limits.rows
            or self._bytes >= self.limits.bytes
            or now_s - self._first_s >= self.limits.age_s
        )

    def take(self) -> Batch:
        """Everything collected so far; the batcher starts afresh."""
        self._check_pings()
        tables = {name: pa.concat_tables(parts) for name, parts in self._tables.items()}
        if self._pings:
            tables["pings"] = sink_rows.pings(self._pings)
        if self._found:
            tables["dead_letters"] = sink_letters.table(self._found)
        batch = Batch(tables, self._letters, self._offsets)
        self._start()
        return batch

    def forget(self) -> None:
        """Drop what was collected: its partitions went to another reader, who reads it again."""
        self._start()
        self._next.clear()

    def _reject(self, letter: DeadLetter) -> None:
        self.read.dead_letters[letter.place.topic] += letter.records
        if letter.place.topic == topics.PINGS.name:
            self._found.append(letter)
        else:
            self._letters.append(letter)  # comes back as a message and is stored then

    def _put(self, table: str, rows: pa.Table) -> None:
        self._rows += rows.num_rows
        self._tables.setdefault(table, []).append(rows)

    def _read_pings(self, message: Message) -> None:
        self._raw.append(message)
        self._raw_bytes += len(message.value)
        if len(self._raw) >= _CHECK_MESSAGES or self._raw_bytes >= _CHECK_BYTES:
            self._check_pings()

    def _check_pings(self) -> None:
        raw, read_bytes = self._raw, self._raw_bytes
        self._raw, self._raw_bytes = [], 0
        joined = self._admission.pings(
            [_incoming(each) for each in raw], [each.place.partition for each in raw]
        )
        for index, why in joined.errors:
            place, value = raw[index].place, raw[index].value
            self._reject(DeadLetter.of(dead_letters.message(*place, value, str(why))))
        for index, row in joined.rejects:
            self._reject(DeadLetter.of(dead_letters.row(*raw[index].place, row)))
        if joined.batch.num_rows:
            self._rows += joined.batch.num_rows
            self._bytes += max(0, joined.batch.nbytes - read_bytes)  # what dictionaries expanded to
            self._pings.append((joined.batch, [each.place for each in raw], joined.message))

    def _read_window(self, message: Message) -> None:
        try:
            header = window_chunks.Header.from_kafka(dict(message.headers))
        except window_chunks.WindowsError as why:
            raise BadMessage(str(why)) from why
        if header.kind == "window":
            rows = sink_rows.window(header, message.value, message.place)
            if rows.num_rows:
                self._put("path_windows", rows)

    def _read_anomaly(self, message: Message) -> None:
        self._put("anomalies", sink_rows.anomaly(message.value))

    def _read_incident(self, message: Message) -> None:
        if message.value:  # an empty one is a tombstone: compaction may forget, the database not
            self._put("incidents", sink_rows.incident(message.value))
            self._urgent = True

    def _read_dead_letter(self, message: Message) -> None:
        letter = DeadLetter.from_kafka(message.headers, message.value, message.place)
        self._found.append(letter)


def _incoming(message: Message) -> InMessage:
    headers = dict(message.headers)
    return InMessage(message.place.offset, message.time_ms, message.value, headers, message.key)
