"""Loss above the past of a class: which past it is compared with."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localizer.verdicts.rules.loss.rise import Rise, older_past, rest_without

bins = st.lists(st.sampled_from([30, 60, 120, 240]), min_size=1, max_size=9)


@given(bins, st.integers(0, 8))
def test_the_older_past_begins_where_a_bin_does_and_is_no_shorter_than_the_window(
    lengths_of_bins: list[int], number: int
) -> None:
    lengths = list(accumulate(lengths_of_bins))
    window = lengths[number % len(lengths)]
    end = older_past(lengths, window, 1.0)
    assert end in lengths
    assert window <= end <= max(window, 2 * window)
    assert end == window or lengths[-1] - end >= window


def test_the_older_past_skips_the_bin_in_which_the_trouble_may_have_begun() -> None:
    assert older_past([60, 120, 240, 480, 960], 240, 1.0) == 480
    assert older_past([60, 120, 240, 480, 660], 240, 1.0) == 240  # too little would be left


def rise(p_values: list[float]) -> Rise:
    p = np.array(p_values)
    return Rise(p, 0.01 - p, 100 * p, p, np.ones(len(p)), np.full(len(p), 2e-4), 1.0)


def test_of_two_pasts_the_one_that_tells_more_counts_class_by_class() -> None:
    better = rise([1e-9, 0.5, 0.1]).or_else(rise([1e-3, 1e-4, 0.1]))
    assert better.p_values.tolist() == [1e-9, 1e-4, 0.1]
    assert better.past_lost.tolist() == [1e-9, 1e-4, 0.1]


def test_what_culprits_lose_does_not_count_as_the_rest_of_the_fabric() -> None:
    alone = rise([0.5, 0.5])
    many = Rise(
        alone.p_values, alone.above, alone.past_sent, alone.past_lost, np.array([500.0, 1.5]),
        alone.rest_then, 1.0,
    )  # fmt: skip
    clean = many.beside(control_lost=0.0, control_sent=1e6, usual=2e-4)
    assert clean.common.tolist() == [1.0, 1.0]
    congested = many.beside(control_lost=1e3, control_sent=1e6, usual=2e-4)
    assert congested.common[0] == pytest.approx(5.0, rel=0.01)
    assert congested.common[1] == 1.5  # never more than the whole rest says


@pytest.mark.parametrize("everywhere", [2e-4, 2e-3])
def test_what_a_spine_loses_on_paths_that_may_cross_it_is_no_loss_of_the_rest(
    everywhere: float,
) -> None:
    """Of four spines one loses 0.5 %; a fifth of the paths is traced."""
    share = np.r_[np.full(800, 0.25), np.full(50, 1.0), np.zeros(150)]
    sent = np.full(1000, 100_000)
    lost = np.round(sent * (everywhere + 0.005 * share)).astype(np.int64)
    pooled = ((1 - share) * lost).sum() / ((1 - share) * sent).sum()
    assert pooled > everywhere + 5e-4, "three quarters of what is lost perhaps count for the rest"
    assert rest_without(share, sent, lost, 2e-4) == pytest.approx(everywhere, rel=0.05)


def test_without_a_known_route_the_rest_of_the_fabric_is_what_it_seems() -> None:
    share, sent = np.full(100, 0.25), np.full(100, 10_000)
    lost = np.full(100, 20)
    assert rest_without(share, sent, lost, 2e-4) == pytest.approx(2e-3, rel=0.01)
