"""Latency baseline, short term: the windows of the last five minutes of each path.

Only windows that end on multiples of the window's length are remembered, so that they are
disjoint whatever the hop is. The value of a window is the mean of its three quartiles: it moves
once a quarter of the window is slow (P50 alone needs half), yet a burst of congestion shorter than
that leaves it alone. A window in which a path was flagged does not enter the path's reference, so
a lasting fault does not become the new normal.

Memory: 11 windows x 7 float32 a path, 308 B; with flags and the summary 335 B, 0.34 GB at a
million paths. Of paths that have no windows, as they are probed too rarely, the flags alone: 27 B.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.baselines.robust import MAD_TO_SIGMA, median_and_deviation
from schemas.parameters.parameter import parameter

F32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

#: Columns of the features of a window, in this order.
FEATURES: Final = ("p25", "p50", "p75", "min", "mean", "std", "max")
_MAX: Final = 6


@dataclass(frozen=True, slots=True)
class LatencyBaselineParameters:
    """How far the baseline looks back.

    windows       disjoint earlier windows that a window is compared with
    spread_from   windows that must be known before a path's own spread is used
    ceiling_from  windows that must be known before their maxima stand for the bursts of its jobs
    """

    windows: int = parameter(
        10, unit="windows",
        source="SkeletonHunter, SIGCOMM 2025: 5 min, which spans the burst cycles of training",
    )  # fmt: skip
    spread_from: int = parameter(
        4, unit="windows", source="chosen: pytest tests/localizer/baselines"
    )
    ceiling_from: int = parameter(
        8, unit="windows", source="chosen: pytest tests/localizer/detectors (bursts and spikes)"
    )


DEFAULT: Final = LatencyBaselineParameters()


@dataclass(frozen=True, slots=True)
class _Summary:
    """The references of a moment, summed up: (P,) each, NaN where unknown."""

    newest_s: int
    middle_us: F32  # median of their values
    spread_us: F32  # robust spread of their values, 0 where too few are known
    ceiling_us: F32  # second highest round trip among their maxima


class _Line(NamedTuple):
    """One remembered window: features (n, F) of the paths (n,) that have any, rising; None: of all
    paths (P,). NaN where nothing was answered; flagged (P,)."""

    rows: I32 | None
    features: F32
    flagged: Bool

    def calm(self) -> tuple[I64 | I32, F32]:
        """(m,) paths that answered and were not flagged, and their features (m, F)."""
        flagged = self.flagged if self.rows is None else self.flagged[self.rows]
        there = np.flatnonzero(~flagged & np.isfinite(self.features[:, _MAX]))
        return (there if self.rows is None else self.rows[there]), self.features[there]

    def of(self, rows: I64) -> F32:
        """(n, F) features of some paths (n,); NaN where there are none."""
        if self.rows is None:
            return self.features[rows]
        out = np.full((len(rows), len(FEATURES)), np.nan, np.float32)
        if len(self.rows):
            at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            found = self.rows[at] == rows
            out[found] = self.features[at[found]]
        return out

    def retained(self, rows: Bool) -> _Line:
        """The window without all paths but those of a mask (P,)."""
        rows = rows[: len(self.flagged)]  # older lines may hold fewer paths
        if self.rows is None:
            return _Line(None, self.features[rows], self.flagged[rows])
        kept = rows[self.rows]
        moved = (np.cumsum(rows) - 1).astype(np.int32)
        return _Line(moved[self.rows[kept]], self.features[kept], self.flagged[rows])


class LatencyBaseline:
    """Features of the disjoint windows of the last five minutes, per path."""

    def __init__(self, window_s: int = 30, parameters: LatencyBaselineParameters = DEFAULT) -> None:
        self.window_s = window_s
        self._parameters = parameters
        self._ring: dict[int, _Line] = {}
        self._summary = _Summary(-1, *(np.empty(0, np.float32) for _ in range(3)))
        self._reference: F32 = np.empty(0, np.float32)

    @property
    def nbytes(self) -> int:
        """Memory in use [B]."""
        known = self._summary
        lines = (known.middle_us, known.spread_us, known.ceiling_us, self._reference)
        past = [each for line in self._ring.values() for each in line if each is not None]
        return sum(each.nbytes for each in (*past, *lines))

    @property
    def reference(self) -> F32:
        """(P,) value that the newest window is compared with [us]; NaN where unknown."""
        return self._reference

    @property
    def middle(self) -> F32:
        """(P,) median of the windows of the last minutes [us]; NaN where there are none."""
        return self._summary.middle_us

    @property
    def spread(self) -> F32:
        """(P,) robust spread of the references' values [us]; 0 where too few are known."""
        return self._summary.spread_us

    @property
    def ceiling(self) -> F32:
        """(P,) second highest round trip among the maxima of the references [us], or NaN."""
        return self._summary.ceiling_us

    def advance(self, end_s: int, paths: int) -> None:
        """Set ``reference``, ``spread`` and ``ceiling`` to those of a window.

        end_s  end of the window [s]; paths  number of paths now
        """
        known = self._summarize(end_s, paths)
        self._reference = np.where(
            np.isfinite(known.middle_us), known.middle_us, _padded(self._reference, paths)
        )

    def adopt(self, rows: I64, usual_us: npt.NDArray[np.float64]) -> None:
        """Set ``reference`` of paths that have no windows (n,) to what their newest answers are
        compared with [us]."""
        self._reference[rows] = usual_us

    def learn(self, end_s: int, features: F32, flagged: Bool, rows: I64 | None = None) -> None:
        """Remember a window, if it ends on a multiple of the window's length.

        features  (n, F) as in FEATURES [us], NaN where unknown; flagged (P,) paths found slow
        rows      (n,) paths of the features, rising; None: all
        """
        if end_s % self.window_s == 0:
            of = None if rows is None else rows.astype(np.int32)
            self._ring[end_s] = _Line(of, features.astype(np.float32), flagged)
        oldest_s = end_s - self._parameters.windows * self.window_s
        for old in [at for at in self._ring if at < oldest_s]:
            del self._ring[old]

    def references(self, rows: I64) -> F32:
        """(n, windows, F) remembered windows of some paths; NaN where a window is absent.

        Of flagged windows in a row only the last counts, and only once a window without a flag has
        followed: a fault that lasts must not be its own precedent.
        """
        shape = (len(rows), self._parameters.windows, len(FEATURES))
        stack = np.full(shape, np.nan, np.float32)
        calm, newer_flagged = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
        for back, line in self._past(self._summary.newest_s):
            there = np.flatnonzero(rows < len(line.flagged))
            features, flagged = line.of(rows[there]), line.flagged[rows[there]]
            counts = ~flagged | (calm[there] & ~newer_flagged[there])
            stack[there[counts], back] = features[counts]
            calm[there] |= ~flagged & np.isfinite(features[:, _MAX])
            newer_flagged[there] = flagged
        return stack

    def flagged_before(self, windows: int, paths: int) -> Bool:
        """(P,) paths that were flagged in each of so many remembered windows, the newest ones that
        are disjoint from the one that was compared last."""
        out, found = np.ones(paths, bool), 0
        for back, line in self._past(self._summary.newest_s):
            if back < windows:
                found += 1
                out[: len(line.flagged)] &= line.flagged
                out[len(line.flagged) :] = False
        return out & (found == windows)

    def retain(self, rows: Bool) -> None:
        """Drop all other paths (P,)."""
        count, known = len(rows), self._summary
        self._ring = {at: line.retained(rows) for at, line in self._ring.items()}
        self._summary = replace(
            known, middle_us=_padded(known.middle_us, count)[rows],
            spread_us=_padded(known.spread_us, count, 0.0)[rows],
            ceiling_us=_padded(known.ceiling_us, count)[rows],
        )  # fmt: skip
        self._reference = _padded(self._reference, count)[rows]

    def clear(self) -> None:
        """Drop everything: event time jumped."""
        self._ring.clear()
        self._summary = _Summary(-1, *(np.empty(0, np.float32) for _ in range(3)))
        self._reference = np.empty(0, np.float32)

    def _summarize(self, end_s: int, paths: int) -> _Summary:
        """Summary of the references of a window that ends with ``end_s``; it changes only once in
        the length of a window."""
        newest_s = (end_s // self.window_s - 1) * self.window_s
        known = self._summary
        if known.newest_s != newest_s:
            known = self._summary_of(newest_s, paths)
        self._summary = _Summary(
            newest_s, _padded(known.middle_us, paths),
            _padded(known.spread_us, paths, 0.0), _padded(known.ceiling_us, paths),
        )  # fmt: skip
        return self._summary

    def _summary_of(self, newest_s: int, paths: int) -> _Summary:
        calm = [(back, *line.calm()) for back, line in self._past(newest_s)]
        there = np.zeros(paths, bool)
        for _, rows, _ in calm:
            there[rows] = True
        some = np.flatnonzero(there)  # of the others nothing is known
        number = np.cumsum(there, dtype=np.int32) - np.int32(1)
        value = np.full((self._parameters.windows, len(some)), np.nan, np.float32)
        highest = np.full((2, len(some)), -np.inf, np.float32)  # the two greatest, rising
        for back, rows, past in calm:
            at = slice(None) if len(rows) == len(some) else number[rows]
            value[back, at] = mean_of_quartiles(past)
            most = past[:, _MAX]
            second = np.minimum(most, highest[1, at])
            highest[0, at] = np.maximum(highest[0, at], second)
            highest[1, at] = np.maximum(highest[1, at], most)
        middle, apart = median_and_deviation(value)
        count = np.isfinite(value).sum(axis=0, dtype=np.int8)
        spread = np.where(count < self._parameters.spread_from, 0.0, MAD_TO_SIGMA * apart)
        ceiling = np.where(count < self._parameters.ceiling_from, np.nan, highest[0])
        return _Summary(
            newest_s, _spread_out(some, middle, paths, np.nan),
            _spread_out(some, spread, paths, 0.0), _spread_out(some, ceiling, paths, np.nan),
        )  # fmt: skip

    def _past(self, newest_s: int) -> Iterator[tuple[int, _Line]]:
        for back in range(self._parameters.windows):
            if (line := self._ring.get(newest_s - back * self.window_s)) is not None:
                yield back, line


def mean_of_quartiles(features: F32, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """(P,) mean of the three quartiles of windows (P, F), added up in this type.

    numpy's mean over so short an axis takes ten times as long.
    """
    first, second, third = (features[:, each].astype(dtype, copy=False) for each in (0, 1, 2))
    total: npt.NDArray[Any] = first + second
    total += third
    total /= np.dtype(dtype).type(3)
    return total


def _spread_out(rows: I64, values: npt.NDArray[Any], paths: int, fill: float) -> F32:
    """(P,) values (n,) of some paths (n,); the fill value of the others."""
    out = np.full(paths, fill, np.float32)
    out[rows] = values
    return out


def _padded(values: F32, paths: int, fill: float = np.nan) -> F32:
    if len(values) == paths:
        return values
    return np.concatenate([values, np.full(paths - len(values), fill, np.float32)])
