"""Events about jobs and containers, drawn from few names and times so that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerDraining,
    ContainerGone,
    ContainerPlaced,
    ContainerReady,
    ContainerReplaced,
    JobEnded,
    JobGrown,
    JobShrunk,
    JobSubmitted,
    MaintenanceEnded,
    MaintenancePlanned,
)
from schemas.documents.tasks.claims import PRECEDENCE
from schemas.documents.topology import Endpoint

HOSTS = 4
NODE_IDS = [f"c{number}" for number in range(5)]
JOBS = ["job-a", "job-b"]

_times = st.integers(1_790_000_000, 1_790_000_020).map(lambda second: second * 1000)
_common = {
    "time_ms": _times,
    "source": st.sampled_from(sorted(PRECEDENCE)),
    "key": st.sampled_from(["", "k1", "k2"]),
}
_node_ids = st.sampled_from(NODE_IDS)
_hosts = st.sampled_from([f"h{host:03}" for host in range(HOSTS)])


def box(node_id: str, host: int, job: str = "job-a", rails: int = 2) -> Box:
    """A container with an endpoint on every rail of its host, as in ``builders.clusters``."""
    number = int(node_id.removeprefix("c"))
    return Box(
        node_id=node_id, node_sn=f"h{host:03}", job=job, tenant="tenant-a", fabric="f1",
        endpoints=[Endpoint(f"172.{16 + r}.{number}.1", f"10.{r}.{host}.1") for r in range(rails)],
    )  # fmt: skip


_boxes = st.builds(
    lambda node_id, host, job, known: (
        box(node_id, host, job) if known else Box(node_id=node_id, job=job)
    ),
    _node_ids, st.integers(0, HOSTS - 1), st.sampled_from([*JOBS, ""]), st.booleans(),
)  # fmt: skip
_job = st.sampled_from(JOBS)
_some = st.lists(_boxes, max_size=3)
_size = st.integers(0, 5)
_start = _times
_component = st.just("tor:t1")


def events() -> st.SearchStrategy[AnyEvent]:
    """One event of any kind."""
    return st.one_of(
        st.builds(JobSubmitted, job=_job, containers=_some, size=_size, **_common),
        st.builds(JobGrown, job=_job, containers=_some, size=_size, **_common),
        st.builds(JobShrunk, job=_job, containers=st.lists(_node_ids, max_size=2), **_common),
        st.builds(JobEnded, job=_job, **_common),
        st.builds(ContainerPlaced, container=_boxes, **_common),
        st.builds(ContainerReady, node_id=_node_ids, node_sn=_hosts, **_common),
        st.builds(ContainerReady, node_id=_node_ids, node_sn=_hosts, **_common),
        st.builds(ContainerDraining, node_id=_node_ids, **_common),
        st.builds(ContainerGone, node_id=_node_ids, **_common),
        st.builds(ContainerReplaced, node_id=_node_ids, by=_boxes, **_common),
        st.builds(
            MaintenancePlanned, component=_component, start_ms=_start,
            until_ms=_times.map(lambda time: time + 21_000), reason=st.just("swap"), **_common,
        ),
        st.builds(MaintenanceEnded, component=_component, start_ms=_start, **_common),
    )  # fmt: skip
