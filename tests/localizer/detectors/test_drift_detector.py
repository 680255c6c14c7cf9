"""Drift: a line through the blocks of each five-tuple, beside those of its peer group."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from localizer.baselines import drift as baselines
from localizer.baselines.drift import DriftBaseline
from localizer.detectors.drift import (
    Contrast,
    Drift,
    contrast,
    inflation,
    slopes,
    without_common_growth,
)

BLOCK_S = baselines.DEFAULT.block_s
HOUR = 3600 // BLOCK_S  # blocks
PATHS = 400
GROUP = np.arange(PATHS) % 2
PAIR = np.arange(PATHS) // 2
ILL = np.arange(PATHS) < 40
USUAL = np.linspace(12, 30, PATHS)
EVERY = np.ones(PATHS, bool)


def blocks(count: int, *, ill_per_h: float, all_per_h: float = 0.0, seed: int = 1,
           every_s: int = 30) -> tuple[DriftBaseline, list[Drift]]:  # fmt: skip
    """So many blocks of every path; the lines through them, the common growth removed."""
    rng = np.random.default_rng(seed)
    baseline, found = DriftBaseline(), []
    paths = np.arange(PATHS)
    for end_s in range(30, count * BLOCK_S + 1, 30):
        hours = end_s / 3600
        value = USUAL * (1 + hours * (ill_per_h * ILL + all_per_h))
        due = paths[(paths + end_s // 30) % (every_s // 30) == 0]
        baseline.learn(end_s, due, value[due] * rng.lognormal(0, 0.03, len(due)))
        found = closed(baseline, end_s, GROUP) or found
    return baseline, found


def closed(baseline: DriftBaseline, end_s: int, group: np.ndarray) -> list[Drift]:
    """The lines at the end of a block, shortest first."""
    pair = np.arange(len(group)) // 2
    return [without_common_growth(each, pair, each.valid)
            for each in slopes(baseline.close(end_s), group)]  # fmt: skip


def beside_others(drift: Drift, members: np.ndarray) -> Contrast:
    rows = drift.valid
    return contrast(members[rows].astype(float), drift.rate[rows], drift.weight[rows],
                    drift.group[rows])  # fmt: skip


def test_lines_go_through_half_an_hour_an_hour_and_two_hours() -> None:
    assert [d.span_s for d in blocks(12, ill_per_h=0.0)[1]] == [1800, 3600, 7200]
    assert [d.span_s for d in blocks(4, ill_per_h=0.0)[1]] == [1800, 3600]
    assert blocks(2, ill_per_h=0.0)[1] == []


def test_one_per_cent_an_hour_is_significant_after_two_hours() -> None:
    _, found = blocks(12, ill_per_h=0.01)
    longest = beside_others(found[-1], ILL)
    assert longest.rate == pytest.approx(math.log(1.01), abs=0.0015)
    assert longest.p_value(1.0) < 1e-12


def test_one_per_cent_an_hour_is_significant_where_a_path_answers_every_two_minutes() -> None:
    _, found = blocks(12, ill_per_h=0.01, every_s=120)
    assert beside_others(found[-1], ILL).p_value(1.0) < 1e-7


def test_the_error_of_a_line_falls_with_the_time_to_the_power_of_one_and_a_half() -> None:
    errors = [float(np.median(each.noise)) for each in blocks(12, ill_per_h=0.0)[1]]
    for short, long in pairwise(errors):
        assert short / long == pytest.approx(2**1.5, rel=0.2)


def test_the_noise_of_a_line_is_its_spread_between_healthy_paths() -> None:
    for each in blocks(12, ill_per_h=0.0)[1]:
        assert np.std(each.rate / each.noise) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("seed", range(5))
def test_quiet_paths_do_not_drift(seed: int) -> None:
    _, found = blocks(12, ill_per_h=0.0, seed=seed)
    assert all(beside_others(drift, ILL).p_value(1.0) > 1e-5 for drift in found)


def test_a_growth_of_all_paths_is_removed() -> None:
    _, found = blocks(12, ill_per_h=0.0, all_per_h=0.08)
    assert all(abs(drift.rate.mean()) < 0.004 for drift in found)
    assert all(beside_others(drift, ILL).p_value(1.0) > 1e-5 for drift in found)


def test_the_slope_survives_a_change_of_source_ports_although_the_level_does_not() -> None:
    """Other five-tuples, other routes: each hour has paths, and levels, of its own."""
    rng = np.random.default_rng(5)
    baseline, found = DriftBaseline(), []
    level = [USUAL, USUAL * rng.permutation(np.linspace(0.8, 1.2, PATHS))]
    for end_s in range(30, 2 * 3600 + 1, 30):
        hour = int(end_s > 3600)
        value = level[hour] * (1 + 0.01 * end_s / 3600 * ILL) * rng.lognormal(0, 0.03, PATHS)
        baseline.learn(end_s, np.arange(PATHS) + hour * PATHS, value)
        found = closed(baseline, end_s, np.tile(GROUP, 1 + hour)) or found
    longest = found[-1]
    assert longest.valid.all()
    assert longest.hours == pytest.approx(1.0)
    ill = np.tile(ILL, 2)
    both = beside_others(longest, ill)
    one = beside_others(longest, ill & (np.arange(2 * PATHS) < PATHS))
    assert both.rate == pytest.approx(0.01, abs=0.003)
    assert both.p_value(1.0) < one.p_value(1.0) < 1e-6, "the two hours add up"


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_culprit_does_not_move_the_common_growth(share: float) -> None:
    ill = np.arange(PATHS) < share * PATHS
    rng = np.random.default_rng(6)
    baseline = DriftBaseline()
    for end_s in range(30, 3600 + 1, 30):
        value = USUAL * (1 + 0.1 * ill * end_s / 3600) * rng.lognormal(0, 0.03, PATHS)
        baseline.learn(end_s, np.arange(PATHS), value)
        found = closed(baseline, end_s, np.zeros(PATHS, np.int64)) or []
    assert found[-1].rate[~ill].mean() == pytest.approx(0.0, abs=0.003)


def test_a_crossing_of_half_the_paths_is_measured_beside_the_other_half() -> None:
    """A switch that half of all paths cross draws their common growth along."""
    rng = np.random.default_rng(7)
    half = np.arange(PATHS) % 4 < 2
    rate = 0.01 * half - 0.005 + rng.normal(0, 0.005, PATHS)
    found = contrast(half.astype(float), rate, np.full(PATHS, 0.005**-2), GROUP)
    assert found.rate == pytest.approx(0.01, abs=0.0015)
    assert found.noise == pytest.approx(0.0005, rel=0.05)


def test_five_tuples_of_a_pair_that_move_together_count_as_one() -> None:
    rng = np.random.default_rng(8)
    own = np.repeat(rng.normal(0, 0.02, PATHS // 4), 4)
    ones = np.ones(PATHS)
    drift = Drift(3600, EVERY, np.zeros(PATHS, np.int64), own, 0.01 * ones, 0 * ones, ones)
    together = without_common_growth(drift, np.arange(PATHS) // 4, EVERY)
    assert np.median(together.noise) == pytest.approx(0.02 * 2, rel=0.25)


def test_paths_that_are_dropped_take_their_past_with_them() -> None:
    baseline, _ = blocks(2, ill_per_h=0.0)
    baseline.retain(np.arange(PATHS) >= 40)
    for end_s in range(2 * BLOCK_S + 30, 3 * BLOCK_S + 1, 30):
        baseline.learn(end_s, np.arange(PATHS - 40), USUAL[40:])
    (half_an_hour,) = closed(baseline, 3 * BLOCK_S, GROUP[40:])
    assert half_an_hour.valid.all()
    assert np.abs(half_an_hour.rate).max() < 0.15, "each is compared with its own past"


def test_a_path_with_values_in_two_blocks_only_has_no_line() -> None:
    baseline = DriftBaseline()
    for end_s in range(30, 3 * BLOCK_S + 1, 30):
        late = np.arange(PATHS) < (PATHS if end_s > BLOCK_S else 100)
        baseline.learn(end_s, np.flatnonzero(late), USUAL[late])
    (found,) = closed(baseline, 3 * BLOCK_S, GROUP)
    assert found.valid.sum() == 100


def test_where_many_components_move_none_stands_out() -> None:
    restless = np.random.default_rng(3).normal(0, 8, 50)
    inflated = inflation(np.full(50, 30.0), restless)
    assert inflated > 30
    assert inflation(np.full(50, 3.0), restless) == 1.0, "of few pairs nothing is learnt"
    assert Contrast(float(restless.max()), 1.0).p_value(inflated) > 1e-5


def test_a_component_that_every_path_crosses_has_no_contrast() -> None:
    found = contrast(np.ones(9), np.ones(9), np.ones(9), np.zeros(9, np.int64))
    assert found.p_value(1.0) == 0.5


def test_the_memory_of_the_drift_baseline_per_path_does_not_grow() -> None:
    baseline, _ = blocks(30, ill_per_h=0.0)
    assert baseline.nbytes <= 64 * PATHS


def test_after_a_hole_of_an_hour_nothing_is_known_of_before() -> None:
    baseline, _ = blocks(3, ill_per_h=0.0)
    late = 3 * BLOCK_S + 3600
    for end_s in range(late + 30, late + BLOCK_S + 1, 30):
        baseline.learn(end_s, np.arange(PATHS), USUAL)
    assert closed(baseline, late + BLOCK_S, GROUP) == []
