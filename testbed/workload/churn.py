"""Places jobs on hosts, and changes them afterwards: the churn of a scenario.

No change is a fault: jobs end as planned, containers exit or are preempted and are replaced on
another host, jobs grow and shrink by a host per pipeline stage. A host has one container at a time,
and a job has one change at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from schemas.documents.topology import Container, Host, Topology
from testbed.topologies.clos import overlay_endpoints
from testbed.workload.jobs import ContainerLifetime, JobsPlan, Phase, Schedule, layout_of
from testbed.workload.layouts import Layout
from testbed.workload.skeleton import NEVER

#: Seconds until a replacement is ready (image cached or fetched).
_REPLACE_S: Final = (8, 60)
#: Longest delay until the controller learns that a drained container has ended [s].
_SAID_S: Final = 2


@dataclass
class _Job:
    """The present state of a job; steady_s: the end of its present change [s]."""

    name: str
    tenant: str
    members: list[int]
    layout: Layout
    from_s: int
    steady_s: int


@dataclass
class _Dealer:
    """The containers and jobs that have been placed so far."""

    plan: JobsPlan
    hosts: list[Host]
    rng: np.random.Generator
    containers: list[Container] = field(default_factory=list)
    lives: list[ContainerLifetime] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    free_from: dict[int, int] = field(default_factory=dict)
    jobs: list[_Job] = field(default_factory=list)
    named: int = 0

    def free(self, now: int) -> list[int]:
        """Hosts without a container, in random order."""
        open_to = [host for host, since in self.free_from.items() if since <= now]
        return [open_to[i] for i in self.rng.permutation(len(open_to))]

    def start(self, host: int, job: str, tenant: str, starting_s: int, ready_s: int) -> int:
        """A new container; returns its index."""
        index = len(self.containers)
        where = self.hosts[host]
        self.containers.append(
            Container(_name(index), where.node_sn, job, tenant, overlay_endpoints(where, index))
        )
        self.lives.append(ContainerLifetime(starting_s, ready_s))
        self.free_from[host] = NEVER
        return index

    def stop(self, index: int, now: int, *, drains: bool) -> int:
        """End a container, with notice or by its own exit; returns the second from which on it is
        not pinged any more."""
        dies = gone = now
        if drains:
            dies = now + 1 + int(self.rng.integers(self.plan.drain_s))
            gone = dies + int(self.rng.integers(_SAID_S + 1))
        draining = now if drains else NEVER
        self.lives[index] = self.lives[index]._replace(
            draining_s=draining, dies_s=dies, gone_s=gone
        )
        name = self.containers[index].node_sn
        host = next(i for i, each in enumerate(self.hosts) if each.node_sn == name)
        self.free_from[host] = gone + 1
        return gone + self.plan.refresh_s

    def new_job(self, hosts: list[int], tenant: str, now: int | None) -> None:
        """Place a job on these hosts; it is running already (None) or starts now."""
        name, self.named = f"job-{self.named:03d}", self.named + 1
        members, ready = [], 0
        for host in hosts:
            if now is None:
                members.append(self.start(host, name, tenant, -1, 0))
                continue
            wait = 1 + int(self.rng.integers(self.plan.spread_s))
            members.append(self.start(host, name, tenant, now, now + wait))
            ready = max(ready, now + wait)
        self.jobs.append(_Job(name, tenant, members, self.layout(members), now or 0, ready))

    def layout(self, members: list[int]) -> Layout:
        """The requested layout, or the nearest one that the members allow."""
        rails = {host.node_sn: len(host.rnics) for host in self.hosts}
        plan = self.plan
        return layout_of(self.containers, members, rails, tp=plan.tp, pp=plan.pp, ep=plan.ep)

    def change(self, job: _Job, members: list[int], over_s: int) -> None:
        """Replace the members of a job from the end of the change on."""
        self.close(job, over_s)
        job.members, job.layout = members, self.layout(members)
        job.from_s = job.steady_s = over_s

    def close(self, job: _Job, until_s: int) -> None:
        """Record the phase that ends."""
        self.phases.append(
            Phase(job.name, job.tenant, job.from_s, until_s, job.layout, tuple(job.members))
        )


def deal(
    topology: Topology, plan: JobsPlan, duration_s: int, seed: int
) -> tuple[Topology, Schedule]:
    """Place the plan's jobs on a fabric in place of the document's own containers.

    returns  the document with every container that ever runs within ``duration_s``, and when
    Raises ValueError when not even one job fits.
    """
    rng = np.random.default_rng([seed, 60])
    dealer = _Dealer(plan, topology.hosts, rng)
    dealer.free_from = dict.fromkeys(range(len(topology.hosts)), 0)
    hosts = dealer.free(0)
    room = len(hosts) - round(plan.spare * len(hosts))
    while (size := plan.hosts[len(dealer.jobs) % len(plan.hosts)]) <= room:
        now = 0 if rng.random() < plan.fresh else None
        tenant = f"tenant-{len(dealer.jobs) % plan.tenants}"
        dealer.new_job(hosts[:size], tenant, now)
        hosts, room = hosts[size:], room - size
    if not dealer.jobs:
        raise ValueError(
            f"jobs: the first needs {plan.hosts[0]} hosts and {room} may be used; "
            "give smaller jobs, less spare or a larger fabric"
        )
    now_s = 0.0
    while plan.churn and (now_s := now_s + rng.exponential(60 / plan.churn)) < duration_s:
        _random_change(dealer, int(now_s))
    for job in dealer.jobs:
        dealer.close(job, NEVER)
    dealer.phases.sort(key=lambda phase: (phase.job, phase.from_s))
    schedule = Schedule(
        tuple(dealer.containers), tuple(dealer.lives), tuple(dealer.phases), plan.refresh_s
    )
    return msgspec.structs.replace(topology, containers=list(schedule.containers)), schedule


def _name(index: int) -> str:
    """A name that does not reveal the order in which containers are placed."""
    return f"c-{index * 61_803 % 100_000:05d}"


def _random_change(dealer: _Dealer, now: int) -> None:
    """One random change of a random steady job; none where no change is possible."""
    steady = [job for job in dealer.jobs if job.steady_s <= now]
    if not steady:
        return
    job = steady[int(dealer.rng.integers(len(steady)))]
    kinds = list(_CHANGES)
    for i in dealer.rng.choice(len(kinds), len(kinds), replace=False, p=list(_CHANGES.values())):
        if kinds[i](dealer, job, now):
            return


def _replace(dealer: _Dealer, job: _Job, now: int, *, drains: bool) -> bool:
    free = dealer.free(now)
    if not free:
        return False
    at = int(dealer.rng.integers(len(job.members)))
    unwatched = dealer.stop(job.members[at], now, drains=drains)
    ready = now + 1 + int(dealer.rng.integers(*_REPLACE_S))
    new = dealer.start(free[0], job.name, job.tenant, now + 1, ready)
    members = [*job.members[:at], new, *job.members[at + 1 :]]
    dealer.change(job, members, max(unwatched, ready))
    return True


def _preempt(dealer: _Dealer, job: _Job, now: int) -> bool:
    return _replace(dealer, job, now, drains=True)


def _exit(dealer: _Dealer, job: _Job, now: int) -> bool:
    return _replace(dealer, job, now, drains=False)


def _end(dealer: _Dealer, job: _Job, now: int) -> bool:
    """The job ends, and another of its size starts where there is room."""
    over = max(dealer.stop(index, now, drains=True) for index in job.members)
    dealer.close(job, over)
    dealer.jobs.remove(job)
    free = dealer.free(over)
    dealer.new_job(free[: len(job.members)], job.tenant, over)
    return True


def _grow(dealer: _Dealer, job: _Job, now: int) -> bool:
    free = dealer.free(now)
    if len(free) < job.layout.pp:
        return False
    size, members, over = job.layout.stage_hosts, list[int](), now
    for stage in range(job.layout.pp):
        ready = now + 1 + int(dealer.rng.integers(*_REPLACE_S))
        new = dealer.start(free[stage], job.name, job.tenant, now, ready)
        members += [*job.members[stage * size : (stage + 1) * size], new]
        over = max(over, ready)
    dealer.change(job, members, over)
    return True


def _shrink(dealer: _Dealer, job: _Job, now: int) -> bool:
    size = job.layout.stage_hosts
    if size < 2:
        return False
    last = job.members[size - 1 :: size]
    over = max(dealer.stop(index, now, drains=True) for index in last)
    dealer.change(job, [index for index in job.members if index not in last], over)
    return True


#: Kinds of change, and the probability that each is tried first.
_CHANGES: Final[dict[Callable[[_Dealer, _Job, int], bool], float]] = {
    _preempt: 0.3,
    _exit: 0.2,
    _end: 0.1,
    _grow: 0.2,
    _shrink: 0.2,
}
