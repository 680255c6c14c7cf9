"""One value a path and second, of which only those that were given are stored.

Of a million paths hardly any loses a probe in a given second, and of those that are probed every
10 s nine in ten have no round trip in it. So a second holds rows and values, and is written out as
a line (P,) when it is read; where most paths have a value the line itself is stored.

Memory: 4 B and a value for each value that is given; of more than a third of all paths the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Values = npt.NDArray[Any]

_MOST: Final = 3  # of more than a third of all paths, a line is smaller or as small
_SUMS: Final = 4  # of stretches, that are remembered: a second asks for the same ones many times


class Line(NamedTuple):
    """One second: values (n,) of some rows (n,), the last one of a row counts; without rows those
    of all paths (P,) of that time."""

    rows: I32 | None
    values: Values


class SparseLines:
    """Values of the newest seconds of P paths, 0 where none was given."""

    def __init__(self, seconds: int, dtype: npt.DTypeLike) -> None:
        """seconds: how many are stored; dtype: of the values"""
        self._seconds, self._dtype = seconds, np.dtype(dtype)
        self._lines: dict[int, Line] = {}
        self._sums: dict[tuple[int, int, int], U32] = {}

    @property
    def nbytes(self) -> int:
        """Memory in use [B], without sums that are remembered until the next second."""
        lines = self._lines.values()
        return sum(sum(part.nbytes for part in line if part is not None) for line in lines)

    def put(self, second: int, rows: I64, values: Values, paths: int) -> None:
        """Write the values (n,) of some rows (n,) of so many paths; seconds come in order."""
        self._sums.clear()
        oldest = second - self._seconds + 1
        self._lines = {s: line for s, line in self._lines.items() if oldest <= s < second}
        if len(rows) > paths // _MOST:
            every = np.zeros(paths, self._dtype)
            every[rows] = values
            self._lines[second] = Line(None, every)
        elif len(rows):
            self._lines[second] = Line(rows.astype(np.int32), values.astype(self._dtype))

    def line(self, second: int, paths: int) -> Values:
        """(P,) one second."""
        out = np.zeros(paths, self._dtype)
        found = self._lines.get(second)
        if found is None:
            return out
        if found.rows is None:
            out[: len(found.values)] = found.values
        else:
            out[found.rows] = found.values
        return out

    def given(self, second: int) -> tuple[I64, Values]:
        """(n,) rows, and their values (n,), of which some may be 0; of a row that was given twice
        both."""
        found = self._lines.get(second)
        if found is None:
            return np.empty(0, np.int64), np.empty(0, self._dtype)
        if found.rows is None:
            return np.arange(len(found.values)), found.values
        return found.rows.astype(np.int64), found.values

    def total(self, second: int, length: int, paths: int) -> U32:
        """(P,) sum of counts, each row of which was given once, over ``length`` seconds up to and
        with ``second``, modulo 2^32; it is not to be written."""
        key = (second, length, paths)
        known = self._sums.get(key)
        if known is not None:
            return known
        out = np.zeros(paths, np.uint32)
        for found in self._within(second, length):
            if found.rows is None:
                out[: len(found.values)] += found.values
            else:
                out[found.rows] += found.values
        self._sums[key] = out
        while len(self._sums) > _SUMS:
            del self._sums[next(iter(self._sums))]
        return out

    def by_second(self, second: int, length: int, rows: I64, paths: int) -> I64:
        """(length,) sum of counts over some rows (n,) in each of these seconds."""
        times = np.bincount(rows, minlength=paths)
        out = np.zeros(length, np.int64)
        for at in range(length):
            found = self._lines.get(second - length + 1 + at)
            if found is not None:
                of = times[: len(found.values)] if found.rows is None else times[found.rows]
                out[at] = (found.values * of).sum()
        return out

    def rows(self, second: int, length: int) -> I64:
        """(n,) rows with a value in these seconds, rising; some of them may be 0."""
        found = [np.flatnonzero(line.values) if line.rows is None else line.rows
                 for line in self._within(second, length)]  # fmt: skip
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))

    def _within(self, second: int, length: int) -> Iterator[Line]:
        for at in range(second - length + 1, second + 1):
            if (found := self._lines.get(at)) is not None:
                yield found

    def erase(self, rows: Bool) -> None:
        """Drop the values of a mask of paths (P,)."""
        self._sums.clear()
        for second, (given, values) in self._lines.items():
            if given is None:
                self._lines[second] = Line(None, np.where(rows[: len(values)], 0, values))
            else:
                kept = ~rows[given]
                self._lines[second] = Line(given[kept], values[kept])

    def retain(self, rows: Bool) -> None:
        """Drop all paths but those of a mask (P,); the rest close the gaps."""
        self._sums.clear()
        moved = (np.cumsum(rows) - 1).astype(np.int32)
        for second, (given, values) in self._lines.items():
            if given is None:
                self._lines[second] = Line(None, values[rows[: len(values)]])
            else:
                kept = rows[given]
                self._lines[second] = Line(moved[given[kept]], values[kept])

    def clear(self) -> None:
        """Drop everything."""
        self._lines.clear()
        self._sums.clear()
