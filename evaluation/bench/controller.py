"""The controller's core under a peak of container creations, and the probes of a round by plan.

Events go in as a source reports them; what the agents that need it would be sent comes out as JSON.
Brokers and HTTP are left out.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from controller.ping_lists.lists import PingLists
from controller.state import ControllerState, Outcome
from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerDraining,
    ContainerGone,
    ContainerReady,
    JobSubmitted,
)
from evaluation.bench.method.figure import figure
from schemas.documents.topology import Host
from testbed.topologies.clos import ClosSpec, build, overlay_endpoints

_START_MS: Final = 1_790_000_000_000
_JOB: Final = 64  # hosts
_HOSTS: Final = 2048
_PER_MINUTE: Final = 2000  # creations
_GOAL: Final = 0.25  # of a core: the rest is for connections


def controller() -> dict[str, Any]:
    """CPU time of the core while 2,000 containers a minute end and are created on 2,048 hosts."""
    spec = ClosSpec(
        name="bench", hosts=_HOSTS, rails=8, hosts_per_segment=16, aggs=8, pods=16, spines=16,
        hosts_per_job=_JOB,
    )  # fmt: skip
    topology = build(spec, 1)
    began = time.process_time()
    state = ControllerState()
    state.topology(topology)
    lists = state.lists[topology.fabric]
    for host in topology.hosts:
        state.agent(topology.fabric, host.node_sn, ready=True)
    groups = [topology.hosts[at : at + _JOB] for at in range(0, _HOSTS, _JOB)]
    for number, hosts in enumerate(groups):
        for event in _started(number, 0, hosts, _START_MS):
            state.apply(event)
    filled_s = time.process_time() - began
    gc.freeze()  # as a service does: else a collection walks over all lists, for half a second
    seen = {node_sn: lists.etag(node_sn) for node_sn in lists.hosts}
    events = [
        event
        for number, hosts in enumerate(groups[: _PER_MINUTE // _JOB])
        for event in _restarted(number, hosts, _START_MS + 1000 * number)
    ]
    sent_bytes = deltas = 0
    slowest_s, began = 0.0, time.process_time()
    for event in events:
        started = time.process_time()
        for delta in _deltas(lists, state.apply(event), seen):
            sent_bytes += len(delta)
            deltas += 1
        slowest_s = max(slowest_s, time.process_time() - started)
    spent_s = time.process_time() - began
    created = sum(isinstance(event, ContainerReady) for event in events)
    share = spent_s / (60 * created / _PER_MINUTE)
    return {
        **figure(
            "{percent:.1f} % of a core at {per_minute:,} creations/min ({events:,} events for "
            "{created:,} containers, {deltas:,} changed lists, {sent_mb:.0f} MB of deltas; slowest "
            "event {slowest_ms:.0f} ms; all lists of {hosts:,} hosts from nothing in "
            "{filled_s:.0f} s)",
            percent=100 * share, per_minute=_PER_MINUTE, events=len(events), created=created,
            deltas=deltas, sent_mb=sent_bytes / 1e6, slowest_ms=1e3 * slowest_s, hosts=_HOSTS,
            filled_s=filled_s,
        ),
        "goal": f"<= {100 * _GOAL:.0f} %", "missed": share > _GOAL,
    }  # fmt: skip


def _deltas(lists: PingLists, outcome: Outcome, seen: dict[str, str]) -> list[bytes]:
    """What the hosts whose lists an event has changed are sent; ``seen`` are their ETags."""
    out = []
    for _, node_sn in outcome.notified:
        delta = lists.delta(node_sn, seen[node_sn])
        out.append(msgspec.json.encode(lists.document(node_sn) if delta is None else delta))
        seen[node_sn] = lists.etag(node_sn)
    return out


def _started(number: int, life: int, hosts: list[Host], time_ms: int) -> Iterator[AnyEvent]:
    boxes = [
        Box(
            node_id=f"c-{host.node_sn}-{life}", node_sn=host.node_sn, fabric="bench",
            endpoints=overlay_endpoints(host, number * _JOB + at),
        )
        for at, host in enumerate(hosts)
    ]  # fmt: skip
    yield JobSubmitted(
        time_ms=time_ms, source="kubernetes", job=f"job-{number}-{life}", fabric="bench",
        size=len(boxes), containers=boxes,
    )  # fmt: skip
    for box in boxes:
        yield ContainerReady(
            time_ms=time_ms + 1000, source="agent", node_id=box.node_id, node_sn=box.node_sn
        )


def _restarted(number: int, hosts: list[Host], time_ms: int) -> Iterator[AnyEvent]:
    """A job ends, container by container, and another one starts on its hosts."""
    old = [f"c-{host.node_sn}-0" for host in hosts]
    yield from (ContainerDraining(time_ms=time_ms, source="agent", node_id=each) for each in old)
    yield from (
        ContainerGone(time_ms=time_ms + 100, source="kubernetes", node_id=each) for each in old
    )
    yield from _started(number, 1, hosts, time_ms + 200)
