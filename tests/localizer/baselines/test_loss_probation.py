"""A second is learnt as healthy only when no verdict has spoken against it for a while."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.baselines.loss import DEFAULT, HealthyLoss, LearntLoss, LossBaseline

WAIT_S = DEFAULT.probation_s
SENT = 1000.0
NONE = np.zeros(0)


def second_of(rate: float) -> HealthyLoss:
    """A second in which a fabric loses so much."""
    return HealthyLoss(SENT, rate * SENT, NONE, NONE)


def learn(loss: LearntLoss, seconds: range, rate: float) -> float:
    """Add seconds; returns the baseline afterwards."""
    for second in seconds:
        loss.add(second, second_of(rate))
    return loss.baseline.rate


def test_the_first_seconds_are_learnt_at_once() -> None:
    loss, rates = LearntLoss(), []
    for second in range(WAIT_S):
        rates.append(learn(loss, range(second, second + 1), 0.01))
    assert rates == sorted(rates)
    assert rates[0] > DEFAULT.least_rate
    assert rates[-1] == pytest.approx(0.01, rel=0.2)


def test_later_ones_are_learnt_when_they_are_old_enough() -> None:
    loss = LearntLoss()
    before = learn(loss, range(WAIT_S), 0.001)
    assert learn(loss, range(WAIT_S, 2 * WAIT_S), 0.01) == pytest.approx(before)
    assert learn(loss, range(2 * WAIT_S, 3 * WAIT_S), 0.01) > 2 * before


def test_a_second_that_waited_is_learnt_as_it_was() -> None:
    waited, rng = LearntLoss(), np.random.default_rng(1)
    at_once = LossBaseline()
    for second in range(3 * WAIT_S):
        sent = rng.integers(0, 1000, 20).astype(float)
        lost = rng.poisson(3.0, 20) * (rng.random(20) < 0.1)  # a few classes, several each
        waited.add(second, HealthyLoss(sent.sum(), lost.sum(), sent, lost.astype(float)))
        if second < 2 * WAIT_S:
            at_once.learn(sent.sum(), lost.sum(), sent, lost.astype(float))
    assert at_once.dispersion > 1.0
    assert (waited.baseline.rate, waited.baseline.dispersion) == (
        at_once.rate, at_once.dispersion,
    )  # fmt: skip


def test_what_lost_packets_by_a_later_verdict_is_never_learnt() -> None:
    loss = LearntLoss()
    learn(loss, range(WAIT_S), 0.001)
    learn(loss, range(WAIT_S, 2 * WAIT_S), 0.01)
    loss.drop_since(WAIT_S)
    assert learn(loss, range(2 * WAIT_S, 4 * WAIT_S), 0.001) < 0.0011


def test_a_worker_that_starts_in_the_midst_of_a_fault_takes_back_what_it_learnt_at_once() -> None:
    loss = LearntLoss()
    assert learn(loss, range(100, 103), 0.1) > 0.01
    loss.drop_since(95)
    assert loss.baseline.rate == DEFAULT.least_rate
    assert learn(loss, range(103, 103 + 2 * WAIT_S), 0.0) == DEFAULT.least_rate


def test_only_the_seconds_since_the_trouble_began_are_taken_back() -> None:
    loss, other = LearntLoss(), LearntLoss()
    learn(loss, range(20), 0.001)
    expected = learn(other, range(20), 0.001)
    learn(loss, range(20, 25), 0.1)
    loss.drop_since(20)
    assert loss.baseline.rate == expected


def test_what_was_learnt_at_once_is_not_learnt_again_when_it_is_old_enough() -> None:
    early, late = LearntLoss(), LearntLoss()
    learn(early, range(WAIT_S), 0.01)
    assert early.baseline.rate == learn(late, range(WAIT_S), 0.01)
    early.add(WAIT_S + WAIT_S // 2, second_of(0.5))
    assert early.baseline.rate == late.baseline.rate


def test_where_event_time_jumps_what_waited_is_learnt() -> None:
    loss = LearntLoss()
    before = learn(loss, range(WAIT_S), 0.001)
    learn(loss, range(WAIT_S, 2 * WAIT_S), 0.01)
    assert learn(loss, range(10_000, 10_001), 0.01) > 2 * before
