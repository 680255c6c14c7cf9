"""How many five-tuples cover all ECMP paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.ping_lists.ports import five_tuples_to_cover, missed


@pytest.mark.parametrize(("paths", "published"), [(4, 21), (8, 51), (16, 115), (32, 255)])
def test_the_published_table_for_a_probability_of_99_percent(paths: int, published: int) -> None:
    assert five_tuples_to_cover(paths, 0.99) == published


def test_hashes_drawn_at_random_miss_a_path_as_often_as_the_formula_says() -> None:
    drawn = np.random.default_rng(1).integers(0, 8, (20_000, 30))
    misses = np.mean([len(set(row)) < 8 for row in drawn.tolist()])
    assert misses == pytest.approx(missed(8, 30), abs=0.01)


@given(st.integers(2, 300), st.floats(0.5, 0.999))
def test_the_count_is_enough_and_one_less_is_not(paths: int, probability: float) -> None:
    count = five_tuples_to_cover(paths, probability)
    assert missed(paths, count) <= 1 - probability < missed(paths, count - 1)


@given(st.integers(1, 300), st.integers(0, 2000))
def test_what_is_missed_is_a_probability_and_falls_with_more_five_tuples(
    paths: int, five_tuples: int
) -> None:
    assert 0 <= missed(paths, five_tuples + 1) <= missed(paths, five_tuples) <= 1


def test_one_path_takes_one_five_tuple_and_certainty_is_refused() -> None:
    assert five_tuples_to_cover(1, 0.99) == 1
    with pytest.raises(ValueError, match="between 0 and 1"):
        five_tuples_to_cover(4, 1.0)
