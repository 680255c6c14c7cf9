"""Messages in, tables and the offsets that they reach out. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa

from schemas import topics
from schemas.wire import window_chunks
from schemas.wire.batches import I64
from streams import dead_letters
from streams.admission.admission import Admission
from streams.kafka.messages import InMessage
from streams.sink import dead_letters as sink_letters
from streams.sink import job_rows, site_rows
from streams.sink import rows as sink_rows
from streams.sink.dead_letters import DeadLetter
from streams.sink.parameters import DEFAULT, Limits
from streams.sink.port_counters import port_counters
from streams.sink.rows import BadMessage, Place
from streams.sink.throughput import throughput

#: Topics that the sink reads. Gaps in the offsets of a compacted topic are not counted.
TOPICS: Final = (
    topics.PINGS, topics.WINDOWS, topics.ANOMALIES, topics.INCIDENTS, topics.COVERAGE,
    topics.TOPOLOGY, topics.PLACEMENT, topics.JOBS, topics.SKELETONS, topics.HEARTBEATS,
    topics.THROUGHPUT, topics.EVIDENCE, topics.DEAD_LETTER,
)  # fmt: skip
#: Stream workers read these too, and publish the dead letters.
_READ_BY_WORKERS: Final = frozenset(
    topic.name for topic in (topics.PINGS, topics.TOPOLOGY, topics.PLACEMENT, topics.HEARTBEATS)
)
_COMPACTED: Final = frozenset(topic.name for topic in TOPICS if topic.compacted)


class Message(NamedTuple):
    """A Kafka message as a plain value. time_ms: when it arrived [ms since the epoch]."""

    place: Place
    value: bytes
    headers: Mapping[str, bytes]
    key: bytes = b""
    time_ms: int = 0


@dataclass(slots=True)
class Batch:
    """What is stored together.

    tables   name -> rows; a table is absent when it gets none
    letters  dead letters to publish on skh.dead-letter before the offsets are committed
    offsets  (topic, partition) -> offset to commit: one past the last message of the batch
    """

    tables: dict[str, pa.Table]
    letters: list[DeadLetter]
    offsets: dict[tuple[str, int], int]


@dataclass(slots=True)
class ReadCounts:
    """What has been read since the start, by topic; see schemas.metrics for the meaning."""

    messages: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)


class Batcher:
    """Collects messages until an insert is due.

    An invalid record of skh.pings, topology, placement or heartbeat is published as a dead letter
    by the stream worker, which reads the same message; the sink stores the dead letter under the
    same key, so that there is one row of it, also when no stream worker runs. Of the other topics
    the sink publishes the dead letters.
    """

    def __init__(self, limits: Limits | None = None, *, admission: Admission | None = None) -> None:
        """admission  decides on skh.pings and skh.heartbeats, as in the stream workers, and on
        skh.throughput and skh.evidence, as in the controller; None: all are accepted"""
        self.limits = limits or DEFAULT.batch
        self._admission = admission or Admission()
        self.read = ReadCounts()
        self._next: dict[tuple[str, int], int] = {}
        self._readers: dict[str, Callable[[Message], None]] = {
            topics.PINGS.name: self._read_pings,
            topics.WINDOWS.name: self._read_window,
            topics.ANOMALIES.name: self._read_anomaly,
            topics.INCIDENTS.name: self._read_incident,
            topics.COVERAGE.name: self._read_coverage,
            topics.TOPOLOGY.name: self._read_topology,
            topics.PLACEMENT.name: self._read_placement,
            topics.JOBS.name: self._read_job,
            topics.SKELETONS.name: self._read_skeleton,
            topics.HEARTBEATS.name: self._read_heartbeat,
            topics.THROUGHPUT.name: self._read_throughput,
            topics.EVIDENCE.name: self._read_evidence,
            topics.DEAD_LETTER.name: self._read_dead_letter,
        }
        self._start()

    def _start(self) -> None:
        self._raw: list[Message] = []  # of skh.pings: decoded many at a time
        self._raw_bytes = 0
        self._pings: list[tuple[pa.RecordBatch, list[Place], I64]] = []
        self._tables: dict[str, list[pa.Table]] = {}
        self._heartbeats: list[dict[str, Any]] = []
        self._stored_letters: list[DeadLetter] = []
        self._published_letters: list[DeadLetter] = []
        self._offsets: dict[tuple[str, int], int] = {}
        self._rows = 0
        self._bytes = 0
        self._first_s: float | None = None
        self._urgent = False

    def expect(self, topic: str, partition: int, offset: int) -> None:
        """Set the offset of a partition's next message; a later one counts as a gap."""
        self._next[topic, partition] = offset

    def add(self, message: Message, now_s: float) -> None:
        """Add one message; an invalid one becomes a dead letter, never an exception."""
        place = message.place
        partition = (place.topic, place.partition)
        self.read.messages[place.topic] += 1
        gap = place.offset - self._next.get(partition, place.offset)
        if gap > 0 and place.topic not in _COMPACTED:
            self.read.missing[place.topic] += gap
        self._next[partition] = self._offsets[partition] = place.offset + 1
        self._bytes += len(message.value)
        self._first_s = now_s if self._first_s is None else self._first_s
        try:
            self._readers[place.topic](message)
        except BadMessage as why:
            self._reject(DeadLetter(place, str(why), message.value))
        except Exception as why:  # whatever a reader raises: one message must not stop the sink
            reason = f"cannot be read: {type(why).__name__}: {why}"
            self._reject(DeadLetter(place, reason, message.value))

    def due(self, now_s: float) -> bool:
        """Whether to insert now; an incident is due at once."""
        if self._first_s is None:
            return False
        if self._rows + self._raw_bytes // DEFAULT.record_bytes >= self.limits.rows:
            self._decode_pings()  # to count the rows
        return (
            self._urgent
            or self._rows >= self.limits.rows
            or self._bytes >= self.limits.bytes
            or now_s - self._first_s >= self.limits.age_s
        )

    def collect(self) -> Batch:
        """Remove and return everything that was added."""
        self._decode_pings()
        tables = {name: pa.concat_tables(parts) for name, parts in self._tables.items()}
        if self._pings:
            tables["pings"] = sink_rows.pings(self._pings)
        if self._heartbeats:
            tables["heartbeats"] = site_rows.heartbeats(self._heartbeats)
        if self._stored_letters:
            tables["dead_letters"] = sink_letters.table(self._stored_letters)
        batch = Batch(tables, self._published_letters, self._offsets)
        self._start()
        return batch

    def discard(self) -> None:
        """Drop everything that was added: the partitions' next owner reads it again."""
        self._start()
        self._next.clear()

    def _reject(self, letter: DeadLetter) -> None:
        self.read.dead_letters[letter.place.topic] += letter.records
        if letter.place.topic in _READ_BY_WORKERS:
            self._stored_letters.append(letter)
        else:
            self._published_letters.append(letter)  # read again from its topic, and stored then

    def _put(self, table: str, rows: pa.Table) -> None:
        self._rows += rows.num_rows
        self._tables.setdefault(table, []).append(rows)

    def _read_pings(self, message: Message) -> None:
        self._raw.append(message)
        self._raw_bytes += len(message.value)
        many = len(self._raw) >= DEFAULT.decode_messages
        if many or self._raw_bytes >= DEFAULT.decode_bytes:
            self._decode_pings()

    def _decode_pings(self) -> None:
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
        if message.value:  # an empty one is a tombstone, for compaction only
            self._put("incidents", sink_rows.incident(message.value))
            self._urgent = True

    def _read_coverage(self, message: Message) -> None:
        if message.value:  # as of incidents
            self._put("coverage", sink_rows.coverage(message.value))

    def _read_topology(self, message: Message) -> None:
        rows = site_rows.topology_message(message.value, message.time_ms)
        self._put("topology_components", rows)

    def _read_placement(self, message: Message) -> None:
        if message.value:  # as of incidents
            self._put("placement", site_rows.placement(message.value))

    def _read_job(self, message: Message) -> None:
        if message.value:  # as of incidents; what was known of a job stays
            self._put("jobs", job_rows.job(message.value, message.time_ms))

    def _read_skeleton(self, message: Message) -> None:
        if message.value:
            self._put("job_skeletons", job_rows.skeleton(message.value))

    def _read_heartbeat(self, message: Message) -> None:
        try:
            beat = self._admission.heartbeat(_incoming(message), message.place.partition)
        except ValueError as why:  # Refused is one too
            raise BadMessage(str(why)) from why
        self._heartbeats.append(site_rows.heartbeat(beat, message.time_ms))
        self._rows += 1

    def _read_throughput(self, message: Message) -> None:
        rows = throughput(self._admission, _incoming(message), message.place)
        self._bytes += max(0, rows.nbytes - len(message.value))  # what dictionaries expanded to
        self._put("throughput", rows)

    def _read_evidence(self, message: Message) -> None:
        rows = port_counters(self._admission, _incoming(message), message.place.partition)
        if rows.num_rows:  # else it has probes, routes or a flow table only
            self._put("port_counters", rows)

    def _read_dead_letter(self, message: Message) -> None:
        letter = DeadLetter.from_kafka(message.headers, message.value, message.place)
        self._stored_letters.append(letter)


def _incoming(message: Message) -> InMessage:
    headers = dict(message.headers)
    return InMessage(message.place.offset, message.time_ms, message.value, headers, message.key)
