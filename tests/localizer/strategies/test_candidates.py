"""Entries by candidate: a counting sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from localizer.strategies.hypothesis.candidates import by_code


@given(st.integers(0, 12).flatmap(lambda most: st.tuples(
    st.just(most + 1), st.lists(st.integers(0, most), max_size=60))))  # fmt: skip
def test_codes_are_ordered_as_by_a_stable_sort(of: tuple[int, list[int]]) -> None:
    count, codes = of[0], np.array(of[1], np.int64)
    order, start = by_code(codes, count)
    assert order.tolist() == np.argsort(codes, kind="stable").tolist()
    for code in range(count):
        assert (codes[order[start[code] : start[code + 1]]] == code).all()
    assert start[-1] == len(codes)


def test_no_entries_of_no_candidates_are_in_order() -> None:
    order, start = by_code(np.empty(0, np.int64), 0)
    assert (len(order), start.tolist()) == (0, [0])
