"""Latency: each path against its own past."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.detectors.latency import FEWEST, LatencyMemory, Shift, quartile_mean

PATHS = 40
LAYER = np.zeros(PATHS, np.int8)
BASE = np.linspace(10, 60, PATHS)  # no path is like another
SLOW = np.arange(PATHS) < 4


class Story:
    """Windows of 30 s, one every 5 s, with a little noise."""

    def __init__(self, seed: int = 1) -> None:
        self.memory = LatencyMemory()
        self.rng = np.random.default_rng(seed)
        self.end_s = 1000

    def window(self, added_us: object = 0.0) -> Shift:
        self.end_s += 5
        value = BASE + self.rng.normal(0, 0.2, PATHS) + added_us
        return self.memory.judge(self.end_s, value, LAYER)

    def minutes(self, count: int, added_us: object = 0.0) -> list[Shift]:
        return [self.window(added_us) for _ in range(12 * count)]


def test_a_path_without_a_past_is_not_judged() -> None:
    first = Story().window()
    assert not first.valid.any()
    assert not first.flagged.any()
    assert (first.noise_us > 0).all()


def test_quiet_paths_are_not_flagged() -> None:
    assert not any(shift.flagged.any() for shift in Story().minutes(20))


def test_paths_that_become_slower_are_flagged_and_the_excess_is_measured() -> None:
    story = Story()
    story.minutes(5)
    shift = story.window(30 * SLOW)
    assert shift.flagged.tolist() == SLOW.tolist()
    assert shift.excess_us[SLOW] == pytest.approx(30, abs=2)


def test_a_lasting_fault_does_not_become_the_new_normal() -> None:
    story = Story()
    story.minutes(5)
    lasting = story.minutes(30, 30 * SLOW)
    assert all(shift.flagged[SLOW].all() for shift in lasting)
    assert lasting[-1].excess_us[SLOW] == pytest.approx(30, abs=2)


def test_when_it_is_over_it_is_over() -> None:
    story = Story()
    story.minutes(5)
    story.minutes(10, 30 * SLOW)
    assert not story.window().flagged.any()


def test_a_slow_drift_is_learnt() -> None:
    story = Story()
    story.minutes(5)
    for step in range(12 * 30):  # +6 us over half an hour
        assert not story.window(step / 60).flagged.any(), step


def test_a_path_that_becomes_faster_is_fine() -> None:
    story = Story()
    story.minutes(5)
    assert not story.window(-5 * SLOW).flagged.any()


@pytest.mark.parametrize(("added_us", "flagged"), [(1.5, False), (3.0, True)])
def test_a_shift_must_be_of_a_size_that_matters(added_us: float, flagged: bool) -> None:
    story = Story()
    story.minutes(5)
    assert story.window(added_us * SLOW).flagged[SLOW].all() == flagged


def test_when_all_paths_of_a_layer_are_restless_none_stands_out() -> None:
    story = Story()
    story.minutes(5)
    restless = story.rng.normal(0, 30, PATHS)
    assert story.window(restless).flagged.sum() <= 1


def test_only_windows_that_do_not_overlap_are_compared() -> None:
    memory = LatencyMemory()
    memory.judge(1000, BASE, LAYER)
    assert not memory.judge(1005, BASE + 30 * SLOW, LAYER).valid.any()
    assert memory.judge(1030, BASE + 30 * SLOW, LAYER).flagged.tolist() == SLOW.tolist()


def test_after_a_jump_in_time_nothing_is_compared_with_before() -> None:
    story = Story()
    story.minutes(5)
    story.memory.clear()
    assert not story.window(30 * SLOW).valid.any()


def test_new_paths_join_without_a_past() -> None:
    memory = LatencyMemory()
    memory.judge(1000, BASE[:10], LAYER[:10])
    shift = memory.judge(1030, BASE + 30 * SLOW, LAYER)
    assert shift.valid.tolist() == (np.arange(PATHS) < 10).tolist()
    assert shift.flagged.tolist() == SLOW.tolist()


def test_paths_that_are_kept_keep_their_past() -> None:
    story = Story()
    story.minutes(5)
    kept = np.arange(PATHS) % 2 == 0
    story.memory.keep(kept)
    shift = story.memory.judge(story.end_s + 5, (BASE + 30 * SLOW)[kept], LAYER[kept])
    assert shift.flagged.tolist() == SLOW[kept].tolist()


# --- the value of a window --------------------------------------------------------------------


def value_of(rtts: list[float]) -> float:
    p25, p50, p75 = (np.array([np.percentile(rtts, q)]) for q in (25, 50, 75))
    return float(quartile_mean(p25, p50, p75, np.array([len(rtts)]))[0])


def test_a_burst_shorter_than_a_quarter_of_the_window_leaves_the_value_alone() -> None:
    assert value_of([20.0] * 24 + [500.0] * 6) == pytest.approx(20.0)


def test_half_a_window_of_slowness_moves_it() -> None:
    assert value_of([20.0] * 15 + [50.0] * 15) > 30.0


def test_a_window_with_too_few_answers_has_no_value() -> None:
    assert value_of([20.0] * FEWEST) == 20.0
    assert np.isnan(value_of([20.0] * (FEWEST - 1)))
