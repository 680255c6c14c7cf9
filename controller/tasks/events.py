"""What happens to jobs, containers and components, as sources report it.

Each event has its own time, a source and an idempotency key. Events may come late, twice and in any
order: state depends on the set of events alone.
"""

from __future__ import annotations

import msgspec

from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.tasks.claims import Source
from schemas.documents.topology import Endpoint


class Box(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a source knows of a container; a field left empty says nothing.

    node_id  unique over all fabrics
    """

    node_id: str
    node_sn: str = ""
    job: str = ""
    tenant: str = ""
    fabric: str = ""
    endpoints: list[Endpoint] = []

    def __post_init__(self) -> None:
        if not self.node_id or "|" in self.node_id:
            raise ValueError(f"container: node_id {self.node_id!r} is empty or holds '|'")


class Event(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="event"
):
    """Something that happened at ``time_ms`` [ms since the epoch].

    key  idempotency key: the same event has the same key, whenever the source repeats it
    """

    time_ms: int
    source: Source
    key: str = ""

    def __post_init__(self) -> None:
        if self.time_ms < 0:
            raise ValueError(f"event: time_ms {self.time_ms} is before 1970")


class JobSubmitted(Event, frozen=True, kw_only=True, tag="job_submitted"):
    """A job was accepted. size: its containers when complete, 0 if unknown; skeleton: may be
    inferred."""

    job: str
    tenant: str = ""
    fabric: str = DEFAULT_FABRIC
    size: int = 0
    skeleton: bool = True
    containers: list[Box] = []


class JobGrown(Event, frozen=True, kw_only=True, tag="job_grown"):
    """Containers join a job; size as in JobSubmitted."""

    job: str
    containers: list[Box] = []
    size: int = 0


class JobShrunk(Event, frozen=True, kw_only=True, tag="job_shrunk"):
    """Containers (node_ids) leave a job that goes on: they drain."""

    job: str
    containers: list[str]
    size: int = 0


class JobEnded(Event, frozen=True, kw_only=True, tag="job_ended"):
    """The job is over: the containers that it has at that time drain."""

    job: str


class ContainerPlaced(Event, frozen=True, kw_only=True, tag="container_placed"):
    """A container was created on a host. ``time_ms`` is when, however often it is reported."""

    container: Box


class ContainerReady(Event, frozen=True, kw_only=True, tag="container_ready"):
    """A container registered: its agent answers probes. node_sn: the host that it runs on."""

    node_id: str
    node_sn: str


class ContainerDraining(Event, frozen=True, kw_only=True, tag="container_draining"):
    """A container is about to end: it must not be probed any more."""

    node_id: str


class ContainerGone(Event, frozen=True, kw_only=True, tag="container_gone"):
    """A container has ended, or was preempted."""

    node_id: str


class ContainerReplaced(Event, frozen=True, kw_only=True, tag="container_replaced"):
    """A container was preempted, and another one takes its place in the job."""

    node_id: str
    by: Box


class MaintenancePlanned(Event, frozen=True, kw_only=True, tag="maintenance_planned"):
    """Work on a component [ms since the epoch]; said again for the same start, it replaces the
    plan."""

    component: str
    start_ms: int
    until_ms: int
    reason: str
    fabric: str = DEFAULT_FABRIC


class MaintenanceEnded(Event, frozen=True, kw_only=True, tag="maintenance_ended"):
    """The work that was planned to begin at ``start_ms`` is over at ``time_ms``, or called off."""

    component: str
    start_ms: int
    fabric: str = DEFAULT_FABRIC


AnyEvent = (
    JobSubmitted | JobGrown | JobShrunk | JobEnded
    | ContainerPlaced | ContainerReady | ContainerDraining | ContainerGone | ContainerReplaced
    | MaintenancePlanned | MaintenanceEnded
)  # fmt: skip
