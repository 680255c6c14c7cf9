"""Jobs and containers: events in any order, once or twice, give one state, which documents keep."""

from __future__ import annotations

import msgspec
import pytest
from builders.controller.task_events import box, events
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.tasks.events import (
    AnyEvent,
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
from controller.tasks.tasks import Change, Documents, TaskParameters, Tasks
from schemas.documents.tasks.claims import Source
from schemas.documents.times import rfc3339

T0 = 1_790_000_000_000


def state_after(happened: list[AnyEvent]) -> Tasks:
    tasks = Tasks()
    for event in happened:
        tasks.apply(event)
    return tasks


def sorted_documents(tasks: Tasks) -> tuple[list[bytes], ...]:
    return tuple(sorted(msgspec.json.encode(each) for each in part) for part in tasks.documents())


def ready(node_id: str, host: int, second: int, source: Source = "agent") -> ContainerReady:
    return ContainerReady(
        time_ms=T0 + 1000 * second, source=source, node_id=node_id, node_sn=f"h{host:03}"
    )


def submitted(count: int, second: int = 0) -> JobSubmitted:
    boxes = [box(f"c{number}", number) for number in range(count)]
    return JobSubmitted(
        time_ms=T0 + 1000 * second, source="rest", job="job-a", size=count, containers=boxes
    )


@settings(deadline=None)
@given(st.lists(events(), max_size=12), st.data())
def test_neither_order_nor_repetition_of_events_changes_the_state(
    happened: list[AnyEvent], data: st.DataObject
) -> None:
    repeated = data.draw(st.lists(st.sampled_from(happened), max_size=6)) if happened else []
    shuffled = data.draw(st.permutations([*happened, *repeated]))
    assert sorted_documents(state_after(shuffled)) == sorted_documents(state_after(happened))


@settings(deadline=None)
@given(st.lists(events(), max_size=12))
def test_a_repeated_event_changes_nothing(happened: list[AnyEvent]) -> None:
    tasks = state_after(happened)
    assert not any(tasks.apply(event) for event in happened)


@settings(deadline=None)
@given(st.lists(events(), max_size=12), st.lists(events(), max_size=3))
def test_the_state_of_its_documents_is_the_state_that_published_them(
    happened: list[AnyEvent], later: list[AnyEvent]
) -> None:
    tasks = state_after(happened)
    stored = msgspec.json.decode(msgspec.json.encode(tasks.documents()), type=Documents)
    restored = Tasks.restored(stored)
    assert sorted_documents(restored) == sorted_documents(tasks)
    for event in later:
        tasks.apply(event)
        restored.apply(event)
    assert sorted_documents(restored) == sorted_documents(tasks), "and it goes on alike"


@given(st.lists(events(), max_size=12), st.data())
def test_documents_of_its_own_change_nothing_however_late_they_are_read(
    happened: list[AnyEvent], data: st.DataObject
) -> None:
    tasks, published = Tasks(), []
    for event in happened:
        changes = tasks.apply(event)
        published += [*changes.jobs, *(each.after for each in changes.containers)]
    before = sorted_documents(tasks)
    for each in data.draw(st.permutations(published)):
        assert not tasks.merge(each)
    assert sorted_documents(tasks) == before


@given(st.lists(events(), max_size=8), st.lists(events(), max_size=8))
def test_programs_that_read_each_others_documents_have_the_state_of_all_events(
    here: list[AnyEvent], there: list[AnyEvent]
) -> None:
    one, other = state_after(here), state_after(there)
    for each in [*other.documents().jobs, *other.documents().placements]:
        one.merge(each)
    both = state_after([*here, *there])
    assert sorted_documents(one)[:2] == sorted_documents(both)[:2]


def test_a_container_that_an_event_names_twice_changes_once() -> None:
    tasks = state_after(
        [JobSubmitted(time_ms=T0 + 1000, source="file", job="job-a", containers=[box("c0", 0)])]
    )
    before = tasks.placements["c0"]
    replaced = ContainerReplaced(time_ms=T0, source="agent", node_id="c0", by=box("c0", 1))
    assert tasks.apply(replaced).containers == [Change(before, tasks.placements["c0"])]


@settings(deadline=None)
@given(st.lists(events(), max_size=12))
def test_what_an_event_changes_is_what_differs_in_the_documents(happened: list[AnyEvent]) -> None:
    tasks = Tasks()
    published: dict[str, object] = {}
    for event in happened:
        for change in tasks.apply(event).containers:
            assert published.get(change.after.node_id) == change.before
            published[change.after.node_id] = change.after
    assert published == tasks.placements


def test_a_submitted_job_has_its_containers_and_they_start() -> None:
    tasks = state_after([submitted(3)])
    assert [member.state for member in tasks.members("job-a")] == ["starting"] * 3
    assert {member.fabric for member in tasks.members("job-a")} == {"f1"}


def test_a_job_grows_and_shrinks() -> None:
    grown = JobGrown(time_ms=T0 + 5000, source="rest", job="job-a", containers=[box("c3", 3)])
    shrunk = JobShrunk(time_ms=T0 + 9000, source="rest", job="job-a", containers=["c0"], size=3)
    tasks = state_after([shrunk, submitted(3), grown])
    assert {box.node_id: box.state for box in tasks.members("job-a")} == {
        "c0": "draining", "c1": "starting", "c2": "starting", "c3": "starting"
    }  # fmt: skip
    size = tasks.jobs["job-a"].size
    assert size is not None
    assert size.containers == 3


def test_the_end_of_a_job_drains_what_it_has_then_and_not_what_is_placed_later() -> None:
    over = JobEnded(time_ms=T0 + 60_000, source="rest", job="job-a")
    later = ContainerPlaced(time_ms=T0 + 90_000, source="rest", container=box("c9", 1))
    tasks = state_after([over, submitted(2), ready("c0", 0, 5), later, ready("c9", 1, 95)])
    states = {member.node_id: member.state for member in tasks.members("job-a")}
    assert states == {"c0": "draining", "c1": "draining", "c9": "ready"}


def test_a_preempted_container_is_gone_and_its_successor_starts() -> None:
    swap = ContainerReplaced(time_ms=T0 + 9000, source="kubernetes", node_id="c0", by=box("c7", 3))
    tasks = state_after([submitted(2), swap])
    assert tasks.placements["c0"].state == "gone"
    assert [member.node_id for member in tasks.members("job-a")] == ["c1", "c7"]


def test_work_that_ends_early_ends_in_its_document_too() -> None:
    plan = MaintenancePlanned(
        time_ms=T0, source="rest", component="tor:t1", start_ms=T0 + 1000, until_ms=T0 + 99_000,
        reason="swap",
    )  # fmt: skip
    over = MaintenanceEnded(
        time_ms=T0 + 30_000, source="rest", component="tor:t1", start_ms=T0 + 1000
    )
    for order in ([plan, over], [over, plan]):
        (work,) = state_after(list(order)).documents().maintenance
        assert (work.until, work.reason) == (rfc3339((T0 + 30_000) * 1_000_000), "swap")


def test_what_has_been_over_for_a_day_is_forgotten() -> None:
    over = JobEnded(time_ms=T0 + 60_000, source="rest", job="job-a")
    swap = ContainerReplaced(time_ms=T0 + 70_000, source="rest", node_id="c0", by=box("c7", 3))
    tasks = state_after([submitted(1), over, swap])
    keep = TaskParameters(remembered_s=100.0)
    assert tasks.forget(T0 + 100_000, keep) == ([], [], [])
    assert tasks.forget(T0 + 200_000, keep).containers == ["c0"]
    assert "c0" not in tasks.placements


def test_an_event_without_a_node_id_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="node_id"):
        msgspec.json.decode(
            b'{"event":"container_placed","time_ms":1,"source":"rest","container":{"node_id":""}}',
            type=AnyEvent,  # type: ignore[arg-type]  # a union is a type to msgspec
        )
