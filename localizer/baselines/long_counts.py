"""Counts of the last quarter of an hour per path, in bins that grow with their age.

Two bins of each length, 30, 60, 120 ... s: when a third one is there, the two oldest become one of
twice the length. So every window that ends now is known to within a third of its length.

Memory: 6 B a bin and path, at most 9 bins.
Source  exponential histograms: Datar, Gionis, Indyk & Motwani, SIAM J. Comput. 2002
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt

from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]

_MOST_LOST: Final = np.iinfo(np.uint16).max


@dataclass(frozen=True, slots=True)
class LongCountParameters:
    """bin_s     length of the newest bins
    longest_s  what is older is dropped, bin by bin
    """

    bin_s: int = parameter(30, unit="s", source="chosen: the longest window of single panes")
    longest_s: int = parameter(
        900, unit="s", source="chosen: gray loss must be named within a quarter of an hour"
    )


DEFAULT: Final = LongCountParameters()


@dataclass(frozen=True, slots=True)
class _Bin:
    """seconds  length; sent, lost (P,) at the time when the bin was closed."""

    seconds: int
    sent: U32
    lost: U16


@dataclass(frozen=True, slots=True)
class Dropped:
    """A bin that has become too old: counts (P,) of its time; 0 for paths that joined since."""

    seconds: int
    sent: I64
    lost: I64


class LongCounts:
    """Bins of P paths, oldest first."""

    def __init__(self, parameters: LongCountParameters = DEFAULT) -> None:
        self.parameters = parameters
        self._bins: list[_Bin] = []

    @property
    def nbytes(self) -> int:
        """Memory in use [B]."""
        return sum(each.sent.nbytes + each.lost.nbytes for each in self._bins)

    @property
    def lengths(self) -> list[int]:
        """Lengths of the windows that end with the newest bin [s], shortest first."""
        newest_first = [each.seconds for each in reversed(self._bins)]
        return list(accumulate(newest_first))

    def push(self, sent: I64, lost: I64) -> Dropped | None:
        """Add the newest ``bin_s`` seconds, (P,) each; returns the bin that this makes too old."""
        few = np.minimum(lost, _MOST_LOST).astype(np.uint16)
        self._bins.append(_Bin(self.parameters.bin_s, sent.astype(np.uint32), few))
        seconds = self.parameters.bin_s
        while len(same := [n for n, each in enumerate(self._bins) if each.seconds == seconds]) > 2:
            first, second = same[:2]
            self._bins[first : second + 1] = [_sum(self._bins[first], self._bins[second])]
            seconds *= 2
        oldest = self._bins[0]
        if sum(each.seconds for each in self._bins[1:]) < self.parameters.longest_s:
            return None
        del self._bins[0]
        sent, lost = (_padded(each, len(sent)) for each in (oldest.sent, oldest.lost))
        return Dropped(oldest.seconds, sent, lost)

    def total(self, name: str, length: int, paths: int) -> I64:
        """(P,) ``sent`` or ``lost`` in the bins of one of ``lengths``."""
        out = np.zeros(paths, np.int64)
        for each in self._within(length):
            values = getattr(each, name)
            out[: len(values)] += values
        return out

    def parts(self, name: str, length: int, rows: I64) -> I64:
        """(B, n) the same of some paths, bin by bin, newest first."""
        bins = self._within(length)
        out = np.zeros((len(bins), len(rows)), np.int64)
        for line, each in zip(out, bins, strict=True):
            there = rows < len(each.sent)
            line[there] = getattr(each, name)[rows[there]]
        return out

    def _within(self, length: int) -> list[_Bin]:
        """The newest bins of so many seconds, newest first."""
        ends = accumulate(each.seconds for each in reversed(self._bins))
        count = sum(end <= length for end in ends)
        return self._bins[::-1][:count]

    def erase(self, rows: I64) -> None:
        """Drop the counts of some paths."""
        for each in self._bins:
            mine = rows[rows < len(each.sent)]
            each.sent[mine], each.lost[mine] = 0, 0

    def clear(self) -> None:
        """Drop everything."""
        self._bins.clear()

    def retain(self, rows: Bool) -> None:
        """Drop all other paths (P,)."""
        self._bins = [
            replace(each, sent=each.sent[rows[: len(each.sent)]],
                    lost=each.lost[rows[: len(each.lost)]])
            for each in self._bins
        ]  # fmt: skip


def _sum(older: _Bin, newer: _Bin) -> _Bin:
    paths = len(newer.sent)
    lost = _padded(older.lost, paths) + _padded(newer.lost, paths)
    return _Bin(
        older.seconds + newer.seconds,
        (_padded(older.sent, paths) + newer.sent).astype(np.uint32),
        np.minimum(lost, _MOST_LOST).astype(np.uint16),
    )


def _padded(values: U32 | U16, paths: int) -> I64:
    out = np.zeros(paths, np.int64)
    out[: len(values)] = values
    return out
