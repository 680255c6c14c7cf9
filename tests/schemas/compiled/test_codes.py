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
    places, used = compacted(codes_of(7, 2, 8, 7), codes_of(0, 1, 3), 9)
    assert places.tolist() == [1, 0, 1]
    assert used.tolist() == [2, 7]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.data())
def test_the_helper_gives_what_python_does(values: list[int], data: st.DataObject) -> None:
    compiled()
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=60))
    found = compacted(codes_of(*values), codes_of(*rows), 41)
    with in_python():
        expected = compacted(codes_of(*values), codes_of(*rows), 41)
    assert [values[row] for row in rows] == found[1][found[0]].tolist()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype == np.int32
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("code", "row", "places", "size"),
    [(2, 0, 1, 2), (-1, 0, 1, 2), (0, 0, 2, 2), (0, 0, 1, 0), (0, 1, 1, 2), (0, -1, 1, 2)],
)
def test_codes_out_of_range_are_refused(code: int, row: int, places: int, size: int) -> None:
    with pytest.raises(ValueError, match=r"out of range|in the place of"):
        compiled().compact_codes(
            codes_of(code), codes_of(row), np.empty(places, np.int32), np.empty(size, np.int32)
        )
