"""Gray loss: a rise above a component's own past, tested exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from localizer.detectors import loss

ONE = np.ones(1)


def p_value(lost: float, sent: float, past_lost: float, past_sent: float) -> float:
    counts = (np.array([each]) for each in (lost, sent, past_lost, past_sent))
    return float(loss.rise_p_values(*counts, ONE)[0])


def test_the_p_value_is_that_of_the_binomial_given_both_counts() -> None:
    expected = stats.binom.sf(29, 40, 5000 / 25_000)
    assert p_value(30, 5000, 10, 20_000) == pytest.approx(expected, rel=1e-9)


def test_a_healthy_rate_gives_p_values_below_a_level_no_more_often_than_the_level() -> None:
    rng = np.random.default_rng(1)
    sent, past = np.full(20_000, 3000.0), np.full(20_000, 9000.0)
    lost = rng.poisson(2.0, 20_000).astype(float)
    before = rng.poisson(6.0, 20_000).astype(float)
    p = loss.rise_p_values(lost, sent, before, past, np.ones(20_000))
    for level in (0.1, 0.01, 0.001):
        assert (p < level).mean() <= level * 1.1


def test_a_link_that_always_loses_a_thousandth_has_not_risen() -> None:
    assert p_value(15, 15_000, 45, 45_000) > 0.3


def test_a_link_that_begins_to_lose_a_thousandth_has_risen() -> None:
    assert p_value(15, 15_000, 1, 45_000) < 1e-7


def test_what_the_whole_fabric_loses_more_is_no_rise_of_one_component() -> None:
    counts = (np.array([each]) for each in (30.0, 10_000.0, 30.0, 30_000.0))
    assert float(loss.rise_p_values(*counts, np.array([3.0]))[0]) > 0.3


def test_little_past_is_little_evidence() -> None:
    assert p_value(5, 1000, 0, 300) > 0.01
    assert p_value(5, 1000, 0, 100_000) < 1e-8


def test_the_likelihood_ratio_is_that_of_two_binomials() -> None:
    ratio = stats.binom.logpmf(3, 40, 0.1) - stats.binom.logpmf(3, 40, 0.001)
    assert loss.log_likelihood_ratio(3, 40, 0.1, 0.001) == pytest.approx(ratio)
