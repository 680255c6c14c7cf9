"""Samples of throughput and, where there is one, a topology -> one skeleton per job."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from controller.skeleton import series
from controller.skeleton.inference import Skeleton as Inferred
from controller.skeleton.inference import infer, infer_jobs
from controller.skeleton.series import Rnics, Throughput
from schemas.documents.tasks.skeleton import Position, Skeleton
from schemas.documents.times import rfc3339
from schemas.documents.topology import Topology
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

_NS = 1_000_000_000


class Job(NamedTuple):
    """A job's skeleton, with the throughput and the names that its indices point into."""

    document: Skeleton
    found: Inferred
    given: Throughput
    names: Rnics


def guessed_rails(samples: pd.DataFrame, topology: Topology | None) -> int:
    """How many rnics no topology knows: their rail is the rank of their address [count]."""
    hosts = topology.hosts if topology is not None else []
    known = {rnic.real_ip for host in hosts for rnic in host.rnics}
    return len(set(samples["real_ip"].astype(str)) - known)


def infer_all(
    fabric: str, samples: pd.DataFrame, topology: Topology | None, job: str | None
) -> list[Job]:
    """Skeletons of all jobs, or of one; raises BadInput.

    With jobs in the topology each is inferred by itself, from the rnics of its containers. Else
    rnics that share a rhythm are a job; its name is then unknown.
    """
    hosts = topology.hosts if topology is not None else []
    rails = {rnic.real_ip: rnic.rail for host in hosts for rnic in host.rnics}
    given, names = series.arrange(samples, rails)
    rows = {ip: row for row, ip in enumerate(names.real_ip)}
    jobs: defaultdict[str, set[int]] = defaultdict(set)
    for container in topology.containers if topology else []:
        own = {rows[end.real_ip] for end in container.endpoints if end.real_ip in rows}
        if own and container.job:
            jobs[container.job] |= own
    if job is not None:
        if job not in jobs:
            known = ", ".join(sorted(jobs)) or "none: give --topology with containers"
            raise BadInput(f"--job {job}: no rnic of it has throughput; jobs: {known}")
        jobs = defaultdict(set, {job: jobs[job]})
    if not jobs:
        return [_job(fabric, "", found, given, names) for found in infer_jobs(given)]
    out = []
    for name, members in sorted(jobs.items()):
        chosen = sorted(members)
        named = names._replace(
            node_sn=[names.node_sn[row] for row in chosen],
            real_ip=[names.real_ip[row] for row in chosen],
        )
        part = given.rows(np.array(chosen))
        out.append(_job(fabric, name, infer(part), part, named))
    return out


def _job(fabric: str, name: str, found: Inferred, given: Throughput, names: Rnics) -> Job:
    def known(value: int) -> int | None:
        return int(value) if value >= 0 else None

    seconds = given.tx.shape[1]
    columns = zip(
        found.rnic, found.cluster, found.stage, found.expert, found.exception, strict=True
    )
    document = Skeleton(
        fabric=fabric, job=name, declined=found.declined or None,
        start=rfc3339(names.start_ns), end=rfc3339(names.start_ns + seconds * _NS),
        period_s=found.period_s, dp=found.dp, tp_pp=found.tp_pp, stages=found.stages,
        unresolved=found.unresolved, later_s=[round(each, 3) for each in found.later_s],
        confidence=round(found.confidence, 4), fidelity=round(found.fidelity, 4),
        targets=round(2 * len(found.pairs) / max(1, len(found.rnic)), 2),
        rnics=[
            Position(node_sn=names.node_sn[row], real_ip=names.real_ip[row], cluster=known(cluster),
                     stage=known(stage), expert=known(expert), exception=bool(exception))
            for row, cluster, stage, expert, exception in columns
        ],
        pairs=[(names.real_ip[a], names.real_ip[b]) for a, b in found.pairs.tolist()],
    )  # fmt: skip
    return Job(document, found, given, names)
