"""Files that ``diagnose`` is given -> records, heartbeats and documents that belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents.heartbeat import Heartbeat
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology
from schemas.wire.ping_columns import concat
from skeletonhunter.arguments import read_topology
from skeletonhunter.diagnosis import document_match, ping_files, site_documents
from skeletonhunter.diagnosis.files import burst_size, latency_unit, time_unit
from skeletonhunter.diagnosis.files.blocks import Block, DeadLetter
from skeletonhunter.diagnosis.files.column_map import UNMAPPED, ColumnMap
from skeletonhunter.diagnosis.files.time_span import TimeSpan
from streams.windowing.records import USED

_ENDS: Final = ("min", "max")
#: In what others call a latency.
_LATENCY: Final = re.compile("rtt|lat|delay|trip", re.IGNORECASE)
#: Columns that a note names [count].
_SHOWN: Final = 8


@dataclass(slots=True)
class Inputs:
    """Everything that was read.

    records             the columns that are judged, of all valid records; None: no valid record
    heartbeats          by time, of the file of heartbeats and of agents' output
    dead_letters        invalid records
    invalid_heartbeats  why lines of the file of heartbeats are invalid, with file and line
    notes               records and documents that were left out, and why
    left_out            records outside of --since and --until [count]
    """

    topology: Topology | None = None
    placements: list[Placement] = field(default_factory=list)
    maintenance: list[Maintenance] = field(default_factory=list)
    records: pa.RecordBatch | None = None
    heartbeats: list[Heartbeat] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    invalid_heartbeats: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Documents:
    """Files of documents beside the records; None: there is none."""

    topology: Path | None = None
    heartbeats: Path | None = None
    placement: Path | None = None
    maintenance: Path | None = None


def read(
    names: Iterable[str],
    documents: Documents,
    *,
    columns: ColumnMap | None = None,
    span: TimeSpan | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Inputs:
    """Read the files; raises BadInput for one that cannot be used or is of other fabrics only.

    columns   how the files name the columns, where they do not as ping records do
    span      of the times of sending that are judged; None: all
    progress  is called with what has been read so far, now and then
    """
    return collect(_blocks(names, columns, progress), documents, columns=columns, span=span)


def collect(
    blocks: Iterable[Block],
    documents: Documents,
    *,
    columns: ColumnMap | None = None,
    span: TimeSpan | None = None,
) -> Inputs:
    """Records and documents that belong together; raises BadInput as ``read`` does.

    columns  how the blocks were mapped, for what is said about columns
    """
    fabric = read_topology(documents.topology)
    placements = site_documents.read_placements(documents.placement)
    windows = site_documents.read_maintenance(documents.maintenance)
    inputs = Inputs(
        fabric, [each.document for each in placements], [each.document for each in windows]
    )
    span = span or TimeSpan()
    batches, left_out, times = [], 0, list[pa.Array]()
    theirs: dict[str, None] = {}
    for block in blocks:
        theirs |= dict.fromkeys(block.names)
        inputs.dead_letters += block.dead_letters
        inputs.heartbeats += block.heartbeats
        if block.batch.num_rows:
            bounds = pc.min_max(block.batch.column("ping_time"))
            times.append(pa.array([bounds["min"].as_py(), bounds["max"].as_py()], pa.int64()))
        batch = span.batch(block.batch)
        left_out += block.batch.num_rows - batch.num_rows
        if batch.num_rows:
            batches.append(batch.select([n for n in batch.schema.names if n in USED]))
    known_times = pa.concat_arrays(times) if times else pa.array([], pa.int64())
    time_unit.check(known_times)
    if left_out:
        first, last = (time_unit.shown(pc.min_max(known_times)[end].as_py()) for end in _ENDS)
        inputs.notes.append(
            f"{left_out:,} records outside of --since and --until are left out; "
            f"records were sent from {first} to {last}"
        )
        inputs.left_out = left_out
    beats, inputs.invalid_heartbeats = site_documents.read_heartbeats(documents.heartbeats)
    if batches:
        inputs.records = concat(batches)
        batches.clear()
        time_unit.check_mixed(inputs.records.column("ping_time"))
        inputs.notes += _unused(theirs, columns or UNMAPPED, inputs.records)
        inputs.notes += latency_unit.check(inputs.records, columns)
        inputs.records, assumed = burst_size.filled(inputs.records)
        inputs.notes += assumed
        known = document_match.known_of(inputs.records, fabric)
        document_match.check_topology(fabric, documents.topology, known)
        document_match.check_heartbeats(beats, documents.heartbeats, known)
        inputs.notes += document_match.check_placements(
            placements, known, hosts_known=known.complete
        )
        inputs.notes += document_match.check_maintenance(windows, known)
    every = [beat for beat in (*inputs.heartbeats, *beats) if span.holds(beat.time)]
    inputs.heartbeats = sorted(every, key=lambda beat: beat.time)
    return inputs


def _unused(names: Iterable[str], columns: ColumnMap, records: pa.RecordBatch) -> list[str]:
    """A note on columns that are not used: one of them may be a column of another name."""
    unused = columns.unused(names)
    if not unused:
        return []
    more = f" and {len(unused) - _SHOWN} more" if len(unused) > _SHOWN else ""
    note = f"columns that are not used: {', '.join(unused[:_SHOWN])}{more}"
    latency = records.schema.get_field_index("latency")
    if latency < 0 or records.column(latency).null_count == records.num_rows:
        likely = next((name for name in unused if _LATENCY.search(name)), None)
        which = "one of them is it" if likely is None else f"{likely} is it"
        note += f"; no record has a latency: if {which}, give --map {likely or 'NAME'}=latency"
    return [note]


def _blocks(
    names: Iterable[str], columns: ColumnMap | None, progress: Callable[[str], None]
) -> Iterable[Block]:
    records = 0
    for name in names:
        for block in ping_files.read(name, columns):
            records += block.batch.num_rows
            progress(f"reading {name}: {records:,} records")
            yield block
