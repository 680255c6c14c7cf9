"""Medians of many columns at once are those of each column, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from localizer.baselines.robust import median, median_and_deviation, sorted_lines

SHAPES = st.tuples(st.integers(1, 12), st.integers(0, 20))
WIDTH = {np.float32: 32, np.float64: 64}


def lines(dtype: type[np.floating], *, nan: bool) -> st.SearchStrategy[np.ndarray]:
    values = st.floats(0, 1e6, width=WIDTH[dtype])
    absent = st.just(np.nan) if nan else st.nothing()
    return arrays.arrays(dtype, SHAPES, elements=st.one_of(values, absent))


@given(st.sampled_from([np.float32, np.float64]).flatmap(lambda kind: lines(kind, nan=True)))
def test_medians_and_deviations_are_those_of_each_column(values: np.ndarray) -> None:
    found, apart = median_and_deviation(values)
    columns = values.T[:, :, None]
    middle = median(columns)[:, 0]
    assert np.array_equal(found, middle, equal_nan=True)
    distance = np.abs(columns - middle[:, None, None])
    assert np.array_equal(apart, median(distance)[:, 0], equal_nan=True)


@given(lines(np.float64, nan=True))
def test_a_median_leaves_out_what_is_absent(values: np.ndarray) -> None:
    some = values[:, np.isfinite(values).any(axis=0)]
    found, _ = median_and_deviation(some)
    assert found == pytest.approx(np.nanmedian(some, axis=0) if some.size else [])


def test_more_columns_than_are_sorted_at_once_have_their_own_medians() -> None:
    values = np.random.default_rng(1).normal(20, 3, (5, 20_000)).astype(np.float32)
    values[1:3, ::7] = np.nan
    found, _ = median_and_deviation(values)
    assert np.array_equal(found, median(values.T[:, :, None])[:, 0])


@given(lines(np.float32, nan=False))
def test_lines_are_sorted_column_by_column(values: np.ndarray) -> None:
    wanted = np.sort(values, axis=0)
    assert np.array_equal(np.array(sorted_lines(values)), wanted)
