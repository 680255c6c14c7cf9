"""Short-term latency: each path against its own past."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.baselines.latency import LatencyBaseline
from localizer.detectors.latency.deviation import LatencyDeviation, comparable, deviation
from localizer.detectors.latency.parameters import DEFAULT

PATHS = 40
LAYER = np.zeros(PATHS, np.int8)
BASE = np.linspace(10, 60, PATHS)  # no path is like another
SLOW = np.arange(PATHS) < 4


def features(value: np.ndarray, spread: float = 0.5) -> np.ndarray:
    """Seven features of windows whose quartiles have this mean."""
    columns = [value - spread, value, value + spread, value - 2 * spread, value,
               np.full(len(value), spread), value + 3 * spread]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def judged(
    baseline: LatencyBaseline, end_s: int, window: np.ndarray, layer: np.ndarray
) -> LatencyDeviation:
    """A window compared with the baseline, which then learns it."""
    found = deviation(baseline, end_s, window, layer)
    baseline.learn(end_s, window, found.flagged)
    return found


class Story:
    """Windows of 30 s, one every 5 s, with a little noise."""

    def __init__(self, seed: int = 1) -> None:
        self.baseline = LatencyBaseline()
        self.rng = np.random.default_rng(seed)
        self.end_s = 1000

    def window(self, added_us: object = 0.0) -> LatencyDeviation:
        self.end_s += 5
        value = BASE + self.rng.normal(0, 0.2, PATHS) + added_us
        return judged(self.baseline, self.end_s, features(value), LAYER)

    def minutes(self, count: int, added_us: object = 0.0) -> list[LatencyDeviation]:
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


def test_a_path_whose_fault_is_over_is_not_flagged() -> None:
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


@pytest.mark.parametrize("share", [0.3, 0.6, 0.75])
def test_a_switch_that_most_paths_cross_does_not_raise_the_noise(share: float) -> None:
    """Crossed once or twice, so that shifts differ as if every path were noisy."""
    story = Story()
    story.minutes(2)
    hit = np.arange(PATHS) < share * PATHS
    both = hit & (np.arange(PATHS) % 2 == 0)
    shift = story.window(10.0 * hit + 10.0 * both)
    assert shift.flagged.tolist() == hit.tolist()


def test_when_all_paths_of_a_layer_are_restless_none_stands_out() -> None:
    story = Story()
    story.minutes(5)
    restless = story.rng.normal(0, 30, PATHS)
    assert story.window(restless).flagged.sum() <= 1


def test_only_windows_that_do_not_overlap_are_compared() -> None:
    baseline = LatencyBaseline()
    slow = features(BASE + 30 * SLOW)
    judged(baseline, 990, features(BASE), LAYER)
    assert not judged(baseline, 1015, slow, LAYER).valid.any()
    assert judged(baseline, 1020, slow, LAYER).flagged.tolist() == SLOW.tolist()


def test_a_shift_that_came_and_went_three_times_in_five_minutes_is_not_flagged() -> None:
    story = Story()
    story.minutes(5)
    for number in range(12 * 12):  # 30 s in every 90
        slow = number % 18 < 6
        shift = story.window(15 * SLOW * slow)
        assert not slow or (shift.excess_us[SLOW] > 10).all()
        if number < 6:
            assert shift.flagged[SLOW].all() == slow, "the first time it is news"
        if number >= 12 * 6:
            assert not shift.flagged.any(), number


def test_a_fault_that_comes_back_once_is_seen_again() -> None:
    story = Story()
    story.minutes(5)
    story.minutes(2, 15 * SLOW)
    story.minutes(1)
    assert story.window(15 * SLOW).flagged.tolist() == SLOW.tolist()


def test_the_memory_of_the_baseline_per_path_does_not_grow() -> None:
    baseline, paths = LatencyBaseline(), 1000
    layer = np.zeros(paths, np.int8)
    for end_s in range(1000, 2000, 5):
        judged(baseline, end_s, features(np.full(paths, 20.0)), layer)
        assert baseline.nbytes <= 340 * paths


def test_after_a_jump_in_time_nothing_is_compared_with_before() -> None:
    story = Story()
    story.minutes(5)
    story.baseline.clear()
    assert not story.window(30 * SLOW).valid.any()


def test_new_paths_join_without_a_past() -> None:
    baseline = LatencyBaseline()
    judged(baseline, 990, features(BASE[:10]), LAYER[:10])
    shift = judged(baseline, 1020, features(BASE + 30 * SLOW), LAYER)
    assert shift.valid.tolist() == (np.arange(PATHS) < 10).tolist()
    assert shift.flagged.tolist() == SLOW.tolist()


def test_paths_that_are_kept_keep_their_past() -> None:
    story = Story()
    story.minutes(5)
    kept = np.arange(PATHS) % 2 == 0
    story.baseline.retain(kept)
    shift = judged(story.baseline, story.end_s + 5, features((BASE + 30 * SLOW)[kept]), LAYER[kept])
    assert shift.flagged.tolist() == SLOW[kept].tolist()


def test_paths_are_kept_though_some_joined_after_the_last_window() -> None:
    baseline = LatencyBaseline()
    judged(baseline, 990, features(BASE[:10]), LAYER[:10])
    baseline.retain(np.arange(PATHS) % 2 == 0)
    kept = BASE[::2]
    shift = judged(baseline, 1020, features(kept + 30), LAYER[::2])
    assert shift.valid.tolist() == (np.arange(PATHS // 2) < 5).tolist()


# --- the value of a window --------------------------------------------------------------------


def shift_of(rtts: list[float]) -> float:
    """How far a window of these round trips is from a quiet one at 20 us [us]."""
    baseline = LatencyBaseline()
    quiet = features(np.array([20.0]), 0.0)
    judged(baseline, 990, quiet, LAYER[:1])
    p25, p50, p75 = np.percentile(rtts, (25, 50, 75))
    row = np.array([[p25, p50, p75, min(rtts), np.mean(rtts), np.std(rtts), max(rtts)]])
    return float(judged(baseline, 1020, row.astype(np.float32), LAYER[:1]).excess_us[0])


def test_a_burst_shorter_than_a_quarter_of_the_window_leaves_the_value_alone() -> None:
    assert shift_of([20.0] * 24 + [500.0] * 6) == pytest.approx(0.0)


def test_half_a_window_of_slowness_moves_the_value() -> None:
    assert shift_of([20.0] * 15 + [50.0] * 15) > 10.0


def test_a_window_with_too_few_answers_is_not_compared() -> None:
    least = DEFAULT.least_answers
    few = comparable(features(BASE[:2]), np.array([least, least - 1]), np.ones(2, bool))
    assert np.isfinite(few).all(axis=1).tolist() == [True, False]


def test_three_answers_make_a_window_for_the_many_ports_of_a_pair_take_turns() -> None:
    three = comparable(features(BASE[:1]), np.array([3]), np.ones(1, bool))
    assert np.isfinite(three).all()


def test_part_of_a_window_is_not_compared_with_whole_ones() -> None:
    part = comparable(features(BASE[:2]), np.full(2, 30), np.array([True, False]))
    assert np.isfinite(part).all(axis=1).tolist() == [True, False]
