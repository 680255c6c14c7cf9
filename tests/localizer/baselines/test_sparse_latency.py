"""What the answers of paths that are probed rarely are compared with."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.baselines.sparse_latency import SparseLatency

NONE = np.full(3, np.nan, np.float32)
ROWS = np.arange(3)
PAIR = np.array([0, 0, 1])


class Answers:
    """Three paths, the first two of one pair, answered each 40 s by evidence of 40 s."""

    def __init__(self) -> None:
        self.baseline = SparseLatency()
        self.now = 1000

    def add(self, *rtt_us: float, rows: tuple[int, ...] = (0, 1, 2), slow_us: float = 15.0) -> None:
        count = len(rows)
        self.now += 40
        self.baseline.add(
            self.now, np.array(rows), np.array(rtt_us, np.float32),
            np.full(count, 40.0), np.full(count, slow_us),
        )  # fmt: skip

    def usual(self, windows: np.ndarray = NONE) -> list[float]:
        reference = self.baseline.reference(self.now + 1, ROWS, PAIR, windows)
        return [round(float(each), 3) for each in reference.usual_us]


def test_answers_are_references_once_they_are_older_than_the_evidence() -> None:
    answers = Answers()
    for _ in range(3):
        answers.add(10, 11, 12)
    assert np.isnan(answers.usual()[2]), "two are older, and three are needed"
    answers.add(99, 99, 99)
    assert answers.usual() == [10, 11, 12]


def test_slow_answers_in_a_row_never_become_references() -> None:
    answers = Answers()
    for _ in range(6):
        answers.add(10, 10, 10)
    for _ in range(20):
        answers.add(30, 30, 30)
    assert answers.usual() == [10, 10, 10]


def test_a_single_slow_answer_is_part_of_what_is_usual() -> None:
    answers = Answers()
    for rtt_us in (10, 10, 30, 10):
        answers.add(rtt_us, rtt_us, rtt_us)
    assert answers.usual()[2] == 10, "of 10, 10 and 30"


def test_a_change_of_level_that_lasts_is_learnt_within_an_hour() -> None:
    answers = Answers()
    for _ in range(6):
        answers.add(10, 10, 10)
    bound = 15.0
    for _ in range(3600 // 40 + 8):
        answers.add(30, 30, 30, slow_us=bound)
        usual = answers.usual()[0]
        bound = 1.5 * usual  # NaN where nothing is known: then nothing is slow
    assert answers.usual() == [30, 30, 30]


def answered_pairs(level: np.ndarray, times: int) -> SparseLatency:
    """Two pairs of three five-tuples at these levels [us], 0: not probed; answered so often."""
    baseline = SparseLatency()
    known = np.flatnonzero(level)
    for turn in range(times):
        baseline.add(
            40 * turn, known, level[known], np.full(len(known), 40.0), np.full(len(known), 40.0)
        )
    return baseline


def test_a_new_five_tuple_is_compared_with_its_pair_at_a_wider_spread() -> None:
    rows, pair = np.arange(6), np.array([0, 0, 0, 1, 1, 1])
    baseline = answered_pairs(np.array([10, 11, 0, 20, 22, 21], np.float32), 10)
    found = baseline.reference(400, rows, pair, np.full(6, np.nan, np.float32))
    assert found.usual_us[2] == pytest.approx(10.5)
    assert 0.3 < found.spread_us[2] < 2.0
    assert found.spread_us[0] == 0.0


def test_five_tuples_of_a_pair_pool_their_first_answers() -> None:
    rows, pair = np.arange(6), np.array([0, 0, 0, 1, 1, 1])
    baseline = answered_pairs(np.array([10, 11, 12, 20, 0, 0], np.float32), 2)
    found = baseline.reference(80, rows, pair, np.full(6, np.nan, np.float32))
    assert found.usual_us[:3].tolist() == [11, 11, 11]
    assert np.isnan(found.usual_us[3:]).all(), "one answer of a pair is no reference"


def test_a_path_that_was_probed_more_often_keeps_what_its_windows_taught() -> None:
    answers = Answers()
    assert answers.usual(np.array([10, 11, 12], np.float32)) == [10, 11, 12]


def test_what_is_kept_of_a_path_fits_64_bytes_with_its_cadence() -> None:
    baseline = SparseLatency()
    rows = np.arange(1000)
    baseline.add(0, rows, np.ones(1000, np.float32), np.full(1000, 40.0), np.full(1000, np.nan))
    assert baseline.nbytes <= 60 * 1000
    assert SparseLatency().nbytes == 0


def test_dropped_paths_take_their_answers_along() -> None:
    answers = Answers()
    for _ in range(5):
        answers.add(10, 11, 12)
    answers.baseline.retain(np.array([False, True, True]))
    found = answers.baseline.reference(answers.now, ROWS[:2], PAIR[1:], NONE[:2])
    assert found.usual_us.tolist() == [11, 12]
