"""Files that ``diagnose`` is given -> records, heartbeats and documents that belong together."""

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
class Inputs:
    """Everything that was read.

    records             the columns that are judged, of all valid records; None: no valid record
    heartbeats          by time, of the file of heartbeats and of agents' output
    dead_letters        invalid records
    invalid_heartbeats  why lines of the file of heartbeats are invalid, with file and line
    notes               documents that were left out because they are of other fabrics
    """

    topology: Topology | None = None
    placements: list[Placement] = field(default_factory=list)
    maintenance: list[Maintenance] = field(default_factory=list)
    records: pa.RecordBatch | None = None
    heartbeats: list[Heartbeat] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    invalid_heartbeats: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(
    names: Iterable[str],
    *,
    topology: Path | None,
    heartbeats: Path | None,
    placement: Path | None,
    maintenance: Path | None,
) -> Inputs:
    """Read the files; raises BadInput for one that cannot be used or is of other fabrics only."""
    fabric = read_topology(topology)
    placements = site_documents.read_placements(placement)
    windows = site_documents.read_maintenance(maintenance)
    inputs = Inputs(
        fabric, [each.document for each in placements], [each.document for each in windows]
    )
    batches = []
    for name in names:
        for block in ping_files.read(name):
            inputs.dead_letters += block.dead_letters
            inputs.heartbeats += block.heartbeats
            if block.batch.num_rows:
                wanted = [n for n in block.batch.schema.names if n in USED]
                batches.append(block.batch.select(wanted))
    beats, inputs.invalid_heartbeats = site_documents.read_heartbeats(heartbeats)
    if batches:
        inputs.records = concat(batches)
        batches.clear()
        known = document_match.known_of(inputs.records, fabric)
        document_match.check_topology(fabric, topology, known)
        document_match.check_heartbeats(beats, heartbeats, known)
        inputs.notes += document_match.check_placements(
            placements, known, hosts_known=known.complete
        )
        inputs.notes += document_match.check_maintenance(windows, known)
    inputs.heartbeats = sorted([*inputs.heartbeats, *beats], key=lambda beat: beat.time)
    return inputs
