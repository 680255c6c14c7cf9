"""Samples of throughput and, where there is one, a topology -> one skeleton per job."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from controller.skeleton import series
from controller.skeleton.inference import Skeleton as Inferred
from controller.skeleton.inference import infer, infer_jobs
from controller.skeleton.series import Rnics, Throughput
from controller.traffic.documents import document
from schemas.documents.tasks.skeleton import Skeleton
from schemas.documents.topology import Topology
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd


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
    made = document(fabric, name, found, names, given.tx.shape[1])
    return Job(made, found, given, names)
