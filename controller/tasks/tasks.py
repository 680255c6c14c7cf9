"""Events -> jobs, containers and planned work, and the documents in which they are published. Pure.

What is published is all that is known: ``Tasks.restored`` of the documents in the compacted topics
(skh.placement, skh.jobs, skh.maintenance) is the state that published them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from controller.tasks import claims, jobs
from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerDraining,
    ContainerGone,
    ContainerPlaced,
    ContainerReady,
    ContainerReplaced,
    Event,
    JobEnded,
    JobGrown,
    JobShrunk,
    JobSubmitted,
    MaintenanceEnded,
    MaintenancePlanned,
)
from schemas.documents.maintenance import Maintenance, Plan
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import Claim, State, Statement
from schemas.documents.tasks.job import Job, Size, Submission
from schemas.documents.times import milliseconds_of, rfc3339_of_ms
from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class TaskParameters:
    """remembered_s  a container that is gone, a job or work that is over is forgotten after so
    long"""

    remembered_s: float = parameter(
        86_400.0, unit="s", source="chosen: repeated and late events come within hours"
    )


DEFAULT: Final = TaskParameters()

WorkKey = tuple[str, str, str]


class Change(NamedTuple):
    """A container's document before (None: it was unknown) and after an event."""

    before: Placement | None
    after: Placement


@dataclass(slots=True)
class Changes:
    """The documents that an event has changed, to be published."""

    containers: list[Change] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    maintenance: list[Maintenance] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.containers or self.jobs or self.maintenance)


class Documents(NamedTuple):
    """The content of the compacted topics."""

    placements: list[Placement]
    jobs: list[Job]
    maintenance: list[Maintenance]


class Forgotten(NamedTuple):
    """Keys that leave the compacted topics: node_ids, jobs, and keys of planned work."""

    containers: list[str]
    jobs: list[str]
    maintenance: list[WorkKey]


