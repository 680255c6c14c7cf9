"""Drift: half hours against half hours, five-tuples against their peer group."""

from __future__ import annotations

import math

import numpy as np
import pytest

from localizer.baselines import drift as baselines
from localizer.baselines.drift import DriftBaseline
from localizer.detectors.drift import Drift, compare, excess_p_values, inflation

PERIOD_S = baselines.DEFAULT.period_s
PATHS = 400
GROUP = np.arange(PATHS) % 2
ILL = np.arange(PATHS) < 40
USUAL = np.linspace(12, 30, PATHS)


def closed(baseline: DriftBaseline, end_s: int, group: np.ndarray) -> list[Drift]:
    """The comparisons of the half hour that ends, shortest lag first."""
    return [compare(now, then, group) for now, then in baseline.close(end_s)]


def half_hours(count: int, *, ill_per_h: float, all_per_h: float = 0.0,
               seed: int = 1) -> tuple[DriftBaseline, list[Drift]]:  # fmt: skip
    """Windows of 30 s of every path; the last comparisons."""
    rng = np.random.default_rng(seed)
    baseline, found = DriftBaseline(), []
    paths = np.arange(PATHS)
    for end_s in range(30, count * PERIOD_S + 1, 30):
        hours = end_s / 3600
        value = USUAL * (1 + hours * (ill_per_h * ILL + all_per_h))
        baseline.learn(end_s, paths, value * rng.lognormal(0, 0.03, PATHS))
        found = closed(baseline, end_s, GROUP) or found
    return baseline, found


def p_of(drift: Drift, members: np.ndarray) -> float:
    """Of one component beside ten others; it is left out of the inflation, as in a verdict."""
    others = np.stack([np.arange(PATHS) % 10 == n for n in range(10)]).astype(float) * ~members
    score = np.where(drift.valid, drift.shift / drift.noise, 0.0)
    inflated = inflation(others @ drift.valid.astype(float), others @ score)
    weight, shift = float(members @ drift.valid.astype(float)), float(members @ score)
    return float(excess_p_values(np.array([weight]), np.array([shift]), inflated)[0])


def test_the_newest_half_hour_is_compared_with_the_three_before() -> None:
    assert [d.lag_s for d in half_hours(4, ill_per_h=0.0)[1]] == [1800, 3600, 5400]


def test_three_per_cent_an_hour_is_found_within_two_hours() -> None:
    _, found = half_hours(4, ill_per_h=0.03)
    longest = found[-1]
    assert longest.shift[ILL].mean() == pytest.approx(math.log(1.045), abs=0.006)
    assert longest.shift[ILL].mean() > longest.smallest
    assert p_of(longest, ILL) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_quiet_paths_do_not_drift(seed: int) -> None:
    _, found = half_hours(4, ill_per_h=0.0, seed=seed)
    assert all(p_of(drift, ILL) > 1e-5 for drift in found)


def test_a_shift_of_all_paths_is_removed() -> None:
    _, found = half_hours(4, ill_per_h=0.0, all_per_h=0.08)
    assert all(abs(drift.shift[ILL].mean()) < 0.004 for drift in found)
    assert all(p_of(drift, ILL) > 1e-5 for drift in found)


def test_half_an_hour_of_drift_is_enough_where_source_ports_change_every_hour() -> None:
    """Other five-tuples, other routes: nothing of the hour before is compared."""
    rng = np.random.default_rng(5)
    baseline, found = DriftBaseline(), []
    for end_s in range(30, 2 * 3600 + 1, 30):
        old = end_s <= 3600
        paths = np.arange(PATHS) + (0 if old else PATHS)
        usual = USUAL * (1.0 if old else rng.permutation(np.linspace(0.8, 1.2, PATHS)))
        if end_s == 3630:
            after = usual
        usual = usual if old else after
        value = usual * (1 + 0.03 * end_s / 3600 * ILL) * rng.lognormal(0, 0.03, PATHS)
        baseline.learn(end_s, paths, value)
        found = closed(baseline, end_s, np.tile(GROUP, 1 if old else 2)) or found
    shortest = found[0]
    assert [drift.valid.any() for drift in found] == [True, False, False]
    members = np.concatenate([np.zeros(PATHS, bool), ILL])
    assert shortest.shift[members].mean() == pytest.approx(0.0147, abs=0.002)
    assert shortest.shift[members].mean() > shortest.smallest
    noise = np.sqrt(members.sum()) / (shortest.shift / shortest.noise)[members].sum()
    assert noise < 1 / 10, "ten standard errors"


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_culprit_does_not_move_the_common_shift(share: float) -> None:
    ill = np.arange(PATHS) < share * PATHS
    rng = np.random.default_rng(6)
    baseline = DriftBaseline()
    for end_s in range(30, 2 * PERIOD_S + 1, 30):
        value = USUAL * (1 + 0.03 * ill * (end_s > PERIOD_S)) * rng.lognormal(0, 0.03, PATHS)
        baseline.learn(end_s, np.arange(PATHS), value)
        found = closed(baseline, end_s, np.zeros(PATHS, np.int64))
    assert found[0].shift[ill].mean() == pytest.approx(math.log(1.03), abs=0.0025)


def test_paths_that_are_dropped_take_their_past_with_them() -> None:
    baseline, _ = half_hours(2, ill_per_h=0.0)
    baseline.retain(np.arange(PATHS) >= 40)
    for end_s in range(2 * PERIOD_S + 30, 3 * PERIOD_S + 1, 30):
        baseline.learn(end_s, np.arange(PATHS - 40), USUAL[40:])
    (half_an_hour, _) = closed(baseline, 3 * PERIOD_S, GROUP[40:])
    assert half_an_hour.valid.all()
    assert np.abs(half_an_hour.shift).max() < 0.03, "each is compared with its own past"


def test_where_many_components_move_none_stands_out() -> None:
    rng = np.random.default_rng(3)
    weight = np.full(50, 30.0)
    restless = rng.normal(0, 8, 50) * np.sqrt(weight)
    assert excess_p_values(weight, restless, inflation(weight, restless)).min() > 1e-5


def test_the_p_value_is_one_for_few_pairs() -> None:
    assert excess_p_values(np.array([3.0]), np.array([99.0]), 1.0)[0] == 1.0


def test_the_memory_of_the_drift_baseline_per_path_does_not_grow() -> None:
    baseline, _ = half_hours(9, ill_per_h=0.0)
    assert baseline.nbytes <= 52 * PATHS


def test_after_a_hole_of_an_hour_nothing_is_compared_with_before() -> None:
    baseline, _ = half_hours(3, ill_per_h=0.0)
    late = 3 * PERIOD_S + 2 * PERIOD_S
    for end_s in range(late + 30, late + PERIOD_S + 1, 30):
        baseline.learn(end_s, np.arange(PATHS), USUAL)
    assert closed(baseline, late + PERIOD_S, GROUP) == []
