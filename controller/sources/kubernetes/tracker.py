"""Pods as the API server shows them -> events about containers and jobs. No I/O, no clock.

A pod is a container from when it belongs to a job, has a host and has endpoints. It drains when it
is to be deleted or evicted, and is gone when it ends or is deleted; also when a list that is read
after a lost connection, or after a restart, does not have it any more. That a pod is Ready says
nothing about probes: it is the registration of an agent that makes the container ready. The source
does so only for a pod on the host's own network, and for one whose annotation says that it is Ready
when the agent in it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from controller.sources.kubernetes import job_names
from controller.sources.kubernetes.api_objects import Pod
from controller.sources.kubernetes.parameters import DEFAULT, PodParameters
from controller.sources.kubernetes.pod_endpoints import NoEndpoints, endpoints, on_host
from controller.sources.whole_hosts import Hosts
from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerDraining,
    ContainerGone,
    ContainerPlaced,
    ContainerReady,
    JobEnded,
    JobGrown,
    JobSubmitted,
)
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from schemas.documents.times import milliseconds_of

#: Of keys of this source's events; other senders of events may use the source's name too.
_KEY: Final = "pod/"
#: ``pod``: the pod has an agent of its own, without which it is not Ready.
READY: Final = "skeletonhunter.io/ready"


@dataclass(frozen=True, slots=True)
class PodOptions:
    """fabric  that all pods are in
    labels  that name a pod's job, the first that it has
    rails   names of networks in order of rails
    """

    fabric: str = DEFAULT_FABRIC
    labels: tuple[str, ...] = job_names.LABELS
    rails: tuple[str, ...] = ()


@dataclass(slots=True)
class _Container:
    """A pod that has been placed. created_ms is 0 for one of an earlier run of the controller."""

    node_id: str
    created_ms: int = 0
    reported: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Job:
    """A job that has been submitted. sized_ms: creation of the pod that said its size."""

    size: int = 0
    sized_ms: int = 0
    empty_since_ms: int | None = None


class PodTracker:
    """All pods of one source. ``hosts`` is called for the rnics of the fabric's hosts as of now.

    left_out  by namespace/name, why a pod that has a host is no container: what to correct
    """

    def __init__(
        self,
        hosts: Callable[[], Hosts],
        options: PodOptions = PodOptions(),
        parameters: PodParameters = DEFAULT,
    ) -> None:
        self.left_out: dict[str, str] = {}
        self._hosts, self._options, self._parameters = hosts, options, parameters
        self._pods: dict[str, Pod] = {}
        self._containers: dict[str, _Container] = {}
        self._jobs: dict[str, _Job] = {}
        self._members: defaultdict[str, set[str]] = defaultdict(set)

    def restore(self, placements: Iterable[Placement], jobs: Iterable[Job], now_ms: int) -> None:
        """Begin with what this source has reported before: some of it may be gone."""
        for box in placements:
            for claim in box.claims:
                if box.state == "gone" or box.fabric != self._options.fabric:
                    continue
                if claim.state == "starting" and _ours(claim.source, claim.key):
                    self._containers[claim.key.removeprefix(_KEY)] = _Container(box.node_id)
        for job in jobs:
            if job.submitted is None or not _ours(job.submitted.source, job.submitted.key):
                continue
            submitted_ms = milliseconds_of(job.submitted.valid_from)
            over = job.ended is not None and milliseconds_of(job.ended.valid_from) >= submitted_ms
            if not over and job.submitted.fabric == self._options.fabric:
                size = job.size.containers if job.size else 0
                self._jobs[job.job] = _Job(size, submitted_ms, now_ms)

    @property
    def containers(self) -> int:
        """Containers that are not gone [count]."""
        return len(self._containers)

    def listed(self, pods: Iterable[Pod], now_ms: int) -> list[AnyEvent]:
        """All pods that there are; the events of what differs from what is known."""
        found = {pod.metadata.uid: pod for pod in pods}
        events: list[AnyEvent] = []
        for uid in [each for each in {**self._pods, **self._containers} if each not in found]:
            events += self._ended(uid, now_ms)
        for pod in sorted(found.values(), key=lambda each: (each.created_ms, each.name)):
            events += self.changed(pod, now_ms)
        return events

    def changed(self, pod: Pod, now_ms: int, *, deleted: bool = False) -> list[AnyEvent]:
        """A pod is new or has changed; or it has been deleted."""
        uid = pod.metadata.uid
        if deleted or pod.over:
            over_ms = now_ms if deleted or pod.over_ms is None else pod.over_ms
            return self._ended(uid, over_ms)
        job = job_names.job_of(pod, self._options.labels)
        if not job and uid not in self._pods:
            return []  # of no interest, as most pods of a cluster
        self._pods[uid] = pod
        if job:
            self._members[job].add(uid)
            if job in self._jobs:
                self._jobs[job].empty_since_ms = None
        return [*self._placed(pod), *self._progress(pod)]

    def looked(self, now_ms: int) -> list[AnyEvent]:
        """Time has passed: pods whose hosts are known now, jobs that have had no pod for long."""
        events: list[AnyEvent] = []
        for uid in [each for each in self._pods if each not in self._containers]:
            events += self._placed(self._pods[uid])
            events += self._progress(self._pods[uid])
        for name, job in list(self._jobs.items()):
            since_ms = job.empty_since_ms
            if since_ms is not None and now_ms - since_ms >= 1000 * self._parameters.ended_after_s:
                del self._jobs[name]
                events.append(
                    JobEnded(time_ms=since_ms, source="kubernetes", key=f"{_KEY}none", job=name)
                )
        return events

    def _placed(self, pod: Pod) -> list[AnyEvent]:
        """The container's placement, as soon as all of it is known."""
        uid, job = pod.metadata.uid, job_names.job_of(pod, self._options.labels)
        known = self._containers.get(uid)
        if "placed" in (known.reported if known else ()) or not pod.spec.node_name or not job:
            return []
        if known is None and pod.draining_ms is not None:
            return []
        self.left_out.pop(pod.name, None)
        try:
            rnics = self._hosts().get(pod.spec.node_name, ())
            own = endpoints(pod, rnics, self._options.rails)
        except NoEndpoints as why:
            if why.wrong:
                self.left_out[pod.name] = str(why)
            return []
        self._containers[uid] = _Container(job_names.node_id_of(pod), pod.created_ms, {"placed"})
        box = Box(
            node_id=job_names.node_id_of(pod), node_sn=pod.spec.node_name, job=job,
            tenant=pod.metadata.namespace, fabric=self._options.fabric, endpoints=own,
        )  # fmt: skip
        placed = ContainerPlaced(
            time_ms=pod.created_ms, source="kubernetes", key=_KEY + uid, container=box
        )
        return [*self._job(pod, job), placed]

    def _job(self, pod: Pod, name: str) -> list[AnyEvent]:
        """The job's submission with its first container; its size, where a later pod says another.

        The submission has the time of the pod's creation, so it is later than any end of the job.
        """
        size, created_ms = job_names.size_of(pod, self._parameters.most_containers), pod.created_ms
        job, key = self._jobs.get(name), _KEY + pod.metadata.uid
        if job is None:
            self._jobs[name] = _Job(size, created_ms)
            return [
                JobSubmitted(
                    time_ms=created_ms, source="kubernetes", key=key, job=name,
                    tenant=pod.metadata.namespace, fabric=self._options.fabric, size=size,
                    skeleton=pod.annotation(job_names.SKELETON) != "false",
                )
            ]  # fmt: skip
        if not size or size == job.size or created_ms < job.sized_ms:
            return []
        job.size, job.sized_ms = size, created_ms
        return [JobGrown(time_ms=created_ms, source="kubernetes", key=key, job=name, size=size)]

    def _progress(self, pod: Pod) -> list[AnyEvent]:
        """What happens to a placed container, each once."""
        known = self._containers.get(pod.metadata.uid)
        if known is None:
            return []
        key, node_id = _KEY + pod.metadata.uid, known.node_id
        events: list[AnyEvent] = []
        if (ready_ms := _ready_ms(pod)) is not None and "ready" not in known.reported:
            known.reported.add("ready")
            events.append(
                ContainerReady(
                    time_ms=max(ready_ms, pod.created_ms), source="kubernetes", key=key,
                    node_id=node_id, node_sn=pod.spec.node_name,
                )
            )  # fmt: skip
        if (since_ms := pod.draining_ms) is not None and "draining" not in known.reported:
            known.reported.add("draining")
            events.append(
                ContainerDraining(
                    time_ms=max(since_ms, pod.created_ms), source="kubernetes", key=key,
                    node_id=node_id,
                )
            )  # fmt: skip
        return events

    def _ended(self, uid: str, over_ms: int) -> list[AnyEvent]:
        """A pod is not there any more, or has ended."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self.left_out.pop(pod.name, None)
            job = job_names.job_of(pod, self._options.labels)
            self._members[job].discard(uid)
            if not self._members[job]:
                del self._members[job]
                if job in self._jobs:
                    self._jobs[job].empty_since_ms = over_ms
        known = self._containers.pop(uid, None)
        if known is None:
            return []
        time_ms = max(over_ms, known.created_ms)
        return [
            ContainerGone(
                time_ms=time_ms, source="kubernetes", key=_KEY + uid, node_id=known.node_id
            )
        ]  # fmt: skip


def _ready_ms(pod: Pod) -> int | None:
    """Since when the container may be probed as far as the pod shows it; None: it does not."""
    if pod.annotation(READY) == "pod":
        return pod.ready_ms
    if pod.status.phase == "Running" and on_host(pod):
        return milliseconds_of(pod.status.start_time) if pod.status.start_time else pod.created_ms
    return None


def _ours(source: str, key: str) -> bool:
    return source == "kubernetes" and key.startswith(_KEY)
