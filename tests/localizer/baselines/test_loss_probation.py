"""A second is learnt as healthy only when no verdict has spoken against it for a while."""

from __future__ import annotations

import numpy as np

from localizer.baselines.loss import DEFAULT, HealthyLoss, Probation

WAIT_S = DEFAULT.probation_s
NONE = np.zeros(0)


def learnt(probation: Probation, seconds: range) -> list[int]:
    """Feed seconds that are told by what they have sent; returns those that were learnt."""
    out = []
    for second in seconds:
        out += probation.add(second, HealthyLoss(float(second), 0.0, NONE, NONE))
    return [int(each.sent) for each in out]


def test_the_first_seconds_are_learnt_at_once() -> None:
    assert learnt(Probation(), range(WAIT_S)) == list(range(WAIT_S))


def test_later_ones_are_learnt_when_they_are_old_enough() -> None:
    probation = Probation()
    learnt(probation, range(WAIT_S))
    assert learnt(probation, range(WAIT_S, 3 * WAIT_S + 1)) == list(range(WAIT_S, 2 * WAIT_S + 1))


def test_what_lost_packets_by_a_later_verdict_is_never_learnt() -> None:
    probation = Probation()
    learnt(probation, range(2 * WAIT_S))
    probation.drop_since(2 * WAIT_S - 20)
    again = learnt(probation, range(2 * WAIT_S, 4 * WAIT_S))
    assert not set(again) & set(range(2 * WAIT_S - 20, 2 * WAIT_S))
    assert 2 * WAIT_S - 21 in again
    assert 2 * WAIT_S in again


def test_where_event_time_jumps_what_waited_is_learnt() -> None:
    probation = Probation()
    learnt(probation, range(2 * WAIT_S))
    assert learnt(probation, range(10_000, 10_001)) == list(range(WAIT_S, 2 * WAIT_S))
