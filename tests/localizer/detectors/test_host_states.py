"""States of hosts by their last heartbeats: doubtful first, silent later."""

from __future__ import annotations

import pytest

from localizer.baselines.hosts import HostActivity
from localizer.detectors.silence import host_states


def hosts(*beats: tuple[str, float]) -> HostActivity:
    activity = HostActivity()
    for name in ("a", "b"):
        activity.code(name)
    for name, time_s in beats:
        activity.beat(name, time_s, alive=True, steal=0.0, delay_us=0.0)
    return activity


@pytest.mark.parametrize(
    ("age_s", "doubtful", "silent"),
    [(0.5, False, False), (1.5, False, False), (1.8, True, False), (3.1, True, False),
     (3.4, True, True), (60.0, True, True)],
)  # fmt: skip
def test_a_host_is_doubtful_first_and_silent_later(
    age_s: float, doubtful: bool, silent: bool
) -> None:
    state = host_states(hosts(("a", 100.0 - age_s), ("b", 99.9)), 99)
    assert (bool(state.doubtful[0]), bool(state.silent[0])) == (doubtful, silent)
    assert not state.doubtful[1]


def test_later_heartbeats_do_not_make_a_host_alive_that_was_silent_then() -> None:
    activity = hosts(("a", 90.0), ("a", 105.0), ("b", 99.5))
    assert host_states(activity, 99).silent[0]
    assert not host_states(activity, 105).silent[0]


def test_a_host_that_said_goodbye_is_alive_again_with_its_next_heartbeat() -> None:
    activity = hosts(("a", 99.5))
    activity.beat("b", 99.6, alive=False, steal=0.0, delay_us=0.0)
    assert host_states(activity, 99).silent.tolist() == [False, True]
    activity.beat("b", 100.6, alive=True, steal=0.0, delay_us=0.0)
    assert host_states(activity, 100).silent.tolist() == [False, False]


def test_heartbeats_far_ahead_of_the_panes_do_not_make_a_host_look_silent() -> None:
    activity = HostActivity()
    for second in range(100, 140):
        activity.beat("h1", float(second), alive=True, steal=0.0, delay_us=0.0)
    state = host_states(activity, 105)
    assert not state.silent[0]
    assert not state.doubtful[0]


def test_an_agent_whose_first_heartbeat_is_yet_to_come_has_not_fallen_silent() -> None:
    """Heartbeats arrive ahead of the watermark. Its time-outs wait, as those of a late one do."""
    activity = hosts(("a", 101.5), ("b", 99.5))
    state = host_states(activity, 99)
    assert (state.silent[0], state.doubtful[0], state.doubtful[1]) == (False, True, False)
    state = host_states(activity, 101)
    assert (state.silent[0], state.doubtful[0], state.back[0]) == (False, False, True)
