"""What is read of the API's objects: pods, lists of them, and the lines of a watch. Pure.

Source: Kubernetes API reference, Pod v1 core and "Efficient detection of changes".
"""

from __future__ import annotations

from typing import Final

import msgspec

from schemas.documents.times import milliseconds_of

GONE: Final = 410  # of a resourceVersion that the API server has forgotten
_OVER: Final = ("Succeeded", "Failed")


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """Times are RFC 3339, with a resolution of a second.

    deletion_timestamp  when the grace period ends, not when deletion was asked for
    """

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Resources(msgspec.Struct, frozen=True):
    """Quantities by resource."""

    limits: dict[str, str | int | float] | None = None


class Container(msgspec.Struct, frozen=True):
    """A container of a pod."""

    resources: Resources = Resources()


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """Where a pod runs, and what of the host it uses."""

    node_name: str = ""
    host_network: bool = False
    containers: list[Container] = []


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """A condition of a pod, with the time since when it is so."""

    type: str
    status: str
    reason: str = ""
    last_transition_time: str | None = None


class Terminated(msgspec.Struct, frozen=True, rename="camel"):
    """The end of a container."""

    finished_at: str | None = None


class ContainerState(msgspec.Struct, frozen=True):
    """The state of a container."""

    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True):
    """The status of a container."""

    state: ContainerState = ContainerState()


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """The status of a pod."""

    phase: str = ""
    start_time: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None


class Pod(msgspec.Struct, frozen=True):
    """A pod, as far as it is read."""

    metadata: Meta
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def created_ms(self) -> int:
        """[ms since the epoch]"""
        return milliseconds_of(self.metadata.creation_timestamp or "1970-01-01T00:00:00Z")

    @property
    def name(self) -> str:
        """For people: namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    def annotation(self, name: str) -> str:
        """Its value, empty without one."""
        return (self.metadata.annotations or {}).get(name, "")

    @property
    def ready_ms(self) -> int | None:
        """Since when the pod is Ready [ms since the epoch]; None while it is not."""
        for each in self.status.conditions or []:
            if each.type == "Ready" and each.status == "True" and each.last_transition_time:
                return milliseconds_of(each.last_transition_time)
        return None

    @property
    def over(self) -> bool:
        """Whether all of its containers have ended for good."""
        return self.status.phase in _OVER

    @property
    def over_ms(self) -> int | None:
        """When the last container ended [ms since the epoch]; None where that is not said."""
        ends = [
            milliseconds_of(each.state.terminated.finished_at)
            for each in self.status.container_statuses or []
            if each.state.terminated is not None and each.state.terminated.finished_at
        ]
        return max(ends, default=None)

    @property
    def draining_ms(self) -> int | None:
        """When it was decided that the pod must end [ms since the epoch]; None while it may run.

        The condition DisruptionTarget comes before the deletion: with preemption by the scheduler,
        eviction (``kubectl drain``), a tainted node, a node's shutdown.
        """
        times = [
            milliseconds_of(each.last_transition_time)
            for each in self.status.conditions or []
            if each.type == "DisruptionTarget" and each.status == "True"
            and each.last_transition_time
        ]  # fmt: skip
        if self.metadata.deletion_timestamp:
            grace_ms = 1000 * (self.metadata.deletion_grace_period_seconds or 0)
            times.append(milliseconds_of(self.metadata.deletion_timestamp) - grace_ms)
        return min(times, default=None)


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """resource_version: of the whole list; continue_: where its next page begins."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class PodList(msgspec.Struct, frozen=True):
    """A page of pods."""

    metadata: ListMeta = ListMeta()
    items: list[Pod] = []


class Change(msgspec.Struct, frozen=True):
    """A line of a watch.

    kind     ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
    version  to watch from, after this line
    code     of an ERROR, as in HTTP; message: what is wrong
    """

    kind: str
    pod: Pod | None = None
    version: str = ""
    code: int = 0
    message: str = ""


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct, frozen=True):
    metadata: Meta


class _Failure(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""
    reason: str = ""


def page(raw: bytes) -> PodList:
    """A page of a list; raises msgspec.MsgspecError."""
    return msgspec.json.decode(raw, type=PodList)


def change(raw: bytes) -> Change:
    """A line of a watch; raises msgspec.MsgspecError."""
    line = msgspec.json.decode(raw, type=_Line)
    if line.type == "ERROR":
        failure = msgspec.json.decode(line.object, type=_Failure)
        return Change("ERROR", code=failure.code, message=failure.message or failure.reason)
    if line.type == "BOOKMARK":  # a pod without what every pod has: its containers are null
        mark = msgspec.json.decode(line.object, type=_Bookmark)
        return Change("BOOKMARK", version=mark.metadata.resource_version)
    pod = msgspec.json.decode(line.object, type=Pod)
    return Change(line.type, pod, pod.metadata.resource_version)
