"""Steps of latency: the newest five seconds against what is usual in whole windows."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.detectors.spike import any_slow, spike

PATHS = 20
USUAL = np.full(PATHS, 15.0, np.float32)
WORST = np.full(PATHS, 22.0, np.float32)  # second highest maximum of ten windows
LAYER = np.zeros(PATHS, np.int8)
SLOW = np.arange(PATHS) < 4


def seconds(*added: float) -> np.ndarray:
    return np.stack([USUAL + a * SLOW for a in added]).astype(np.float32)


def test_paths_that_are_slow_in_each_of_five_seconds_are_flagged() -> None:
    shift = spike(seconds(10, 10, 10, 10, 10), USUAL, WORST, LAYER)
    assert shift is not None
    assert shift.flagged.tolist() == SLOW.tolist()
    assert shift.excess_us[SLOW] == pytest.approx(10.0)


def test_a_path_with_one_quick_answer_is_not_flagged() -> None:
    shift = spike(seconds(10, 10, 0, 10, 10), USUAL, WORST, LAYER)
    assert shift is not None
    assert not shift.flagged.any()


def test_a_burst_no_worse_than_those_of_the_windows_before_is_not_flagged() -> None:
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


def test_no_path_is_slow_in_a_second_without_a_slow_round_trip() -> None:
    slow = USUAL + 10 * SLOW
    assert any_slow(slow, USUAL, WORST)
    assert any_slow(slow[SLOW], USUAL[SLOW], WORST[SLOW])
    assert not any_slow(slow[~SLOW], USUAL[~SLOW], WORST[~SLOW])
    assert not any_slow(slow, USUAL, np.full(PATHS, np.nan, np.float32)), (
        "what bursts do is unknown"
    )
    assert not any_slow(slow[:0], USUAL[:0], WORST[:0])