class Tasks:
    """The state. It depends on the set of applied events alone: order and repetition are harmless.

    placements   by node_id
    jobs         by name
    maintenance  by (fabric, component, from)
    """

    def __init__(self) -> None:
        self.placements: dict[str, Placement] = {}
        self.jobs: dict[str, Job] = {}
        self.maintenance: dict[WorkKey, Maintenance] = {}
        self._claims: dict[str, tuple[Claim, ...]] = {}
        self._members: defaultdict[str, set[str]] = defaultdict(set)

    @classmethod
    def restored(cls, documents: Documents) -> Tasks:
        """The state that published these documents, of each key the newest.

        A placement without claims, written by somebody else, counts as a file's word.
        """
        tasks = cls()
        tasks.jobs = {each.job: each for each in documents.jobs}
        for each in documents.maintenance:
            tasks.maintenance[_work_key(each)] = each
        for document in documents.placements:
            tasks._remember(document.node_id, tuple(document.claims) or _of_file(document))
        return tasks

    def documents(self) -> Documents:
        """Everything that is known, as it is published; containers in order of their creation."""
        return Documents(
            sorted(self.placements.values(), key=creation), list(self.jobs.values()),
            list(self.maintenance.values()),
        )  # fmt: skip

    def members(self, job: str) -> list[Placement]:
        """Containers of a job that are not gone, by node_id."""
        boxes = (self.placements[node_id] for node_id in sorted(self._members.get(job, ())))
        return [box for box in boxes if box.state != "gone"]

    def apply(self, event: AnyEvent) -> Changes:
        """Take an event in; returns what it changes: nothing for a repeated or outdated one.

        Containers that it changes are in order of their creation, as they are in ``documents``: so
        ping lists are dealt alike after a restart. Costs the claims of the containers that it
        names, and of all of a job's where the job ends.
        """
        changes = Changes()
        time = rfc3339_of_ms(event.time_ms)
        if isinstance(event, JobSubmitted | JobGrown | JobShrunk | JobEnded):
            self._job(event, time, changes)
        elif isinstance(event, ContainerPlaced):
            self._place(event, time, [event.container], changes)
        elif isinstance(event, ContainerReady):
            self._claim(event.node_id, _claim(event, "ready", time, event.node_sn), changes)
        elif isinstance(event, ContainerDraining):
            self._claim(event.node_id, _claim(event, "draining", time), changes)
        elif isinstance(event, ContainerGone):
            self._claim(event.node_id, _claim(event, "gone", time), changes)
        elif isinstance(event, ContainerReplaced):
            self._claim(event.node_id, _claim(event, "gone", time), changes)
            self._place(event, time, [event.by], changes)
        else:
            self._work(event, time, changes)
        changes.containers = _once_each(changes.containers)
        return changes

    def merge(self, document: Placement | Job) -> Changes:
        """Take in a document that another program has published; returns what it changes.

        Nothing for this program's own documents, late ones too: of each claim the newer one counts.
        """
        changes = Changes()
        if isinstance(document, Job):
            names = ("submitted", "size", "ended")
            said = {name: each for name in names if (each := getattr(document, name)) is not None}
            self._state(document.job, said, changes)
        else:
            for claim in document.claims or _of_file(document):
                self._claim(document.node_id, claim, changes)
        changes.containers = _once_each(changes.containers)
        return changes

    def forget(self, now_ms: int, parameters: TaskParameters = DEFAULT) -> Forgotten:
        """Drop what has been over for long; returns the keys, to be deleted from the topics."""
        before = now_ms - round(parameters.remembered_s * 1000)

        def past(time: str) -> bool:
            return milliseconds_of(time) < before

        boxes = [
            node_id
            for node_id, box in self.placements.items()
            if box.state == "gone" and past(box.valid_from)
        ]
        for node_id in boxes:
            self._members[self.placements.pop(node_id).job].discard(node_id)
            del self._claims[node_id]
        over = [
            name
            for name, job in self.jobs.items()
            if job.ended is not None and past(job.ended.valid_from) and not self._members.get(name)
        ]
        for name in over:
            del self.jobs[name]
            self._members.pop(name, None)
        works = [key for key, work in self.maintenance.items() if past(work.until)]
        for key in works:
            del self.maintenance[key]
        return Forgotten(boxes, over, works)

    def _job(
        self, event: JobSubmitted | JobGrown | JobShrunk | JobEnded, time: str, changes: Changes
    ) -> None:
        who = Statement(source=event.source, key=event.key, valid_from=time)
        said: dict[str, Statement] = {}
        if isinstance(event, JobSubmitted):
            said["submitted"] = Submission(
                source=who.source, key=who.key, valid_from=time, fabric=event.fabric,
                tenant=event.tenant, skeleton=event.skeleton,
            )  # fmt: skip
        elif isinstance(event, JobEnded):
            said["ended"] = who
        if not isinstance(event, JobEnded) and event.size:
            said["size"] = Size(
                source=who.source, key=who.key, valid_from=time, containers=event.size
            )
        self._state(event.job, said, changes)
        if isinstance(event, JobEnded):
            return
        if isinstance(event, JobShrunk):
            for node_id in event.containers:
                self._claim(node_id, _claim(event, "draining", time), changes)
        else:
            own = event if isinstance(event, JobSubmitted) else None
            for box in event.containers:
                self._place(event, time, [_of_job(box, event.job, own)], changes)

    def _state(self, name: str, said: dict[str, Statement], changes: Changes) -> None:
        """Newer statements about a job; where it has ended, its containers drain."""
        old = self.jobs.get(name, Job(job=name))
        job = jobs.with_statements(old, **said)
        if job is old:
            return
        self.jobs[name] = job
        changes.jobs.append(job)
        if job.ended is not old.ended:
            for node_id in sorted(self._members.get(name, ())):
                self._refresh(node_id, changes)

    def _place(self, event: Event, time: str, boxes: Iterable[Box], changes: Changes) -> None:
        for box in boxes:
            claim = Claim(
                source=event.source, state="starting", valid_from=time, key=event.key,
                fabric=box.fabric, node_sn=box.node_sn, job=box.job, tenant=box.tenant,
                endpoints=box.endpoints,
            )  # fmt: skip
            self._claim(box.node_id, claim, changes)

    def _claim(self, node_id: str, claim: Claim, changes: Changes) -> None:
        old = self._claims.get(node_id, ())
        new = claims.added(old, claim)
        if new is not old:
            self._claims[node_id] = new
            self._refresh(node_id, changes)

    def _refresh(self, node_id: str, changes: Changes) -> None:
        """Decide a container's state again."""
        before = self.placements.get(node_id)
        self._remember(node_id, self._claims[node_id])
        after = self.placements[node_id]
        if after != before:
            changes.containers.append(Change(before, after))

    def _remember(self, node_id: str, known: tuple[Claim, ...]) -> None:
        before = self.placements.get(node_id)
        job = claims.job_of(known)
        self._claims[node_id] = known
        self.placements[node_id] = claims.placement(node_id, known, self._ends(job))
        if before is not None and before.job != job:
            self._members[before.job].discard(node_id)
        if job:
            self._members[job].add(node_id)

    def _ends(self, job: str) -> list[Claim]:
        """The end of a job, as a claim on each of its containers."""
        known = self.jobs.get(job)
        if known is None or known.ended is None:
            return []
        end = known.ended
        return [
            Claim(source=end.source, state="draining", valid_from=end.valid_from, key=end.key)
        ]  # fmt: skip

    def _work(
        self, event: MaintenancePlanned | MaintenanceEnded, time: str, changes: Changes
    ) -> None:
        start = rfc3339_of_ms(event.start_ms)
        key = (event.fabric, event.component, start)
        old = self.maintenance.get(key)
        if isinstance(event, MaintenancePlanned):
            until = rfc3339_of_ms(event.until_ms)
            new = jobs.planned(
                old,
                Maintenance(
                    component=event.component, start=start, until=until, reason=event.reason,
                    fabric=event.fabric,
                    planned=Plan(
                        source=event.source, key=event.key, valid_from=time, until=until
                    ),
                ),
            )  # fmt: skip
        else:
            by = Statement(source=event.source, key=event.key, valid_from=time)
            new = jobs.ended(old, event.component, start, event.fabric, by)
        if new is not old and new != old:
            self.maintenance[key] = new
            changes.maintenance.append(new)


