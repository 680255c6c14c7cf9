"""Bins of growing length: what is counted once is in every window that reaches back to it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from localizer.baselines.long_counts import LongCountParameters, LongCounts

PARAMETERS = LongCountParameters(bin_s=30, longest_s=900)


def counts(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=80))
def test_each_window_holds_what_was_sent_and_lost_in_it(sent: list[int]) -> None:
    bins = LongCounts(PARAMETERS)
    for number, each in enumerate(sent):
        bins.push(counts(each, 1), counts(each // 2, number % 2))
        lengths = bins.lengths
        assert lengths[0] == 30
        assert lengths == sorted(lengths)
        for length in lengths:
            newest = sent[: number + 1][-(length // 30) :]
            assert bins.total("sent", length, 2).tolist() == [sum(newest), len(newest)]
            assert bins.total("lost", length, 2)[0] == sum(each // 2 for each in newest)
            parts = bins.parts("sent", length, np.array([1, 0, 7]))
            assert parts.sum(axis=0).tolist() == [len(newest), sum(newest), 0]
            assert parts[0, 0] == 1, "newest first"


def test_a_quarter_of_an_hour_is_known_in_at_most_nine_bins() -> None:
    bins = LongCounts(PARAMETERS)
    for _ in range(200):
        bins.push(counts(1), counts(0))
        assert len(bins.lengths) <= 9
    assert bins.lengths[-1] >= 900
    assert bins.nbytes <= 9 * 6


def test_what_is_too_old_comes_back_once() -> None:
    bins, out = LongCounts(PARAMETERS), []
    for number in range(100):
        dropped = bins.push(counts(number), counts(0))
        out += [] if dropped is None else [dropped]
    remaining = int(bins.total("sent", bins.lengths[-1], 1)[0])
    assert sum(int(each.sent[0]) for each in out) + remaining == sum(range(100))
    assert sum(each.seconds for each in out) + bins.lengths[-1] == 100 * 30


def test_paths_may_join_leave_and_be_erased() -> None:
    bins = LongCounts(PARAMETERS)
    bins.push(counts(1, 2), counts(0, 1))
    bins.push(counts(1, 2, 4), counts(0, 1, 2))
    assert bins.total("sent", 60, 3).tolist() == [2, 4, 4]
    bins.erase(np.array([1]))
    assert bins.total("sent", 60, 3).tolist() == [2, 0, 4]
    bins.retain(np.array([False, True, True]))
    assert bins.total("lost", 60, 2).tolist() == [0, 2]
