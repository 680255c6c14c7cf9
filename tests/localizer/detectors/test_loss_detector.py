"""Loss: exact tails, and alarms that need significance and size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from localizer.baselines import loss as baseline
from localizer.baselines.loss import LossBaseline
from localizer.detectors import loss
from localizer.detectors.alarm_budget import AlarmBudget
from localizer.detectors.loss import alarming, excess_p_values, unsteady

F = np.array
LEAST_RATE, LEAST_EXCESS = baseline.DEFAULT.least_rate, loss.DEFAULT.least_excess


@given(st.integers(1, 5000), st.floats(0, 1), st.floats(1e-4, 0.2))
@settings(deadline=None, max_examples=200)
def test_the_tail_of_whole_counts_is_the_binomials(sent: int, share: float, rate: float) -> None:
    lost = round(share * sent)
    known = stats.binom.sf(lost - 1, sent, rate)
    assert excess_p_values(F([float(lost)]), F([float(sent)]), rate)[0] == pytest.approx(
        known, rel=1e-6, abs=1e-300
    )


def test_the_p_value_is_one_where_nothing_was_lost_or_sent() -> None:
    assert excess_p_values(F([0.0, 0.0]), F([100.0, 0.0]), 0.01).tolist() == [1.0, 1.0]


def test_shares_of_probes_lie_between_whole_ones() -> None:
    tail = excess_p_values(F([1.0, 1.5, 2.0]), F([50.0, 50.0, 50.0]), 0.01)
    assert tail[0] > tail[1] > tail[2]


def test_congestion_that_comes_in_clumps_is_less_surprising() -> None:
    lost, sent = F([20.0]), F([1000.0])
    alone, clumped = (excess_p_values(lost, sent, 0.002, d)[0] for d in (1.0, 4.0))
    assert alone < clumped
    assert clumped == pytest.approx(stats.binom.sf(20 / 4 - 1, 1000 // 4, 0.002), rel=1e-6)


def test_an_alarm_needs_significance_and_size() -> None:
    sent = F([1e6, 1e3, 100.0])
    lost = F([
        1e6 * (LEAST_RATE + LEAST_EXCESS * 0.9),  # sure, but small
        40.0,  # both
        1.0,  # large, but chance
    ])  # fmt: skip
    assert alarming(sent, lost, LossBaseline(), 1e-9).tolist() == [False, True, False]


def test_clean_weather_spends_no_more_than_its_budget() -> None:
    """200 components for an hour of panes: the budget allows 1/672 of an alarm; none may come."""
    rng = np.random.default_rng(3)
    background, level = LossBaseline(), AlarmBudget(1.0).level(200, 1.0)
    sent = np.full(200, 500.0)
    alarms = 0
    for _ in range(3600):
        lost = rng.binomial(500, LEAST_RATE, 200).astype(float)
        alarms += int(alarming(sent, lost, background, level).sum())
        background.learn(sent.sum(), lost.sum(), sent, lost)
    assert alarms == 0


def test_paths_that_lost_at_some_times_of_a_window_only_are_unsteady() -> None:
    sent = np.full((4, 6), 100)
    lost = np.array([
        #     over  began  of one burst  gray  all lost  two losses at once
        [0, 100, 0, 1, 100, 0],
        [0, 100, 0, 0, 100, 2],
        [90, 0, 30, 2, 100, 0],
        [95, 0, 0, 0, 100, 0],
    ])  # fmt: skip
    assert unsteady(sent, lost).tolist() == [True, True, True, False, False, False]


def test_parts_without_probes_say_nothing_of_when_a_path_lost() -> None:
    sent, lost = np.array([[0], [100], [0]]), np.array([[0], [60], [0]])
    assert not unsteady(sent, lost)[0]


def test_a_path_that_loses_evenly_is_hardly_ever_unsteady() -> None:
    rng = np.random.default_rng(0)
    sent = rng.choice([0, 25, 100, 400], (7, 20_000))
    for rate in (0.001, 0.02, 0.3, 0.9):
        found = unsteady(sent, rng.binomial(sent, rate))
        assert found.mean() < 5 * loss.DEFAULT.steady
