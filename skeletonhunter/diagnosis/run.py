"""Inputs of ``diagnose`` -> incidents and what was judged, by replaying records in time order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from localizer.options import Options
from localizer.suppression.log import Suppressed
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Anomaly, Incident
from skeletonhunter.diagnosis.coverage import Coverage
from skeletonhunter.diagnosis.inputs import Inputs
from streams.replay import Replay

_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The outcome of a run.

    incidents   each in its last version, by the time that it was opened
    suppressed  verdicts that maintenance or placement kept from becoming incidents
    coverage    records, seconds, hosts and components that were judged
    anomalies   paths that were bad when something was decided
    """

    incidents: list[Incident]
    suppressed: list[Suppressed]
    coverage: Coverage
    anomalies: list[Anomaly]


def diagnose(
    inputs: Inputs, options: Options, progress: Callable[[str], None] = lambda _: None
) -> Diagnosis:
    """Replay the records second by second, as stream workers would have seen them.

    progress  is called with how far it is, each second
    """
    replay = Replay(topology=inputs.topology, options=options)
    replay.place(inputs.placements)
    replay.maintain(inputs.maintenance)
    newest: dict[str, Incident] = {}
    anomalies: list[Anomaly] = []
    if inputs.records is not None:
        done, total = 0, inputs.records.num_rows
        for now_ns, records, heartbeats in seconds(inputs.records, inputs.heartbeats):
            output = replay.feed(records, heartbeats, now_ns)
            newest.update((each.incident_id, each) for each in output.incidents)
            anomalies += output.anomalies
            done += records.num_rows
            progress(f"judging: {100 * done // total} % of {total:,} records")
        output = replay.finish()
        newest.update((each.incident_id, each) for each in output.incidents)
        anomalies += output.anomalies
    incidents = sorted(newest.values(), key=lambda each: (each.opened_at, each.incident_id))
    return Diagnosis(incidents, replay.suppressed, _coverage(replay, inputs), anomalies)


def seconds(
    records: pa.RecordBatch, heartbeats: list[Heartbeat]
) -> Iterator[tuple[int, pa.RecordBatch, list[Heartbeat]]]:
    """(end [ns], records, heartbeats up to the end) of each second that has records, in order.

    heartbeats  by time; those after the last record are left out
    """
    second = records.column("ping_time").to_numpy() // _SECOND
    order = np.argsort(second, kind="stable")
    second = second[order]
    starts = np.flatnonzero(np.diff(second, prepend=second[0] - 1))
    ends = np.append(starts[1:], len(second))
    sent = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        now_ns = (int(second[start]) + 1) * _SECOND
        first = sent
        while sent < len(heartbeats) and heartbeats[sent].time < now_ns:
            sent += 1
        yield now_ns, records.take(pa.array(order[start:end])), heartbeats[first:sent]


def _coverage(replay: Replay, inputs: Inputs) -> Coverage:
    count, dead = replay.counts, len(inputs.dead_letters)
    records = {
        "read": count.records + dead, "judged": count.judged, "late": count.late,
        "duplicate": count.duplicate, "dead_lettered": count.dead_lettered + dead,
    }  # fmt: skip
    return Coverage(records, replay.judged, inputs.topology, replay.options)
