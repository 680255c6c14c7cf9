"""From events to lists: whatever happens in whatever order, only what is ready is probed."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from builders.controller.clusters import two_tiers
from builders.controller.task_events import HOSTS, box, events
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.state import ControllerState
from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerGone,
    ContainerPlaced,
    ContainerReady,
    JobEnded,
    JobSubmitted,
)
from controller.tasks.tasks import Documents

TOPOLOGY = two_tiers(HOSTS)
T0 = 1_790_000_000_000


def site() -> ControllerState:
    """Without containers, and with one fabric."""
    state = ControllerState()
    state.topology(TOPOLOGY)
    return state


def entries(state: ControllerState) -> set[tuple[str, str]]:
    """(source, target) of all lists."""
    lists = state.lists["f1"]
    return {
        (target["src_ip"], target["ip"])
        for node_sn in lists.hosts
        for target in targets(lists.document(node_sn))
    }


def targets(document: dict[str, object]) -> list[dict[str, Any]]:
    found = document["targets"]
    assert isinstance(found, list)
    return found


def etags(state: ControllerState) -> list[str]:
    lists = state.lists["f1"]
    return [lists.etag(node_sn) for node_sn in lists.hosts]


def started(boxes: list[Box]) -> list[AnyEvent]:
    """A job whose containers all become ready."""
    ready = [
        ContainerReady(
            time_ms=T0 + 9000, source="agent", node_id=each.node_id, node_sn=each.node_sn
        )
        for each in boxes
    ]
    job = JobSubmitted(
        time_ms=T0, source="rest", job="job-a", fabric="f1", size=len(boxes), containers=boxes
    )
    return [job, *ready]


BOXES = [box(f"c{number}", number) for number in range(HOSTS)]


@settings(deadline=None)
@given(st.lists(events(), max_size=20))
def test_only_endpoints_of_containers_that_are_ready_are_probed(happened: list[AnyEvent]) -> None:
    state = site()
    for event in happened:
        state.apply(event)
        ready = {
            end.ip
            for placed in state.tasks.placements.values()
            if placed.state == "ready"
            for end in placed.endpoints
        }
        assert {ip for pair in entries(state) for ip in pair} <= ready


@settings(deadline=None)
@given(st.lists(events(), max_size=12))
def test_repeated_events_change_no_list(happened: list[AnyEvent]) -> None:
    state = site()
    for event in happened:
        state.apply(event)
    assert not any(state.apply(event).notified for event in happened)


@settings(deadline=None)
@given(st.lists(events(), max_size=12))
def test_exactly_the_notified_hosts_have_another_etag(happened: list[AnyEvent]) -> None:
    state = site()
    lists = state.lists["f1"]
    for event in happened:
        before = {node_sn: lists.etag(node_sn) for node_sn in lists.hosts}
        notified = state.apply(event).notified
        assert notified == {("f1", n) for n in lists.hosts if lists.etag(n) != before[n]}


def test_lists_are_the_same_after_a_restart_from_the_compacted_topics() -> None:
    boxes = [*BOXES]
    random.Random(1).shuffle(boxes)
    state = site()
    for event in started(boxes):
        state.apply(event)
    stored = msgspec.json.decode(msgspec.json.encode(state.tasks.documents()), type=Documents)
    again = ControllerState()
    again.restore(stored, [TOPOLOGY])
    assert entries(state)
    assert entries(again) == entries(state)
    assert etags(again) == etags(state)


def test_containers_wait_for_the_topology_of_their_fabric() -> None:
    early, late = ControllerState(), site()
    for event in started(BOXES):
        assert early.apply(event).notified == set()
        late.apply(event)
    assert early.topology(TOPOLOGY).notified == {("f1", f"h{host:03}") for host in range(HOSTS)}
    assert entries(early) == entries(late) != set()


def test_a_container_that_moves_to_another_fabric_leaves_the_lists_of_the_first() -> None:
    state = site()
    for event in started(BOXES):
        state.apply(event)
    moved = msgspec.structs.replace(BOXES[0], fabric="f2", node_sn="elsewhere")
    state.apply(ContainerPlaced(time_ms=T0 + 20_000, source="rest", container=moved))
    assert not any("172.16.0.1" in pair for pair in entries(state))


def test_phases_of_all_jobs_follow_skeletons_and_host_agents_their_registration() -> None:
    state = site()
    for event in started(BOXES):
        state.apply(event)
    (phase,) = state.phases("f1").values()
    assert phase.phase == "activation"
    found = state.skeleton("f1", "job-a", [("10.0.0.1", "10.0.2.1")], phase.generation)
    assert len(found.notified) == HOSTS
    assert state.phases("f1")["job-a"].phase == "skeleton"
    state.no_skeleton("f1", "job-a", "bursts do not fit")
    assert state.phases("f1")["job-a"].reason == "bursts do not fit"
    assert state.agent("f1", "h000", ready=True).notified == {("f1", "h000")}, "its own ring"
    assert state.agent("f1", "h001", ready=True).notified == {("f1", "h000"), ("f1", "h001")}
    assert state.agent("unknown", "h001", ready=True).notified == set()


def test_a_job_that_has_been_over_for_long_is_forgotten() -> None:
    state = site()
    for event in started(BOXES):
        state.apply(event)
    state.apply(JobEnded(time_ms=T0 + 20_000, source="rest", job="job-a"))
    for each in BOXES:
        state.apply(ContainerGone(time_ms=T0 + 30_000, source="rest", node_id=each.node_id))
    assert state.forget(T0 + 40_000) == ([], [], [])
    gone = state.forget(T0 + 30_000 + 2 * 86_400_000)
    assert (sorted(gone.containers), gone.jobs) == ([b.node_id for b in BOXES], ["job-a"])
    assert state.phases("f1") == {}
