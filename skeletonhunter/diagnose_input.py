"""Files that ``diagnose`` is given -> records, heartbeats, documents that speak of each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from schemas import codecs
from schemas.heartbeat import Heartbeat
from schemas.maintenance import Maintenance
from schemas.placement import Placement
from schemas.topology import Topology
from skeletonhunter import applicable, files, notices
from skeletonhunter.files import DeadLetter
from skeletonhunter.up import read_topology
from streams.records import USED


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
    placed = notices.read_placements(placement)
    worked_on = notices.read_maintenance(maintenance)
    given = Given(fabric, [each.document for each in placed], [each.document for each in worked_on])
    batches = []
    for name in names:
        for block in files.read(name):
            given.dead += block.dead
            given.beats += block.beats
            if block.batch.num_rows:
                wanted = [n for n in block.batch.schema.names if n in USED]
                batches.append(block.batch.select(wanted))
    beats, given.bad_beats = notices.read_heartbeats(heartbeats)
    if batches:
        given.records = codecs.concat(batches)
        batches.clear()
        known = applicable.known_of(given.records, fabric)
        applicable.check_topology(fabric, topology, known)
        applicable.check_heartbeats(beats, heartbeats, known)
        given.notes += applicable.check_placements(placed, known, hosts_known=known.complete)
        given.notes += applicable.check_maintenance(worked_on, known)
    given.beats = sorted([*given.beats, *beats], key=lambda beat: beat.time)
    return given
