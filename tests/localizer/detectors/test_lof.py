"""Local Outlier Factor: the same numbers as scikit-learn's, for all paths at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import LocalOutlierFactor

from localizer.baselines.robust import median
from localizer.detectors.lof import in_noise_units, local_outlier_factor


def by_scikit_learn(references: np.ndarray, query: np.ndarray, k: int) -> float:
    model = LocalOutlierFactor(n_neighbors=k, novelty=True).fit(references)
    return -float(model.score_samples(query[None])[0])


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(6, 10))
@settings(deadline=None, max_examples=25)
def test_the_factor_equals_scikit_learns(seed: int, k: int, windows: int) -> None:
    rng = np.random.default_rng(seed)
    references = rng.lognormal(3, rng.choice([0.05, 1.0]), (12, windows, 7))
    query = rng.lognormal(3, 0.5, (12, 7))
    mine = local_outlier_factor(references, query, k)
    theirs = [by_scikit_learn(r, q, k) for r, q in zip(references, query, strict=True)]
    assert mine == pytest.approx(theirs, rel=1e-9)


def test_an_absent_window_is_as_if_it_had_never_been() -> None:
    rng = np.random.default_rng(1)
    references, query = rng.normal(20, 1, (1, 10, 7)), rng.normal(22, 1, (1, 7))
    references[0, [2, 7]] = np.nan
    present = references[:, [0, 1, 3, 4, 5, 6, 8, 9]]
    assert local_outlier_factor(references, query) == local_outlier_factor(present, query)
    assert local_outlier_factor(references, query)[0] == pytest.approx(
        by_scikit_learn(present[0], query[0], 3)
    )


def test_too_few_windows_or_no_query_give_no_score() -> None:
    references = np.random.default_rng(2).normal(20, 1, (2, 10, 7))
    references[0, 3:] = np.nan
    query = np.full((2, 7), 20.0)
    query[1, 5] = np.nan
    assert np.isnan(local_outlier_factor(references, query)).all()


def test_equal_windows_are_no_outliers_of_each_other() -> None:
    same = np.full((1, 10, 7), 20.0)
    assert local_outlier_factor(same, same[:, 0])[0] == pytest.approx(1.0)


def test_more_paths_than_one_block_are_scored_alike() -> None:
    rng = np.random.default_rng(3)
    references, query = rng.normal(20, 1, (5000, 10, 7)), rng.normal(20, 1, (5000, 7))
    whole = local_outlier_factor(references, query)
    assert whole[4990:] == pytest.approx(local_outlier_factor(references[4990:], query[4990:]))


def test_a_burst_that_comes_again_is_usual_and_a_fault_is_not() -> None:
    rng = np.random.default_rng(4)
    quiet = rng.normal(15, 0.3, (1, 10, 7))
    quiet[0, ::3] += 8.0  # every third window has a burst in it
    burst, fault = quiet[:, 3] + 0.1, quiet[:, 1] + 30.0
    scores = [local_outlier_factor(*in_noise_units(quiet, q))[0] for q in (burst, fault)]
    assert scores[0] < 1.5 < 3.0 < scores[1]


def test_the_median_leaves_out_what_is_absent() -> None:
    values = np.random.default_rng(5).normal(0, 1, (50, 9, 3))
    values[np.random.default_rng(6).random((50, 9)) < 0.3] = np.nan
    values[7] = np.nan
    known = np.arange(50) != 7
    assert median(values)[known] == pytest.approx(np.nanmedian(values[known], axis=1))
    assert np.isnan(median(values)[7]).all()
