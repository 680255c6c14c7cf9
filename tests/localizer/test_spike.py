"""The newest five seconds against those before: steps, counts, and where they began."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.detectors.spike import change_of_level, change_of_rate, rate_ratio_p, spike

PATHS = 20
USUAL = np.full(PATHS, 15.0, np.float32)
WORST = np.full(PATHS, 22.0, np.float32)  # but one, of ten windows
LAYER = np.zeros(PATHS, np.int8)
SLOW = np.arange(PATHS) < 4


def seconds(*added: float) -> np.ndarray:
    return np.stack([USUAL + a * SLOW for a in added]).astype(np.float32)


def test_paths_that_are_slow_in_each_of_five_seconds_are_flagged() -> None:
    shift = spike(seconds(10, 10, 10, 10, 10), USUAL, WORST, LAYER)
    assert shift is not None
    assert shift.flagged.tolist() == SLOW.tolist()
    assert shift.excess_us[SLOW] == pytest.approx(10.0)


def test_one_quick_answer_acquits() -> None:
    shift = spike(seconds(10, 10, 0, 10, 10), USUAL, WORST, LAYER)
    assert shift is not None
    assert not shift.flagged.any()


def test_a_burst_no_worse_than_those_of_the_windows_before_is_no_news() -> None:
    assert spike(seconds(10, 10, 10, 10, 10), USUAL, np.full(PATHS, 26.0), LAYER) is None


def test_two_answers_in_five_seconds_are_enough_and_one_is_not() -> None:
    rtt = seconds(10, 10, 10, 10, 10)
    rtt[:3] = 0.0
    two = spike(rtt, USUAL, WORST, LAYER)
    assert two is not None
    assert two.flagged.tolist() == SLOW.tolist()
    rtt[3] = 0.0
    one = spike(rtt, USUAL, WORST, LAYER)
    assert one is not None
    assert not one.valid.any()


def test_a_path_without_a_past_is_not_judged() -> None:
    unknown = np.full(PATHS, np.nan, np.float32)
    assert spike(seconds(10, 10, 10, 10, 10), USUAL, unknown, LAYER) is None


def test_more_losses_than_before_are_told_from_as_many() -> None:
    assert rate_ratio_p((20, 100), (10, 500)) < 1e-8
    assert rate_ratio_p((2, 100), (10, 500)) > 0.3
    assert rate_ratio_p((0, 100), (10, 500)) == 1.0


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_the_p_value_of_no_change_is_not_too_small_too_often(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = [
        rate_ratio_p((int(a), 100), (int(b), 500))
        for a, b in zip(rng.binomial(100, 0.02, 300), rng.binomial(500, 0.02, 300), strict=True)
    ]
    assert np.mean(np.array(p) < 0.01) < 0.035


@pytest.mark.parametrize("onset", [1, 7, 25, 31])
def test_the_onset_of_a_step_is_where_the_level_changes(onset: int) -> None:
    rng = np.random.default_rng(onset)
    level = rng.normal(0, 0.05, 32) + 0.5 * (np.arange(32) >= onset)
    assert change_of_level(level, np.ones(32)) == onset


def test_seconds_without_an_answer_say_nothing_about_the_onset() -> None:
    level = np.where(np.arange(32) >= 20, 0.5, 0.0)
    heard = np.ones(32)
    heard[[5, 21, 22]] = 0.0
    level[[5, 21, 22]] = np.nan
    assert change_of_level(level, heard) == 20


@pytest.mark.parametrize("onset", [3, 16, 29])
def test_the_onset_of_loss_is_where_the_rate_changes(onset: int) -> None:
    rng = np.random.default_rng(onset)
    rate = np.where(np.arange(32) >= onset, 0.3, 0.001)
    lost = rng.binomial(400, rate).astype(float)
    assert change_of_rate(lost, np.full(32, 400.0)) == onset
