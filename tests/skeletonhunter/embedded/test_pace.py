"""How fast the demo's event time runs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from skeletonhunter.embedded.pace import FASTEST, Pace
from testbed.faults.kinds import Fault


def test_the_first_fault_of_the_shipped_scenario_comes_early_and_all_is_over_in_time() -> None:
    pace = Pace.until([fault(115), fault(75)], 290, 75.0)
    assert pace.wall_s(75) < 11
    assert pace.wall_s(290) == pytest.approx(75.0)
    assert pace.speed(0) == 8
    assert pace.speed(75) < 290 / 75  # what breaks is played slower than an even pace would


@pytest.mark.parametrize("first_s", [3, 40, 290])
def test_event_time_runs_on_whenever_the_first_fault_is(first_s: int) -> None:
    pace = Pace.until([fault(first_s)], 290, 75.0)
    due = [pace.wall_s(second) for second in range(291)]
    assert due == sorted(due)
    assert due[0] == 0
    assert due[-1] == pytest.approx(75.0)
    assert all(later - sooner >= 0.999 / FASTEST for sooner, later in pairwise(due))


@pytest.mark.parametrize("duration_s", [290 / FASTEST, 30])
def test_a_short_demo_is_played_evenly_rather_than_slower_before_the_first_fault(
    duration_s: float,
) -> None:
    pace = Pace.until([fault(75)], 290, duration_s)
    assert pace.speed(0) == pytest.approx(290 / duration_s)
    assert pace.wall_s(290) == pytest.approx(duration_s)


def test_without_faults_the_pace_is_even() -> None:
    pace = Pace.until([], 290, 145.0)
    assert pace.speed(0) == pace.speed(289) == 2.0


def test_a_scenario_does_not_run_faster_than_the_fastest() -> None:
    with pytest.raises(ValueError, match="290 s of event time need more than 24 s"):
        Pace.until([fault(75)], 290, 24)


def fault(start_s: int) -> Fault:
    """A fault from this second of event time on."""
    return Fault(kind="tor_loss", component="tor:t1", start_s=start_s)