def creation(box: Placement) -> tuple[int, str]:
    """Sorts containers by when they were first placed, then by name."""
    placed = [each.valid_from for each in box.claims if each.state == "starting"]
    return min(map(milliseconds_of, placed or [box.valid_from])), box.node_id


def _once_each(changes: Iterable[Change]) -> list[Change]:
    """One change of each container, in order of creation: an event may name a container twice."""
    whole: dict[str, Change] = {}
    for change in changes:
        first = whole.get(change.after.node_id, change)
        whole[change.after.node_id] = Change(first.before, change.after)
    changed = (each for each in whole.values() if each.after != each.before)
    return sorted(changed, key=lambda change: creation(change.after))


def _claim(event: Event, state: State, time: str, node_sn: str = "") -> Claim:
    return Claim(
        source=event.source, state=state, valid_from=time, key=event.key, node_sn=node_sn
    )  # fmt: skip


def _of_job(box: Box, job: str, submitted: JobSubmitted | None) -> Box:
    """The container as a member of the job, with what the submission says of all."""
    tenant, fabric = (submitted.tenant, submitted.fabric) if submitted else ("", "")
    return Box(
        node_id=box.node_id, node_sn=box.node_sn, job=job, tenant=box.tenant or tenant,
        fabric=box.fabric or fabric, endpoints=box.endpoints,
    )  # fmt: skip


def _of_file(document: Placement) -> tuple[Claim, ...]:
    """Claims that say the same as a document without any."""
    placed = Claim(
        source="file", state="starting", valid_from=document.valid_from, fabric=document.fabric,
        node_sn=document.node_sn, job=document.job, tenant=document.tenant,
        endpoints=document.endpoints,
    )  # fmt: skip
    if document.state == "starting":
        return (placed,)
    own = Claim(
        source="file", state=document.state, valid_from=document.valid_from,
        node_sn=document.node_sn,
    )  # fmt: skip
    return tuple(sorted([placed, own], key=claims.order))


def _work_key(work: Maintenance) -> WorkKey:
    return work.fabric, work.component, rfc3339_of_ms(milliseconds_of(work.start))
