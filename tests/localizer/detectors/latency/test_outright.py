"""Slow outright: three quarters of the answers of a window, by far, and four at least."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.detectors.latency.outright import far_above, outright
from localizer.detectors.latency.parameters import LatencyParameters
from localizer.detectors.latency.sparse_evidence import SparseAnswers, SparseEvidence

USUAL_US, NOISE_US, SECONDS = 20.0, 0.5, 30
#: A path is flagged from the larger of 4 x 0.5 us, 2 us and 10 % of 20 us on: far is 4 x 2 us.
FAR_US = 8.0


def shift(excess_us: float, window_s: float | None = None) -> LatencyDeviation:
    one = np.ones(1)
    sparse = None
    if window_s is not None:
        none = SparseAnswers(*(np.empty(0, np.int64) for _ in range(2)), np.empty(0, bool))
        sparse = SparseEvidence(one * window_s, one * 22.0, lambda: none)
    return LatencyDeviation(
        one > 0, one * excess_us, one * NOISE_US, one * excess_us > 2.0,
        one.astype(np.float32), sparse=sparse,
    )  # fmt: skip


def usual() -> npt.NDArray[np.float32]:
    return np.full(1, USUAL_US, np.float32)


def answers(slow: int, quick: int) -> npt.NDArray[np.float32]:
    """(S, 1) so many answers in a window, 20 us above the usual or as usual."""
    rtt = np.zeros((SECONDS, 1), np.float32)
    rtt[:slow], rtt[slow : slow + quick] = USUAL_US + 20.0, USUAL_US
    return rtt


@pytest.mark.parametrize(("excess_us", "far"), [(1.0, 0), (FAR_US - 0.1, 0), (FAR_US + 0.1, 1)])
def test_an_excess_is_far_from_four_times_what_flags_a_path_on(excess_us: float, far: int) -> None:
    assert len(far_above(shift(excess_us), usual())) == far


def test_few_answers_of_a_sparse_path_are_no_window() -> None:
    assert len(far_above(shift(20.0, window_s=40.0), usual())) == 0
    assert len(far_above(shift(20.0, window_s=0.0), usual())) == 1


@pytest.mark.parametrize(
    ("slow", "quick", "is_so"),
    [(30, 0, True), (23, 7, True), (22, 8, False), (4, 0, True), (4, 1, True), (3, 0, False)],
)
def test_it_takes_three_quarters_of_the_answers_and_four(
    slow: int, quick: int, is_so: bool
) -> None:
    found = outright(shift(20.0), np.zeros(1, np.int64), answers(slow, quick), usual())
    assert found.tolist() == [is_so]


def test_answers_that_are_slow_by_little_do_not_count() -> None:
    rtt = np.full((SECONDS, 1), USUAL_US + FAR_US / 2, np.float32)
    assert not outright(shift(20.0), np.zeros(1, np.int64), rtt, usual()).any()


def test_parameters_say_how_far() -> None:
    lax = LatencyParameters(outright=1.0)
    assert len(far_above(shift(3.0), usual(), lax)) == 1
