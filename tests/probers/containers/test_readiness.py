"""Which containers are ready, by what they have said and how long ago."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.containers.readiness import GRACE_S, STATES, Readiness, State

LATER_S = 10 * GRACE_S  # the agent has been running for long


@pytest.fixture
def containers() -> Readiness:
    return Readiness(0.0)


def test_a_container_is_ready_from_when_it_says_so_until_it_drains(containers: Readiness) -> None:
    containers.said("c1", "starting")
    assert containers.ready(["c1"], LATER_S) == ()
    containers.said("c1", "ready")
    assert containers.ready(["c1"], LATER_S) == ("c1",)
    containers.said("c1", "draining")
    assert containers.ready(["c1"], LATER_S) == ()


def test_a_crash_is_seen_by_probes_and_then_the_container_drains(containers: Readiness) -> None:
    containers.said("c1", "ready")
    containers.closed("c1", LATER_S)
    assert containers.ready(["c1"], LATER_S + GRACE_S - 1) == ("c1",)
    assert containers.ready(["c1"], LATER_S + GRACE_S) == ()


def test_a_container_that_connects_again_in_time_was_never_away(containers: Readiness) -> None:
    containers.said("c1", "ready")
    containers.closed("c1", LATER_S)
    containers.said("c1", "ready")
    assert containers.ready(["c1"], LATER_S + 2 * GRACE_S) == ("c1",)


@pytest.mark.parametrize("state", ["starting", "draining"])
def test_a_container_that_was_not_ready_is_gone_with_its_connection(
    containers: Readiness, state: State
) -> None:
    containers.said("c1", state)
    containers.closed("c1", LATER_S)
    assert containers.ready(["c1"], LATER_S) == ()


def test_nothing_is_said_after_the_agents_start_until_all_have_connected_or_could_have(
    containers: Readiness,
) -> None:
    containers.said("c1", "ready")
    assert containers.ready(["c1", "c2"], 1.0) is None, "c2 may have been ready before"
    assert containers.ready(["c1"], 1.0) == ("c1",)
    containers.said("c2", "starting")
    assert containers.ready(["c1", "c2"], 1.0) == ("c1",)
    assert containers.ready(["c1", "c2", "c3"], GRACE_S) == ("c1",)


def test_a_list_that_comes_after_the_word_of_a_container_finds_it_ready(
    containers: Readiness,
) -> None:
    containers.said("c1", "ready")
    assert containers.ready([], LATER_S) == (), "not in the list yet"
    assert containers.ready(["c1"], LATER_S) == ("c1",)


NAMES = st.sampled_from(["c1", "c2", "c3"])
EVENTS = st.lists(st.tuples(NAMES, st.sampled_from([*STATES, "closed"])), max_size=30)


@given(EVENTS)
def test_only_a_container_whose_last_word_is_ready_is_ready(
    events: list[tuple[str, State]],
) -> None:
    containers, last = Readiness(0.0), {}
    for name, what in events:
        if what == "closed":
            containers.closed(name, LATER_S)
        else:
            containers.said(name, what)
            last[name] = what
    ready = containers.ready(["c1", "c2"], LATER_S)
    assert ready is not None
    assert all(last[name] == "ready" for name in ready)
    assert set(ready) <= {"c1", "c2"}
    late = containers.ready(["c1", "c2"], LATER_S + GRACE_S)
    closed = {name for name, what in dict(events).items() if what == "closed"}
    assert not closed.intersection(late or ())
