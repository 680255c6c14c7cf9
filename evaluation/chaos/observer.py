"""What came out of the pipeline, read from its topics by a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow.compute as pc
from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from schemas.documents.incident import Incident, decode_incident
from schemas.wire import window_chunks

_TOPICS: Final = (topics.WINDOWS, topics.INCIDENTS, topics.DEAD_LETTER)
_POLL_S: Final = 0.2


class Pane(NamedTuple):
    """A closed second of a partition, or its traceroutes; epoch: of the worker that closed it."""

    kind: str
    partition: int
    fabric: str
    start_s: int
    epoch: int


class Identity(NamedTuple):
    """What a disturbed and an undisturbed run agree on, of an incident's last version."""

    incident_id: str
    component: str
    opened_at: str
    parent: str | None


def identities(documents: Iterable[Incident]) -> set[Identity]:
    """Of each incident's last version."""
    last = {each.incident_id: each for each in documents}
    return {Identity(i.incident_id, i.component, i.opened_at, i.parent) for i in last.values()}


class Judged:
    """Records in closed panes: of each second, the first version that is complete counts.

    So counts the localizer: a worker that takes over closes the last seconds again.
    """

    def __init__(self) -> None:
        self.records = 0
        self._closed: set[tuple[str, int, str, int]] = set()
        self._open: dict[Pane, dict[int, int]] = {}

    def add(self, pane: Pane, chunk: int, chunks: int, rows: int) -> None:
        """Count one chunk with this number of records."""
        if pane[:4] in self._closed:
            return
        parts = self._open.setdefault(pane, {})
        parts[chunk] = rows
        if len(parts) == chunks:
            self._closed.add(pane[:4])
            self.records += sum(self._open.pop(pane).values())


class Observer(threading.Thread):
    """Reads everything on skh.windows, skh.incidents and skh.dead-letter.

    incidents     versions in the order of arrival
    first_ms      incident_id -> when the broker had its first version [ms since the epoch]
    judged        records of closed panes
    counts        (partition, epoch) -> the partition's newest counts, see ``RecordCounts``
    dead_letters  by source topic and place, so that what is read again counts once
    """

    def __init__(self, bootstrap: str) -> None:
        super().__init__(name="observer", daemon=True)
        self.incidents: list[Incident] = []
        self.first_ms: dict[str, int] = {}
        self.judged = Judged()
        self.counts: dict[tuple[int, int], dict[str, int]] = {}
        self.dead_letters: set[tuple[bytes, ...]] = set()
        self._stop_event = threading.Event()
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": "chaos-observer", "log_level": 2,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
        })  # fmt: skip
        self._consumer.assign(
            [TopicPartition(t.name, p, 0) for t in _TOPICS for p in range(t.partitions)]
        )
        self.start()

    def run(self) -> None:
        while not self._stop_event.is_set():
            message = self._consumer.poll(_POLL_S)
            if message is not None and message.error() is None:
                self._add(message)
        self._consumer.close()

    def _add(self, message: Any) -> None:
        value: bytes = message.value() or b""
        headers = dict(message.headers() or ())
        if message.topic() == topics.INCIDENTS.name:
            found = decode_incident(value)
            self.first_ms.setdefault(found.incident_id, message.timestamp()[1])
            self.incidents.append(found)
        elif message.topic() == topics.DEAD_LETTER.name:
            place = (headers.get(name, b"") for name in ("topic", "partition", "offset", "row"))
            self.dead_letters.add(tuple(place))
        else:
            self._add_chunk(window_chunks.Header.from_kafka(headers), value)

    def _add_chunk(self, header: window_chunks.Header, value: bytes) -> None:
        if header.kind == "punctuation":
            counts = msgspec.json.decode(value).get("counts", {})
            self.counts[header.partition, header.epoch] = counts
        elif header.kind in ("pane", "routes"):
            rows = window_chunks.decode(header.kind, value)
            count = rows.num_rows
            if header.kind == "pane":
                count = pc.sum(rows.column("records")).as_py() or 0
            pane = Pane(header.kind, header.partition, header.fabric, header.start_s, header.epoch)
            self.judged.add(pane, header.chunk, header.chunks, count)

    def counted(self, name: str) -> int:
        """One of ``RecordCounts``, over all workers: what was read twice counts twice."""
        return sum(each.get(name, 0) for each in list(self.counts.values()))

    def close(self) -> None:
        """Stop reading."""
        self._stop_event.set()
        self.join(30)
