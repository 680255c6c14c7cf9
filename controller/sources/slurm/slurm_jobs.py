"""What Slurm says of its jobs -> declared jobs. Pure.

``squeue --json`` is preferred: in the lines of ``scontrol show job -o`` a job's name, which its
user chooses, can look like further fields; such lines are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Any, Final

import msgspec

from controller.sources.declared import DeclaredJob
from controller.sources.slurm import hostlist
from controller.sources.whole_hosts import Hosts
from schemas.documents.decoding import DocumentError, decode

#: States in which a job has its nodes and may use them.
_RUNNING: Final = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING"})
_FIELD: Final = re.compile(r"(?:^|\s)(JobId|Account|JobState|StartTime|NodeList)=(\S*)")
_NEEDED: Final = ("JobId", "JobState", "NodeList")
_PLACEHOLDERS: Final = ("(null)", "N/A", "Unknown", "None")
_SHOWN: Final = 60  # characters of a line in a message


class SlurmError(ValueError):
    """The output cannot be used; one line: where, what, what to do."""


class SlurmJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that has its nodes.

    job_id   unique in the cluster until Slurm begins with 1 again
    nodes    host list
    account  becomes the tenant; slurmctld gives its hooks "(null)" for a job without one
    start_s  when it began [s since the epoch]; 0: not known
    """

    job_id: int
    nodes: str = ""
    account: str = ""
    cluster: str = ""
    start_s: int = 0

    @property
    def name(self) -> str:
        """Of the job: slurm-ID, or slurm-CLUSTER-ID."""
        return f"{prefix(self.cluster)}{self.job_id}"

    @property
    def start_ms(self) -> int | None:
        """[ms since the epoch]"""
        return 1000 * self.start_s if self.start_s > 0 else None

    def declared(self, fabric: str, hosts: Hosts) -> DeclaredJob | None:
        """The job on those of its hosts that the fabric has; None without any.

        Raises HostListError. Hosts without rnics, as for logins and CPU jobs, are in no topology.
        """
        own = [each for each in hostlist.expand(self.nodes) if each in hosts]
        if not own:
            return None
        tenant = "" if self.account in _PLACEHOLDERS else self.account
        return DeclaredJob(job=self.name, fabric=fabric, tenant=tenant, hosts=own)


def prefix(cluster: str) -> str:
    """What the names of all jobs of the cluster begin with, before their number."""
    return f"slurm-{cluster}-" if cluster else "slurm-"


def is_of(job: str, cluster: str) -> bool:
    """Whether a job of that name is one of the cluster's."""
    begin = prefix(cluster)
    return job.startswith(begin) and job.removeprefix(begin).isdecimal()


def parse(text: str, zone: tzinfo, cluster: str = "") -> list[SlurmJob]:
    """Running jobs of ``squeue --json`` or of ``scontrol show job -o``; raises SlurmError.

    zone  of the times of scontrol, which have none: that of the machine where it ran
    """
    if text.lstrip().startswith("{"):
        return _squeue(text, cluster)
    return list(_scontrol(text, zone, cluster))


class _Number(msgspec.Struct, frozen=True):
    """A number since Slurm 22.05; before, a plain one."""

    set: bool = False
    number: int = 0


class _Queued(msgspec.Struct, frozen=True):
    job_id: int
    job_state: str | list[str]
    nodes: str = ""
    account: str = ""
    start_time: int | _Number = 0


class _Queue(msgspec.Struct, frozen=True):
    jobs: list[_Queued]


def _squeue(text: str, cluster: str) -> list[SlurmJob]:
    try:
        queue = decode(text.encode(), _Queue)
    except DocumentError as why:
        raise SlurmError(f"squeue: {why}; give the whole output of squeue --json") from why
    found = []
    for each in queue.jobs:
        states = [each.job_state] if isinstance(each.job_state, str) else each.job_state
        if "COMPLETING" in states or not _RUNNING.intersection(states):
            continue
        start = each.start_time
        start_s = start if isinstance(start, int) else start.number if start.set else 0
        found.append(
            SlurmJob(
                job_id=each.job_id, nodes=each.nodes, account=each.account, cluster=cluster,
                start_s=start_s,
            )
        )  # fmt: skip
    return found


def _scontrol(text: str, zone: tzinfo, cluster: str) -> Iterator[SlurmJob]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("No jobs in the system"):
            continue
        where = f"scontrol, line {number}"
        pairs = _FIELD.findall(line)
        fields = {name: "" if value in _PLACEHOLDERS else value for name, value in pairs}
        if lacking := [name for name in _NEEDED if name not in fields]:
            raise SlurmError(
                f"{where}: {line[:_SHOWN]!r} has no {lacking[0]}; give the output of "
                "scontrol show job -o, or of squeue --json"
            )
        twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        if twice:
            raise SlurmError(
                f"{where}: {twice[0]} appears twice, as in a job's name; use squeue --json"
            )
        if fields["JobState"] not in _RUNNING:
            continue
        yield SlurmJob(
            job_id=_number(fields["JobId"], where), nodes=fields["NodeList"],
            account=fields.get("Account", ""), cluster=cluster,
            start_s=_start_s(fields.get("StartTime", ""), zone, where),
        )  # fmt: skip


def _number(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise SlurmError(f"{where}: JobId {text[:_SHOWN]!r} is no number")
    return int(text)


def _start_s(text: str, zone: tzinfo, where: str) -> int:
    """Of local time, or of seconds (SLURM_TIME_FORMAT=%s); 0 where it is not said."""
    if not text or (text.isascii() and text.isdigit()):
        return int(text or 0)
    try:
        moment: Any = datetime.fromisoformat(text)
    except ValueError:
        raise SlurmError(f"{where}: StartTime {text[:_SHOWN]!r} is no time") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp())
