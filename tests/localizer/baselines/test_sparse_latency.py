"""What the answers of paths that are probed rarely are compared with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from localizer.baselines.robust import MAD_TO_SIGMA
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


def simple_reference(past: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What n paths are compared with, path by path; past (n, R), 0 where absent."""
    known = [each[each > 0].astype(float) for each in past]
    usual, spread = np.full(len(past), np.nan), np.zeros(len(past))
    own = np.array([len(each) >= 3 for each in known])
    of_pair = {code: np.concatenate([known[i] for i in np.flatnonzero(pair == code)])
               for code in set(pair[~own].tolist())}  # fmt: skip
    apart = [abs(each / np.median(each) - 1) for each in of_pair.values() if len(each)]
    noise = MAD_TO_SIGMA * np.median(np.concatenate(apart)) if apart else 0.0
    for path, answers in enumerate(known):
        if own[path]:
            usual[path] = np.median(answers)
            if len(answers) >= 4:
                spread[path] = MAD_TO_SIGMA * np.median(abs(answers - usual[path]))
        elif len(lent := of_pair[int(pair[path])]) >= 3:
            usual[path] = np.median(lent)
            spread[path] = noise * usual[path]
    return usual, spread


@given(st.data())
def test_references_are_those_of_each_path_by_itself_or_else_of_its_pair(
    data: st.DataObject,
) -> None:
    paths = data.draw(st.integers(1, 12))
    level = st.integers(8, 400).map(lambda eighths: eighths / 8)
    answers = data.draw(arrays.arrays(np.float32, (9, paths), elements=st.just(0.0) | level))
    pair = data.draw(arrays.arrays(np.int64, paths, elements=st.integers(0, 4)))
    baseline = SparseLatency()
    past: list[list[float]] = [[] for _ in range(paths)]
    for turn, line in enumerate(answers):
        rows = np.flatnonzero(line)
        unknown = np.full(len(rows), np.nan)
        baseline.add(40 * turn, rows, line[rows], np.zeros(len(rows)), unknown)
        for row in rows.tolist():
            past[row].append(float(line[row]))
    # With evidence of no length an answer is a reference as soon as there is a newer one.
    kept = np.array([([0.0] * 5 + each[:-1])[-5:] for each in past])
    some = np.flatnonzero(data.draw(arrays.arrays(bool, paths)) | ([True] + [False] * (paths - 1)))
    found = baseline.reference(360, some, pair[some], np.full(len(some), np.nan, np.float32))
    usual, spread = simple_reference(kept[some], pair[some])
    assert np.allclose(found.usual_us, usual, rtol=1e-12, equal_nan=True)
    assert np.allclose(found.spread_us, spread, rtol=1e-6, atol=1e-9)
