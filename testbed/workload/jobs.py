"""Jobs of tenants on a fabric: which container runs where, when, and in which position of its job.

A schedule is drawn once, by the seed, for the whole simulation. It holds the times at which each
container starts, is ready, drains, stops answering and is gone (``ContainerLifetime``), and the
spans of time in which the layout of a job does not change (``Phase``). Placement documents, the
probe schedule and throughput follow from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import State
from schemas.documents.times import rfc3339
from schemas.documents.topology import Container, Topology
from testbed.workload.layouts import Layout, fit
from testbed.workload.skeleton import NEVER

_SECOND_NS: Final = 1_000_000_000


class JobsPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs of a scenario.

    hosts      hosts of a job, dealt in turn until no more fits; tenants are dealt in turn too
    tp, pp, ep wanted degrees of parallelism (tp 0 = rnics of a host); the nearest that fit a job
    spare      share of hosts that are free at the beginning
    fresh      share of jobs that are only just starting at the beginning
    churn      changes a minute in the whole fabric: jobs end and others start, grow and shrink,
               containers exit or are preempted, and are replaced on another host
    spread_s   containers of a job that starts get ready up to so far apart [s]
    drain_s    longest time between the notice to drain and the end of the container [s]
    refresh_s  agents go on pinging a dead container until they fetch their next list [s]
    """

    hosts: tuple[int, ...] = (16,)
    tenants: int = 2
    tp: int = 0
    pp: int = 1
    ep: int = 1
    spare: float = 0.0
    fresh: float = 0.0
    churn: float = 0.0
    spread_s: int = 600
    drain_s: int = 15
    refresh_s: int = 10

    def __post_init__(self) -> None:
        if not self.hosts or min(self.hosts) < 1:
            raise ValueError("jobs: hosts is a list of sizes of at least 1, e.g. hosts = [8, 16]")
        for name in ("tenants", "pp", "ep", "spread_s", "drain_s", "refresh_s"):
            if getattr(self, name) < 1:
                raise ValueError(f"jobs: {name} is {getattr(self, name)}; give at least 1")
        if self.tp < 0:
            raise ValueError(f"jobs: tp is {self.tp}; give 0 (rnics of a host) or more")
        for name in ("spare", "fresh"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"jobs: {name} is {getattr(self, name)}; give a share 0..1")
        if self.churn < 0:
            raise ValueError(f"jobs: churn is {self.churn} a minute; give 0 or more")


class ContainerLifetime(NamedTuple):
    """Seconds of the simulation at which a container changes; NEVER = not within it.

    A container answers in [ready_s, dies_s). ``draining_s`` is NEVER for one that exits of its
    own accord; ``gone_s`` is when the controller says so, at ``dies_s`` or soon after a drain.
    """

    starting_s: int
    ready_s: int
    draining_s: int = NEVER
    dies_s: int = NEVER
    gone_s: int = NEVER


class Phase(NamedTuple):
    """A job with constant layout in [from_s, until_s): its containers (indices) in the order of
    the layout's hosts."""

    job: str
    tenant: str
    from_s: int
    until_s: int
    layout: Layout
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Schedule:
    """All containers (C), their lifetimes in the same order, and the phases of jobs."""

    containers: tuple[Container, ...]
    lives: tuple[ContainerLifetime, ...]
    phases: tuple[Phase, ...]
    refresh_s: int = 10

    @property
    def changes(self) -> bool:
        """Whether anything changes during the simulation."""
        return any(life[1] > 0 or life[3] < NEVER for life in self.lives)

    def placements(self, fabric: str, start_ns: int) -> list[tuple[int, Placement]]:
        """(second, document) in order of time; containers that run already are ready at 0."""
        states: list[tuple[int, int, State]] = []
        for index, life in enumerate(self.lives):
            if life.ready_s > 0:
                states.append((max(0, life.starting_s), index, "starting"))
            states.append((max(0, life.ready_s), index, "ready"))
            if life.draining_s < NEVER:
                states.append((life.draining_s, index, "draining"))
            states.append((life.gone_s, index, "gone"))
        states.sort(key=lambda each: each[0])
        return [
            (second, self._document(index, state, fabric, start_ns + second * _SECOND_NS))
            for second, index, state in states
            if second < NEVER
        ]

    def _document(self, index: int, state: State, fabric: str, time_ns: int) -> Placement:
        box = self.containers[index]
        return Placement(
            node_id=box.node_id,
            node_sn=box.node_sn,
            state=state,
            valid_from=rfc3339(time_ns),
            fabric=fabric,
            job=box.job,
            tenant=box.tenant,
            endpoints=box.endpoints,
        )


def static_schedule(topology: Topology, *, tp: int = 0, pp: int = 1, ep: int = 1) -> Schedule:
    """The document's own containers, all ready from the beginning to the end."""
    rails = {host.node_sn: len(host.rnics) for host in topology.hosts}
    jobs: dict[str, list[int]] = {}
    for index, box in enumerate(topology.containers):
        if box.job:
            jobs.setdefault(box.job, []).append(index)
    return Schedule(
        tuple(topology.containers),
        tuple(ContainerLifetime(-1, 0) for _ in topology.containers),
        tuple(
            Phase(
                job,
                topology.containers[members[0]].tenant,
                0,
                NEVER,
                layout_of(topology.containers, members, rails, tp=tp, pp=pp, ep=ep),
                tuple(members),
            )
            for job, members in sorted(jobs.items())
        ),
    )


def layout_of(
    containers: Sequence[Container],
    members: Sequence[int],
    rails: dict[str, int],
    *,
    tp: int,
    pp: int,
    ep: int,
) -> Layout:
    """The layout of these containers, over the rails that all of the job's hosts have."""
    least = min(rails[containers[index].node_sn] for index in members)
    return fit(len(members), least, tp=tp, pp=pp, ep=ep)
