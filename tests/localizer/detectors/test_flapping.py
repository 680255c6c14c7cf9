"""Flapping is distinguished from trouble that begins, lasts, and ends."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.detectors import flapping

SECONDS = 32
LEAST_S = flapping.DEFAULT.least_s
RNG = np.random.default_rng(5)


def counts(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def lost_by_turns(period: int, sent: int, begin: int = 8) -> np.ndarray:
    since = np.arange(SECONDS) - begin
    return np.where((since >= 0) & (since % period < period // 2), sent, 0)


@pytest.mark.parametrize("period", [2, 4, 6, 12])
@pytest.mark.parametrize("sent", [3, 100])
def test_losses_that_pause_and_return_flap(period: int, sent: int) -> None:
    assert flapping.losses(np.full(SECONDS, sent), lost_by_turns(period, sent))


def test_a_port_that_is_up_again_for_two_seconds_flaps_from_the_moment_it_is_down_again() -> None:
    lost = counts(*[0] * 24, 40, 40, 0, 0, 40, 40)
    assert flapping.losses(np.full(30, 40), lost)


def test_steady_losses_do_not_flap_however_few_they_are() -> None:
    flapping_runs = 0
    for _ in range(2000):
        sent = RNG.integers(1, 60, SECONDS)
        begin, end = np.sort(RNG.integers(0, SECONDS, 2))
        share = np.full(SECONDS, 1e-3)
        share[begin:end] = RNG.uniform(0.02, 1.0)
        flapping_runs += bool(flapping.losses(sent, RNG.binomial(sent, share)))
    assert flapping_runs <= 1


def test_a_noisy_second_after_a_silence_is_no_second_outbreak() -> None:
    sent = counts(*[3, 74] * 16)
    lost = np.minimum(sent, counts(*[0] * 3, *[74] * 25, 0, 1, 2, 0))
    assert flapping.losses(sent, lost) is False


def test_seconds_without_probes_are_no_pause() -> None:
    sent = counts(*[20, 0] * 16)
    assert flapping.losses(sent, sent.copy()) is False


def test_flapping_is_undecided_until_the_trouble_may_have_come_back() -> None:
    sent = np.full(SECONDS, 40)
    assert flapping.losses(sent, np.zeros(SECONDS, np.int64)) is None
    young = np.where(np.arange(SECONDS) > SECONDS - LEAST_S, 40, 0)
    assert flapping.losses(sent, young) is None
    old = np.where(np.arange(SECONDS) >= SECONDS - LEAST_S, 40, 0)
    assert flapping.losses(sent, old) is False


ANSWERS = np.full(SECONDS, 8)


def late(us: np.ndarray) -> np.ndarray:
    return np.asarray(us + RNG.normal(0.0, 0.4, len(us)))


def test_answers_that_are_late_in_time_and_late_again_flap() -> None:
    assert flapping.lateness(late(lost_by_turns(6, 40)), ANSWERS)


def test_lateness_that_begins_and_ends_does_not_flap() -> None:
    for begin, end in [(2, 30), (10, 40), (0, 20), (5, 16)]:
        since = np.arange(SECONDS)
        steady = late(np.where((since >= begin) & (since < end), 40.0, 0.0))
        assert flapping.lateness(steady, ANSWERS) is False


def test_a_milder_bump_after_it_is_no_second_outbreak() -> None:
    bump = np.array([22.0] * 7 + [0.0] * 6 + [11.5] * 5 + [0.0] * 14)
    assert flapping.lateness(bump, ANSWERS) is False


def test_lateness_without_answers_is_undecided() -> None:
    assert flapping.lateness(np.zeros(SECONDS), np.zeros(SECONDS, np.int64)) is None
