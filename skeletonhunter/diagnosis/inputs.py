"""Files that ``diagnose`` is given -> records, heartbeats, documents that speak of each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from schemas.documents.heartbeat import Heartbeat
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology
from schemas.wire.ping_columns import concat
from skeletonhunter.arguments import read_topology
from skeletonhunter.diagnosis import document_match, ping_files, site_documents
from skeletonhunter.diagnosis.ping_files import DeadLetter
from streams.windowing.records import USED


@dataclass(slots=True)
class Given:
    """Everything that was read.

    records    judgeable columns of all valid records; None when there is none
    beats      by time, of the heartbeats' file and of agents' output
    dead       records that are none; bad_beats: lines that are no heartbeats, and why
    notes      documents that do not concern these records
    """

    topology: Topology | None = None
    placements: list[Placement] = field(default_factory=list)
    maintenance: list[Maintenance] = field(default_factory=list)
    records: pa.RecordBatch | None = None
    beats: list[Heartbeat] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)
    bad_beats: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(
    names: Iterable[str],
    *,
    topology: Path | None,
    heartbeats: Path | None,
    placement: Path | None,
    maintenance: Path | None,
) -> Given:
    """Raises BadInput for a file that cannot be used, or that speaks of none of the records."""
    fabric = read_topology(topology)
    placed = site_documents.read_placements(placement)
    worked_on = site_documents.read_maintenance(maintenance)
    given = Given(fabric, [each.document for each in placed], [each.document for each in worked_on])
    batches = []
    for name in names:
        for block in ping_files.read(name):
            given.dead += block.dead
            given.beats += block.beats
            if block.batch.num_rows:
                wanted = [n for n in block.batch.schema.names if n in USED]
                batches.append(block.batch.select(wanted))
    beats, given.bad_beats = site_documents.read_heartbeats(heartbeats)
    if batches:
        given.records = concat(batches)
        batches.clear()
        known = document_match.known_of(given.records, fabric)
        document_match.check_topology(fabric, topology, known)
        document_match.check_heartbeats(beats, heartbeats, known)
        given.notes += document_match.check_placements(placed, known, hosts_known=known.complete)
        given.notes += document_match.check_maintenance(worked_on, known)
    given.beats = sorted([*given.beats, *beats], key=lambda beat: beat.time)
    return given
