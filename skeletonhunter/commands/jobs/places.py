"""Where jobs are kept: the controller's REST API, or the topics where no controller runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from controller.sources.declared import DeclaredJob, Saying
    from controller.tasks.events import AnyEvent
    from controller.tasks.tasks import Tasks
    from schemas.documents.placement import Placement
    from schemas.documents.tasks.job import Job

Status = dict[str, Any]  # as GET /api/v1/jobs/{job}


class Place(Protocol):
    """Where jobs are kept."""

    def declare(self, job: DeclaredJob) -> int:
        """Make the job so; the number of events."""

    def statuses(self) -> list[Status]:
        """All jobs."""

    def status(self, job: str) -> Status:
        """One job; raises BadInput."""

    def end(self, job: str) -> Status:
        """End a job; raises BadInput."""


def place_of(kafka: bool) -> Place:
    """The topics, or the controller of the settings."""
    return _Topics() if kafka else _Controller()


class _Controller:
    """The controller's REST API."""

    def __init__(self) -> None:
        from skeletonhunter import settings
        from skeletonhunter.controller_client import ControllerClient

        self._client = ControllerClient.of(settings.read())

    def declare(self, job: DeclaredJob) -> int:
        return int(self._client.put(job, "jobs", job.job)["events"])

    def statuses(self) -> list[Status]:
        found: list[Status] = self._client.get("jobs")
        return found

    def status(self, job: str) -> Status:
        found: Status = self._client.get("jobs", job)
        return found

    def end(self, job: str) -> Status:
        found: Status = self._client.delete("jobs", job)
        return found


class _Topics:
    """skh.jobs and skh.placement as they are now, and what is published on them."""

    def __init__(self) -> None:
        from controller.tasks.tasks import Documents, Tasks
        from schemas import topics
        from schemas.documents.placement import Placement
        from schemas.documents.tasks.job import Job
        from schemas.documents.topology import Topology
        from skeletonhunter.commands.inventory import topic_documents

        self._kafka = topic_documents.kafka()
        documents = topic_documents.known(self._kafka, {topics.JOBS.name: Job})
        boxes = {each.node_id: each for each in documents if isinstance(each, Placement)}
        jobs = {each.job: each for each in documents if isinstance(each, Job)}
        self._topologies = {e.fabric: e for e in documents if isinstance(e, Topology)}
        self._tasks: Tasks = Tasks.restored(Documents([*boxes.values()], [*jobs.values()], []))

    def declare(self, job: DeclaredJob) -> int:
        from controller.sources import declared

        topology = self._topologies.get(job.fabric)
        hosts = {each.node_sn: each.rnics for each in topology.hosts} if topology else {}
        try:
            return self._apply(declared.events(job, self._tasks, hosts, self._saying()))
        except ValueError as why:
            raise BadInput(str(why)) from why

    def statuses(self) -> list[Status]:
        return [self.status(name) for name in sorted(self._tasks.jobs)]

    def status(self, job: str) -> Status:
        if job not in self._tasks.jobs:
            known = ", ".join(sorted(self._tasks.jobs)[:12]) or "none"
            raise BadInput(f"no job {job!r} is known; there is: {known}")
        members = self._tasks.members(job)
        boxes = [
            {"node_id": each.node_id, "node_sn": each.node_sn, "state": each.state}
            for each in members
        ]
        known_job = msgspec.to_builtins(self._tasks.jobs[job])
        return {"job": known_job, "containers": boxes, "lists": {}}

    def end(self, job: str) -> Status:
        from controller.sources import declared

        self.status(job)
        self._apply(declared.end(job, self._tasks, self._saying()))
        return self.status(job)

    def _saying(self) -> Saying:
        from controller.sources.declared import Saying

        return Saying("file", time.time_ns() // 1_000_000)

    def _apply(self, events: Iterable[AnyEvent]) -> int:
        """Publish what the events change; the number of events."""
        from schemas import topics
        from skeletonhunter.commands.inventory import topic_documents

        count = 0
        boxes: dict[str, Placement] = {}
        jobs: dict[str, Job] = {}
        for event in events:
            count += 1
            changes = self._tasks.apply(event)
            boxes |= {each.after.node_id: each.after for each in changes.containers}
            jobs |= {each.job: each for each in changes.jobs}
        for topic, documents in ((topics.JOBS, jobs), (topics.PLACEMENT, boxes)):
            keyed = [topic_documents.Keyed(name, each) for name, each in documents.items()]
            if keyed:
                topic_documents.publish(self._kafka, topic, keyed)
        return count
