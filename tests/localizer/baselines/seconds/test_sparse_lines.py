"""Lines of which only some values are stored are what was written into them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.baselines.seconds.sparse_lines import SparseLines

SECONDS = 4
VALUES = st.dictionaries(st.integers(0, 8), st.integers(0, 3), max_size=9)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(1, 3), VALUES),
            st.tuples(st.sampled_from(["erase", "keep"]), st.integers(0, 8), st.just({})),
            st.tuples(st.just("clear"), st.just(0), st.just({})),
        ),
        max_size=20,
    ),
    st.integers(1, SECONDS),
)
@settings(deadline=None)
def test_seconds_hold_the_values_that_were_given(
    story: list[tuple[str, int, dict[int, int]]], length: int
) -> None:
    lines, now, paths = SparseLines(SECONDS, np.uint32), 100, 3
    by_hand: dict[int, np.ndarray] = {}
    for what, number, values in story:
        if what == "put":
            now += number
            paths = max([paths, *(row + 1 for row in values)])
            rows, counts = np.array(list(values), np.int64), np.array(list(values.values()), int)
            lines.put(now, rows, counts.astype(np.uint32), paths)
            by_hand = {s: np.pad(line, (0, paths - len(line))) for s, line in by_hand.items()}
            by_hand[now] = np.zeros(paths, np.int64)
            by_hand[now][rows] = counts
        elif what == "clear":
            lines.clear()
            by_hand = {}
        else:
            mask = np.arange(paths) == number
            if what == "erase":
                lines.erase(mask)
                by_hand = {s: np.where(mask, 0, line) for s, line in by_hand.items()}
            else:
                lines.retain(~mask)
                by_hand = {s: line[~mask] for s, line in by_hand.items()}
                paths = int((~mask).sum())
        none = np.zeros(paths, np.int64)
        stretch = [by_hand.get(s, none) for s in range(now - length + 1, now + 1)]
        assert lines.line(now, paths).tolist() == stretch[-1].tolist()
        for _ in range(2):  # the second time from what is remembered
            assert lines.total(now, length, paths).tolist() == sum(stretch).tolist()
        some = np.arange(0, paths, 2)
        sums = lines.by_second(now, length, some, paths)
        assert sums.tolist() == [int(line[some].sum()) for line in stretch]
        lossy = lines.rows(now, length)
        assert set(np.flatnonzero(sum(stretch))) <= set(lossy.tolist())
        row, value = lines.given(now)
        assert dict(zip(row[value > 0].tolist(), value[value > 0].tolist(), strict=True)) == {
            at: count for at, count in enumerate(stretch[-1].tolist()) if count
        }


def test_few_values_take_little_memory_and_many_a_line() -> None:
    lines, paths = SparseLines(SECONDS, np.float32), 1000
    lines.put(1, np.arange(10), np.ones(10, np.float32), paths)
    assert lines.nbytes == 10 * 8
    lines.put(2, np.arange(900), np.ones(900, np.float32), paths)
    assert lines.nbytes == 10 * 8 + 4 * paths
