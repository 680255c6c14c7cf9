"""Files -> rows of pings, path_windows, anomalies, incidents and dead_letters, and of the documents
beside them: topology_components, placement and heartbeats."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from localizer.options import Options
from schemas import topics
from schemas.documents.incident import encode
from schemas.documents.topology import Topology
from schemas.wire.batches import I64
from skeletonhunter.diagnosis import inputs, ping_files, run
from skeletonhunter.diagnosis.files.time_span import TimeSpan
from skeletonhunter.diagnosis.inputs import Documents
from skeletonhunter.errors import BadInput
from streams.sink import rows as sink_rows
from streams.sink import site_rows
from streams.sink.batch import Batcher, Message
from streams.sink.dead_letters import DeadLetter, table
from streams.sink.rows import Place
from streams.windowing.partition import PartitionWorker

if TYPE_CHECKING:
    from store.client import Store

_INSERT_ROWS: Final = 200_000
#: Topic that dead letters of files name; its offset in it is a hash of the file's name.
_FILES: Final = "files"


@dataclass(frozen=True, slots=True)
class Files:
    """What is to be stored.

    rows    of pings and dead_letters, by table, each part read when it is asked for
    site    rows of placement and heartbeats, by table
    given   documents, and the records if they are judged
    judged  their windows and incidents are wanted too
    """

    rows: Iterator[tuple[str, pa.Table]]
    site: list[tuple[str, pa.Table]]
    given: inputs.Inputs
    judged: bool


def read(
    names: list[str],
    documents: Documents,
    span: TimeSpan,
    *,
    judged: bool,
    progress: Callable[[str], None] = lambda _: None,
) -> Files:
    """Files and documents, read as far as to know that they can be stored; raises BadInput.

    judged  their windows and incidents are wanted too
    """
    if judged:
        given = inputs.read(names, documents, span=span, progress=progress)
    else:
        given = inputs.collect([], documents, span=span)
    site = _site(given)
    if given.topology is not None:
        _topology(given.topology, 0)  # whether it can be stored
    rows = _records(names, span, progress)
    first = list(islice(rows, 1))  # an unusable file is found before anything is stored
    return Files(chain(first, rows), site, given, judged)


def load(
    store: Store, files: Files, *, progress: Callable[[str], None] = lambda _: None
) -> Counter[str]:
    """Store the records of files and the documents beside them, and the windows and incidents of
    the records if they are judged.

    returns  table -> rows that were inserted
    Raises BadInput, StoreError. A second call with the same files adds no rows that last.
    """
    stored: Counter[str] = Counter()

    def insert(name: str, rows: pa.Table) -> None:
        if rows.num_rows:
            store.insert(name, rows)
            stored[name] += rows.num_rows

    first_ms: int | None = None
    for name, rows in files.rows:
        insert(name, rows)
        if name == "pings":
            earliest_ms = pc.min(rows.column("ping_time").cast(pa.int64())).as_py() // 1_000_000
            first_ms = earliest_ms if first_ms is None else min(first_ms, earliest_ms)
    for name, rows in files.site:
        insert(name, rows)
    if files.given.topology is not None:
        insert("topology_components", _topology(files.given.topology, first_ms or 0))
    if files.judged:
        for name, rows in _windows(files.given):
            insert(name, rows)
        done = run.diagnose(files.given, Options(), progress)
        batcher = Batcher()
        for at, anomaly in enumerate(done.anomalies):
            batcher.add(_message(topics.ANOMALIES.name, at, encode(anomaly)), 0.0)
        for at, incident in enumerate(done.incidents):
            batcher.add(_message(topics.INCIDENTS.name, at, encode(incident)), 0.0)
        for name, rows in batcher.collect().tables.items():
            insert(name, rows)
    return stored


def _records(
    names: list[str], span: TimeSpan, progress: Callable[[str], None]
) -> Iterator[tuple[str, pa.Table]]:
    """Rows of pings and dead_letters, of some blocks at a time."""
    parts: list[tuple[pa.RecordBatch, list[Place], I64]] = []
    waiting = read = 0
    for name in names:
        for block in ping_files.read(name):
            batch = span.batch(block.batch)
            read += batch.num_rows
            progress(f"storing {name}: {read:,} records")
            if block.dead_letters:
                place = Place(_FILES, 0, zlib.crc32(name.encode()))
                yield "dead_letters", table([
                    DeadLetter(
                        place, f"{name}: {each.reason}", each.raw,
                        line=each.line, column=each.column or "",
                    )
                    for each in block.dead_letters
                ])  # fmt: skip
            if batch.num_rows:
                at = np.zeros(batch.num_rows, np.int64)
                parts.append((batch, [Place(topics.PINGS.name, 0, 0)], at))
                waiting += batch.num_rows
            if waiting >= _INSERT_ROWS:
                yield "pings", sink_rows.pings(parts)
                parts, waiting = [], 0
    if parts:
        yield "pings", sink_rows.pings(parts)


def _site(given: inputs.Inputs) -> list[tuple[str, pa.Table]]:
    """Rows of placement and heartbeats, by table; raises BadInput for a time that no table holds.

    No broker says when a heartbeat arrived, so that its ``behind_ms`` is 0.
    """
    try:
        placed = site_rows.placements_of(given.placements)
        beats = [site_rows.heartbeat(beat, 0) for beat in given.heartbeats]
    except sink_rows.BadMessage as why:
        raise BadInput(f"{why}; give documents of the time of the records") from why
    return [("placement", placed), ("heartbeats", site_rows.heartbeats(beats))]


def _topology(document: Topology, first_ms: int) -> pa.Table:
    """Rows of topology_components. One that does not say from when on it holds does so from the
    first record on [ms since the epoch], so that the same files give the same rows."""
    try:
        valid_ms = site_rows.topology_valid_ms(document, first_ms)
    except sink_rows.BadMessage as why:
        raise BadInput(f"{why}; give a topology of the time of the records") from why
    return site_rows.topology(document, valid_ms)


def _windows(given: inputs.Inputs) -> Iterator[tuple[str, pa.Table]]:
    """Rows of path_windows, as a stream worker would publish them."""
    if given.records is None:
        return
    worker, batcher, offset = PartitionWorker(0, 0), Batcher(), 0
    for at, (now_ns, records, _) in enumerate(run.seconds(given.records, [])):
        for message in worker.feed(records, at, now_ns):
            batcher.add(_message(message.topic, offset, message.value, dict(message.headers)), 0.0)
            offset += 1
        if batcher.due(0.0):
            yield from batcher.collect().tables.items()
    for message in worker.finish():
        batcher.add(_message(message.topic, offset, message.value, dict(message.headers)), 0.0)
        offset += 1
    yield from batcher.collect().tables.items()


def _message(
    topic: str, offset: int, value: bytes, headers: dict[str, bytes] | None = None
) -> Message:
    return Message(Place(topic, 0, offset), value, headers or {})
