"""Drift baseline: ln(round trip) of each path in the present half hour and the three before.

Five-tuples are remembered, not endpoint pairs: agents change source ports, and with them routes,
which differ by more than an hour of drift. Where ports change every hour, only half hours within
it can be compared.

Memory: 4 half hours x 3 float32 and one more a path, 52 B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.parameters.parameter import parameter

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DriftBaselineParameters:
    """What is compared with what.

    period_s  length of a period
    lags      periods back with which a period is compared
    jump_s    after a hole in event time longer than this the past is dropped
    """

    period_s: int = parameter(1800, unit="s", source="SkeletonHunter, SIGCOMM 2025")
    lags: tuple[int, ...] = parameter(
        (1, 2, 3), unit="periods",
        source="chosen: make scorecard (drift found within two hours, also where source ports "
        "change every hour)",
    )  # fmt: skip
    jump_s: int = parameter(1800, unit="s", source="chosen: one period")


DEFAULT: Final = DriftBaselineParameters()


class PeriodFit(NamedTuple):
    """Log-normal fit of one period, per path: ln(round trip / first round trip).

    end_s     end of the period [s]
    answered  (P,) windows; total, square (P,) sum of the logarithms and of their squares
    """

    end_s: int
    answered: F32
    total: F32
    square: F32


class DriftBaseline:
    """Running sums of the present period, and the fits of those before."""

    def __init__(self, parameters: DriftBaselineParameters = DEFAULT) -> None:
        self.parameters = parameters
        self._first: F32 = np.empty(0, np.float32)  # ln of the first value: keeps sums small
        self._newest_s: int | None = None
        self._open: PeriodFit | None = None
        self._fits: list[PeriodFit] = []  # oldest first

    @property
    def nbytes(self) -> int:
        """Memory in use [B]."""
        fits = [*self._fits, *([self._open] if self._open else [])]
        return self._first.nbytes + sum(each.nbytes for fit in fits for each in fit[1:])

    def learn(self, end_s: int, path: I64, value_us: F64) -> None:
        """Add disjoint windows of healthy paths.

        end_s  end of the windows [s]; path (n,) rows; value_us (n,) > 0
        """
        if self._newest_s is not None and abs(end_s - self._newest_s) > self.parameters.jump_s:
            self.clear()
        self._newest_s = end_s
        period_end = -(-end_s // self.parameters.period_s) * self.parameters.period_s
        paths = max(int(path.max(initial=-1)) + 1, len(self._first))
        if self._open is None or self._open.end_s != period_end:
            zero = np.zeros(paths, np.float32)
            self._open = PeriodFit(period_end, zero, zero.copy(), zero.copy())
        self._first = padded(self._first, paths, np.nan)
        fit = PeriodFit(period_end, *(padded(each, paths, 0.0) for each in self._open[1:]))
        log = np.log(value_us)
        new = np.isnan(self._first[path])
        self._first[path[new]] = log[new]
        log -= self._first[path]
        fit.answered[path] += 1
        fit.total[path] += log.astype(np.float32)
        fit.square[path] += (log * log).astype(np.float32)
        self._open = fit

    def close(self, end_s: int) -> list[tuple[PeriodFit, PeriodFit]]:
        """End the period that ends with ``end_s``: its fit, paired with each earlier one.

        Shortest lag first; empty between periods and where nothing is known of before.
        """
        fit = self._open
        if fit is None or end_s != fit.end_s:
            return []
        self._open = None
        past = {each.end_s: each for each in self._fits}
        lags = self.parameters.lags
        self._fits = [*self._fits[-(len(lags) - 1) :], fit]
        ends = [end_s - lag * self.parameters.period_s for lag in lags]
        return [(fit, past[end]) for end in ends if end in past]

    def retain(self, rows: Bool) -> None:
        """Drop all other paths (P,)."""
        self._first = padded(self._first, len(rows), np.nan)[rows]
        self._fits = [_kept(fit, rows) for fit in self._fits]
        self._open = self._open and _kept(self._open, rows)

    def clear(self) -> None:
        """Drop the fits: event time jumped."""
        self._open, self._fits = None, []


def padded(values: F32, count: int, fill: float) -> F32:
    """(count,) values, those of paths that joined since filled up."""
    if len(values) >= count:
        return values
    return np.concatenate([values, np.full(count - len(values), fill, np.float32)])


def _kept(fit: PeriodFit, rows: Bool) -> PeriodFit:
    return PeriodFit(fit.end_s, *(padded(each, len(rows), 0.0)[rows] for each in fit[1:]))
