"""Declared jobs -> events, and what they make of the controller's state."""

from __future__ import annotations

import pytest
from builders.controller.pods import HOSTS
from builders.controller.task_events import box
from hypothesis import given
from hypothesis import strategies as st

from controller.sources.declared import DeclaredJob, Saying, end, events
from controller.tasks.events import ContainerDraining, ContainerPlaced, ContainerReady
from controller.tasks.tasks import Tasks

T0_MS = 1_790_000_000_000


def declare(tasks: Tasks, wanted: DeclaredJob, now_ms: int, **more: object) -> int:
    """Apply what follows; the number of events."""
    found = events(wanted, tasks, HOSTS, Saying("rest", now_ms, **more))  # type: ignore[arg-type]
    for each in found:
        tasks.apply(each)
    return len(found)


def states(tasks: Tasks) -> dict[str, str]:
    return {name: each.state for name, each in tasks.placements.items()}


def job(numbers: list[int], hosts: list[str] | None = None) -> DeclaredJob:
    boxes = [box(f"c{number}", number % 4) for number in numbers]
    return DeclaredJob(job="job-a", fabric="f1", containers=boxes, hosts=hosts or [])


def test_a_declared_job_is_submitted_with_its_containers_and_size() -> None:
    tasks = Tasks()
    declare(tasks, job([0, 1]), T0_MS)
    assert states(tasks) == {"c0": "starting", "c1": "starting"}
    known = tasks.jobs["job-a"]
    assert known.size is not None
    assert known.size.containers == 2
    assert declare(tasks, job([0, 1]), T0_MS + 5000) == 0, "declared again, nothing changes"


def test_containers_that_are_not_named_any_more_drain_and_new_ones_are_placed() -> None:
    tasks = Tasks()
    declare(tasks, job([0, 1]), T0_MS)
    declare(tasks, job([1, 2]), T0_MS + 5000)
    assert states(tasks) == {"c0": "draining", "c1": "starting", "c2": "starting"}


def test_a_job_on_whole_hosts_is_ready_at_once_and_gone_with_its_end() -> None:
    tasks = Tasks()
    declare(tasks, job([], ["h[000-001]", "h003"]), T0_MS)
    assert states(tasks) == {f"job-a@h00{n}": "ready" for n in (0, 1, 3)}
    own = tasks.placements["job-a@h003"].endpoints
    assert [(each.ip, each.real_ip) for each in own] == [
        ("10.0.3.1", "10.0.3.1"), ("10.1.3.1", "10.1.3.1"),
    ]  # fmt: skip
    for each in end("job-a", tasks, Saying("rest", T0_MS + 1)):
        tasks.apply(each)
    assert set(states(tasks).values()) == {"gone"}
    assert end("job-a", tasks, Saying("rest", T0_MS + 2)) == []


def test_an_unknown_host_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="host 'h9' is not in the topology"):
        events(job([], ["h9"]), Tasks(), HOSTS, Saying("rest", T0_MS))


def test_a_container_that_is_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="'c0' is named twice"):
        events(job([0, 0]), Tasks(), HOSTS, Saying("rest", T0_MS))


def test_a_container_of_another_source_does_not_leave_the_job() -> None:
    tasks = Tasks()
    tasks.apply(
        ContainerPlaced(time_ms=T0_MS, source="kubernetes", container=box("c4", 0))
    )  # fmt: skip
    declare(tasks, job([0]), T0_MS)
    assert states(tasks) == {"c4": "starting", "c0": "starting"}


def test_a_container_that_drained_begins_a_new_life_when_it_is_declared_again() -> None:
    tasks = Tasks()
    declare(tasks, job([0, 1]), T0_MS)
    tasks.apply(ContainerReady(time_ms=T0_MS + 1, source="agent", node_id="c0", node_sn="h000"))
    tasks.apply(ContainerDraining(time_ms=T0_MS + 2, source="rest", node_id="c0"))
    declare(tasks, job([0, 1]), T0_MS + 3)
    assert states(tasks) == {"c0": "starting", "c1": "starting"}


def test_the_late_report_of_a_run_that_has_ended_does_not_begin_it_again() -> None:
    tasks = Tasks()
    declare(tasks, job([], ["h000"]), T0_MS, start_ms=T0_MS)
    for each in end("job-a", tasks, Saying("rest", T0_MS + 60_000)):
        tasks.apply(each)
    assert declare(tasks, job([], ["h000"]), T0_MS + 61_000, start_ms=T0_MS) == 0
    declare(tasks, job([], ["h000"]), T0_MS + 200_000, start_ms=T0_MS + 180_000)
    assert states(tasks) == {"job-a@h000": "ready"}, "requeued"


_numbers = st.lists(st.integers(0, 5), unique=True, max_size=4)
_hosts = st.lists(st.sampled_from(sorted(HOSTS)), unique=True, max_size=3)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["declare", "end", "ready", "drain"]), _numbers, _hosts,
            st.integers(-20, 20),
        ),
        min_size=1, max_size=8,
    ),
    _numbers, _hosts, st.integers(0, 5),
)  # fmt: skip
def test_after_a_declaration_exactly_the_declared_containers_live(
    steps: list[tuple[str, list[int], list[str], int]],
    numbers: list[int],
    hosts: list[str],
    later_ms: int,
) -> None:
    """Whatever happened before, at whatever times, and however clocks differ."""
    tasks = Tasks()
    for what, some, where, time_ms in steps:
        now_ms = T0_MS + time_ms
        if what == "declare":
            declare(tasks, job(some, where), now_ms)
        elif what == "end":
            for each in end("job-a", tasks, Saying("rest", now_ms)):
                tasks.apply(each)
        else:
            for number in some:
                tasks.apply(
                    ContainerDraining(time_ms=now_ms, source="rest", node_id=f"c{number}")
                    if what == "drain"
                    else ContainerReady(
                        time_ms=now_ms, source="agent", node_id=f"c{number}",
                        node_sn=f"h00{number % 4}",
                    )
                )  # fmt: skip
    now_ms = T0_MS + 20 + later_ms
    declare(tasks, job(numbers, hosts), now_ms)
    members = tasks.members("job-a")
    alive = {each.node_id for each in members if each.state in ("starting", "ready")}
    assert alive == {f"c{n}" for n in numbers} | {f"job-a@{host}" for host in hosts}
    assert {states(tasks)[f"job-a@{host}"] for host in hosts} <= {"ready"}
    assert declare(tasks, job(numbers, hosts), now_ms + 1000) == 0
