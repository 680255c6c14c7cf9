"""A job as it is declared to be -> the events that make it so. Pure.

A declaration is whole: containers that it does not name leave the job. Declared again, it changes
nothing. Only containers of the same source leave; those that another source has placed stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from controller.sources import whole_hosts
from controller.sources.slurm import hostlist
from controller.sources.whole_hosts import Hosts
from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerGone,
    ContainerReady,
    JobEnded,
    JobGrown,
    JobShrunk,
    JobSubmitted,
)
from controller.tasks.tasks import Tasks
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import Source
from schemas.documents.tasks.job import Job
from schemas.documents.times import milliseconds_of

_LIVING: Final = ("starting", "ready")


class DeclaredJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job with all of its containers.

    containers  with endpoints of their own
    hosts       that the job has whole and uses with their own addresses; host lists as Slurm's
    size        containers when the job is complete; 0: those that are declared
    skeleton    False where its skeleton must not be inferred
    """

    job: str
    fabric: str = DEFAULT_FABRIC
    tenant: str = ""
    size: int = 0
    skeleton: bool = True
    containers: list[Box] = []
    hosts: list[str] = []

    def __post_init__(self) -> None:
        if not self.job or not self.fabric:
            raise ValueError("job: the name of job or fabric is empty")
        if self.size < 0:
            raise ValueError(f"job {self.job}: size {self.size} is negative")


class Saying(NamedTuple):
    """Who declares, and when.

    start_ms  when the job began, where that is known; else it begins now
    """

    source: Source
    now_ms: int
    start_ms: int | None = None
    key: str = ""


def events(wanted: DeclaredJob, tasks: Tasks, hosts: Hosts, by: Saying) -> list[AnyEvent]:
    """What makes the job as it is declared; nothing where it is so already.

    Nothing, too, for a run that has ended since it began: its beginning is reported late. Raises
    ValueError for a host that is not in ``hosts``, and for a container that is named twice.
    """
    boxes = _boxes(wanted, hosts)
    job = tasks.jobs.get(wanted.job)
    running = job is not None and job.submitted is not None and not is_over(job)
    if job is not None and not running and _has_ended_since(job, by.start_ms):
        return []
    known = {each.node_id: each for each in tasks.members(wanted.job) if _by(each, by.source)}
    new = [box for name, box in boxes.items() if not running or not _as_is(known.get(name), box)]
    placed = (tasks.placements.get(box.node_id) for box in new)
    before = [each for each in placed if each is not None and _by(each, by.source)]
    left = [each for name, each in known.items() if name not in boxes]
    over = [each for each in before if each.state != "gone"]
    over += [each for each in left if whole_hosts.is_whole(each)]
    shrunk = [
        each.node_id for each in left if each.state in _LIVING and not whole_hosts.is_whole(each)
    ]

    # What ends comes after all that was said of it, and what begins after that: so it is a new life
    said_ms = _said_ms([job] if job and not running else [], [*before, *left])
    end_ms = max(by.now_ms, said_ms + 1)
    start_ms = by.now_ms if running or by.start_ms is None else min(by.start_ms, by.now_ms)
    start_ms = max(start_ms, end_ms + 1 if over else said_ms + 1)
    found: list[AnyEvent] = [_gone(each, by, end_ms) for each in over]
    if shrunk:
        found.append(
            JobShrunk(
                time_ms=end_ms, job=wanted.job, containers=shrunk, source=by.source, key=by.key
            )
        )
    size = wanted.size or len(boxes)
    if not running or job is None or not _submitted_so(job, wanted):
        submitted = JobSubmitted(
            time_ms=start_ms, job=wanted.job, size=size, tenant=wanted.tenant,
            fabric=wanted.fabric, skeleton=wanted.skeleton, containers=new, source=by.source,
            key=by.key,
        )  # fmt: skip
        found.append(submitted)
    elif new or (size and size != (job.size.containers if job.size else 0)):
        grown = JobGrown(
            time_ms=start_ms, job=wanted.job, containers=new, size=size, source=by.source,
            key=by.key,
        )  # fmt: skip
        found.append(grown)
    return [*found, *_ready(new, by, start_ms)]


def end(job: str, tasks: Tasks, by: Saying) -> list[AnyEvent]:
    """The end of a job; containers that stand for whole hosts are gone with it."""
    members = tasks.members(job)
    time_ms = max(by.now_ms, _said_ms([], members))
    known = tasks.jobs.get(job)
    found: list[AnyEvent] = []
    if known is None or not is_over(known):
        found.append(JobEnded(time_ms=time_ms, source=by.source, key=by.key, job=job))
    return [*found, *(_gone(each, by, time_ms) for each in members if whole_hosts.is_whole(each))]


def is_over(job: Job) -> bool:
    """Whether the job has ended since it was submitted."""
    if job.ended is None:
        return False
    if job.submitted is None:
        return True
    return milliseconds_of(job.ended.valid_from) >= milliseconds_of(job.submitted.valid_from)


def _has_ended_since(job: Job, start_ms: int | None) -> bool:
    if job.ended is None or start_ms is None:
        return False
    return start_ms <= milliseconds_of(job.ended.valid_from)


def _boxes(wanted: DeclaredJob, hosts: Hosts) -> dict[str, Box]:
    found: dict[str, Box] = {}
    whole = (
        whole_hosts.box(wanted.job, node_sn, hosts, tenant=wanted.tenant, fabric=wanted.fabric)
        for each in wanted.hosts
        for node_sn in hostlist.expand(each)
    )
    own = (
        Box(
            node_id=box.node_id, node_sn=box.node_sn, job=wanted.job,
            tenant=box.tenant or wanted.tenant, fabric=box.fabric or wanted.fabric,
            endpoints=box.endpoints,
        )
        for box in wanted.containers
    )  # fmt: skip
    for box in (*own, *whole):
        if box.node_id in found:
            raise ValueError(f"job {wanted.job}: container {box.node_id!r} is named twice")
        found[box.node_id] = box
    return found


def _ready(boxes: Iterable[Box], by: Saying, time_ms: int) -> Iterator[ContainerReady]:
    for box in boxes:
        if whole_hosts.is_whole(box):
            yield ContainerReady(
                time_ms=time_ms, source=by.source, key=by.key, node_id=box.node_id,
                node_sn=box.node_sn,
            )  # fmt: skip


def _gone(box: Placement, by: Saying, time_ms: int) -> ContainerGone:
    return ContainerGone(time_ms=time_ms, source=by.source, key=by.key, node_id=box.node_id)


def _as_is(known: Placement | None, box: Box) -> bool:
    """Whether the container is as it is declared, and lives."""
    return (
        known is not None
        and known.state in _LIVING
        and (known.node_sn, known.tenant, known.fabric) == (box.node_sn, box.tenant, box.fabric)
        and known.endpoints == box.endpoints
    )


def _submitted_so(job: Job, wanted: DeclaredJob) -> bool:
    said = job.submitted
    return said is not None and (said.fabric, said.tenant, said.skeleton) == (
        wanted.fabric, wanted.tenant, wanted.skeleton,
    )  # fmt: skip


def _by(box: Placement, source: Source) -> bool:
    return any(each.source == source and each.state == "starting" for each in box.claims)


def _said_ms(jobs: Iterable[Job], boxes: Iterable[Placement]) -> int:
    """When something was last said of them [ms since the epoch]; 0 without anything."""
    said = [each for job in jobs for each in (job.submitted, job.ended) if each is not None]
    times = [each.valid_from for each in said]
    times += [claim.valid_from for box in boxes for claim in box.claims]
    return max(map(milliseconds_of, times), default=0)
