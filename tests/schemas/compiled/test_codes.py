"""Codes of a large table as places among those that are used: by the helper as in Python."""

from __future__ import annotations

import numpy as np
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from hypothesis import given
from hypothesis import strategies as st

from schemas.compiled.codes import I32, compacted


def codes_of(*values: int) -> I32:
    return np.array(values, np.int32)


def test_codes_that_are_not_used_have_no_place() -> None:
    places, used = compacted(codes_of(7, 2, 7), 9)
    assert places.tolist() == [1, 0, 1]
    assert used.tolist() == [2, 7]


@given(st.lists(st.integers(0, 40), max_size=60))
def test_the_helper_gives_what_python_does(values: list[int]) -> None:
    compiled()
    found = compacted(codes_of(*values), 41)
    with in_python():
        expected = compacted(codes_of(*values), 41)
    assert values == found[1][found[0]].tolist()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype == np.int32
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(("code", "places", "size"), [(2, 1, 2), (-1, 1, 2), (0, 2, 2), (0, 1, 0)])
def test_codes_out_of_range_are_refused(code: int, places: int, size: int) -> None:
    with pytest.raises(ValueError, match=r"out of range|in the place of"):
        compiled().compact_codes(
            codes_of(code), np.empty(places, np.int32), np.empty(size, np.int32)
        )
