"""Single answers of sparse paths: when they were slow, and whether they are so still."""

from __future__ import annotations

import numpy as np

from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.detectors.latency.sparse_evidence import SparseAnswers, SparseEvidence
from localizer.verdicts.parameters import LatencyVerdictParameters
from localizer.verdicts.rules.answers import Timing, by_pace, newest_slow, timing

PATHS, AT = 200, 1000
MINE = np.arange(PATHS) < 40
PEERS = np.zeros(PATHS, np.int64)
VOTE = np.ones(PATHS)
PARAMETERS = LatencyVerdictParameters()
SPREAD = AT - np.arange(PATHS) * 7 % 40  # over the 40 s of the evidence


def shift(second: np.ndarray, slow: np.ndarray, window_s: np.ndarray) -> LatencyDeviation:
    """One answer of each path; those whose evidence spans nothing have windows."""
    some = np.flatnonzero(window_s > 0)
    answers = SparseAnswers(some, second[some], slow[some])
    sparse = SparseEvidence(window_s, np.full(PATHS, 20.0), lambda: answers)
    zero = np.zeros(PATHS)
    return LatencyDeviation(
        np.ones(PATHS, bool), zero, zero + 1, slow, zero.astype(np.float32), sparse=sparse
    )


def seen(second: np.ndarray, slow: np.ndarray, windows: bool = False) -> Timing | None:
    window_s = np.full(PATHS, 40.0)
    if windows:
        window_s[:20] = 0.0
    found = shift(second, slow, window_s)
    assert found.sparse is not None
    counts = np.ones(PATHS, bool)
    return timing(found, found.sparse, AT, MINE.astype(float), counts, VOTE, PEERS, PARAMETERS)


def test_answers_that_are_slow_all_the_time_speak_for_the_component() -> None:
    found = seen(SPREAD, MINE)
    assert found is not None
    assert found.p_value < 1e-9
    assert found.lasting
    assert found.draws > PARAMETERS.least_draws


def test_probes_of_one_second_are_one_draw() -> None:
    found = seen(np.where(MINE, AT - 2, SPREAD), MINE)
    assert found is not None
    assert found.draws == 1


def test_trouble_that_the_newest_answers_do_not_show_is_over() -> None:
    found = seen(SPREAD, MINE & (SPREAD < AT - 10))
    assert found is not None
    assert not found.lasting


def test_paths_with_windows_speak_beside_sparse_ones() -> None:
    found = seen(np.where(MINE, AT - 2, SPREAD), MINE, windows=True)
    assert found is not None
    assert found.draws >= PARAMETERS.least_draws


def test_evidence_of_windows_alone_has_no_timing() -> None:
    found = shift(SPREAD, MINE, np.where(MINE, 0.0, 40.0))
    assert found.sparse is not None
    counts = np.ones(PATHS, bool)
    assert (
        timing(found, found.sparse, AT, MINE.astype(float), counts, VOTE, PEERS, PARAMETERS) is None
    )


def test_quick_paths_are_judged_before_the_slow_ones_join_them() -> None:
    window_s = np.repeat([0.0, 40.0, 400.0], [100, 50, 50])
    paces = by_pace(shift(SPREAD, MINE, window_s), 30, PARAMETERS)
    assert [int(each.shift.valid.sum()) for each in paces] == [100, 150, 200]
    assert [each.length_s for each in paces] == [30, 40, 400]


def test_a_fabric_of_one_cadence_is_judged_once() -> None:
    assert len(by_pace(shift(SPREAD, MINE, np.full(PATHS, 40.0)), 30, PARAMETERS)) == 1


def test_of_a_sparse_path_the_newest_answer_says_whether_it_is_slow_just_now() -> None:
    row, second = np.array([2, 2, 0, 0, 3]), np.array([9, 5, 5, 9, 1])
    slow = np.array([True, False, True, False, True])
    found = newest_slow(SparseAnswers(row, second, slow), 5)
    assert np.flatnonzero(found).tolist() == [2, 3]
