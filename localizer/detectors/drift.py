"""Latency, long term: a drift too slow for windows of five minutes to notice. Pure.

Per five-tuple and half hour ln(round trip) is taken as normal; its mean is compared with the fits
of half an hour, an hour and an hour and a half before (after SkeletonHunter, SIGCOMM 2025).
Five-tuples, not endpoint pairs: agents change source ports, and with them routes, which differ by
more than an hour of drift. Where they do so every hour, only half hours within it can be compared,
so that an hour's drift must be seen in half of it. What moves all paths of a crowd alike, such as
the time of day or a job that trains harder, is nobody's fault, so the crowd's middle shift is
taken away; and what still moves many components at once widens the yardstick for all of them.

Memory: 4 half hours x 3 float32 and one more a path, 52 B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

PERIOD_S: Final = 1800
JUMP_S: Final = 1800  # a hole in event time after which nothing is compared with before
LAGS: Final = (1, 2, 3)  # half hours back
FEWEST = 10.0  # windows of 30 s in a half hour that make a fit worth having
SMALLEST_PER_HOUR = 0.02  # of the round trip: what grows slower is not worth a person's time
FEWEST_PAIRS = 4
CROWD = 12  # paths whose middle is worth taking away
_MEDIAN_CHI2: Final = 0.4549  # of one degree of freedom
FLOOR = 0.002  # of ln(round trip): a path is never believed to be better known than this


class _Fit(NamedTuple):
    """ln(round trip / first) in one half hour, per path: count, sum, sum of squares."""

    end_s: int
    answered: F32
    total: F32
    square: F32


@dataclass(frozen=True, slots=True)
class Drift:
    """A half hour against one that ended ``lag_s`` earlier, per path.

    valid  (P,) both fits are known
    shift  (P,) change of the mean of ln(round trip), less the crowd's middle; 0 where not valid
    noise  (P,) standard error of that, > 0
    """

    lag_s: int
    valid: Bool
    shift: F64
    noise: F64

    @property
    def smallest(self) -> float:
        """The shift of ln(round trip) that matters."""
        return SMALLEST_PER_HOUR * self.lag_s / 3600


class DriftMemory:
    """Running sums of the present half hour, and the fits of the three before."""

    def __init__(self) -> None:
        self._first: F32 = np.empty(0, np.float32)  # ln of the first value: keeps sums small
        self._newest_s: int | None = None
        self._open: _Fit | None = None
        self._fits: list[_Fit] = []  # oldest first

    @property
    def nbytes(self) -> int:
        """What is remembered [B]."""
        fits = [*self._fits, *([self._open] if self._open else [])]
        return self._first.nbytes + sum(each.nbytes for fit in fits for each in fit[1:])

    def learn(self, end_s: int, path: I64, value_us: F64) -> None:
        """Take disjoint windows of healthy paths.

        end_s  end of the windows [s]; path (n,) rows; value_us (n,) > 0
        """
        if self._newest_s is not None and abs(end_s - self._newest_s) > JUMP_S:
            self.clear()
        self._newest_s = end_s
        period_end = -(-end_s // PERIOD_S) * PERIOD_S
        paths = max(int(path.max(initial=-1)) + 1, len(self._first))
        if self._open is None or self._open.end_s != period_end:
            zero = np.zeros(paths, np.float32)
            self._open = _Fit(period_end, zero, zero.copy(), zero.copy())
        self._first = _padded(self._first, paths, np.nan)
        fit = _Fit(period_end, *(_padded(each, paths, 0.0) for each in self._open[1:]))
        log = np.log(value_us)
        new = np.isnan(self._first[path])
        self._first[path[new]] = log[new]
        log -= self._first[path]
        fit.answered[path] += 1
        fit.total[path] += log.astype(np.float32)
        fit.square[path] += (log * log).astype(np.float32)
        self._open = fit

    def close(self, end_s: int, crowd: I64) -> list[Drift]:
        """The half hour that ends with ``end_s`` is over: compare it; empty between half hours.

        crowd  (P,) code of each path's crowd: its job in its layer
        """
        fit = self._open
        if fit is None or end_s != fit.end_s:
            return []
        self._open = None
        past = {each.end_s: each for each in self._fits}
        self._fits = [*self._fits[-(len(LAGS) - 1) :], fit]
        return [
            _compare(fit, past[end_s - lag * PERIOD_S], lag * PERIOD_S, crowd)
            for lag in LAGS
            if end_s - lag * PERIOD_S in past
        ]

    def keep(self, rows: Bool) -> None:
        """Drop all other paths (P,)."""
        self._first = _padded(self._first, len(rows), np.nan)[rows]
        self._fits = [_kept(fit, rows) for fit in self._fits]
        self._open = self._open and _kept(self._open, rows)

    def clear(self) -> None:
        """Forget the fits: event time jumped."""
        self._open, self._fits = None, []


def _compare(now: _Fit, then: _Fit, lag_s: int, crowd: I64) -> Drift:
    paths = len(crowd)
    mean, error = np.zeros((2, paths)), np.ones((2, paths))
    valid = np.ones(paths, bool)
    for row, fit in enumerate((now, then)):
        n, total, square = (_padded(each, paths, 0.0).astype(np.float64) for each in fit[1:])
        valid &= n >= FEWEST
        count = np.maximum(n, 1.0)
        mean[row] = total / count
        error[row] = np.maximum(square / count - mean[row] ** 2, 0.0) / count
    shift = np.where(valid, mean[0] - mean[1], 0.0)
    noise = np.sqrt(error.sum(axis=0)) + FLOOR
    sizes = np.bincount(crowd[valid], minlength=int(crowd.max(initial=0)) + 1)
    crowd = np.where(sizes[crowd] >= CROWD, crowd, -1)  # the small ones together
    for code in np.unique(crowd[valid]):
        here = valid & (crowd == code)
        shift[here] -= _middle(shift[here])
        noise[here] = np.maximum(noise[here], 1.4826 * np.median(np.abs(shift[here])))
    return Drift(lag_s, valid, shift, noise)


def _middle(shift: F64) -> float:
    """Where most of a crowd is: the median of those within two spreads of the median, for what a
    culprit moves would draw the plain one towards itself."""
    off = np.abs(shift - np.median(shift))
    return float(np.median(shift[off <= 2 * 1.4826 * np.median(off)]))


def inflation(weight: F64, shift: F64) -> float:
    """Variance of the components' sums over what independent pairs would have, >= 1.

    weight, shift  (C,) as for ``tail``
    Where whole jobs move together pairs are not independent, so half of all components exceed by
    chance more than they should (genomic control, Devlin & Roeder, Biometrics 1999).
    """
    enough = weight >= FEWEST_PAIRS
    if not enough.any():
        return 1.0
    return max(1.0, float(np.median(shift[enough] ** 2 / weight[enough])) / _MEDIAN_CHI2)


def tail(weight: F64, shift: F64, inflated: float) -> F64:
    """(C,) one-sided Z-test of each component's summed shift; 1 below FEWEST_PAIRS pairs.

    weight  (C,) pairs that cross each component, fractional where routes are shared out
    shift   (C,) their shifts in units of ``noise``, summed by the same shares
    """
    z = shift / np.sqrt(np.maximum(weight, 1.0) * inflated)
    return np.where(weight >= FEWEST_PAIRS, special.ndtr(-z), 1.0)


def _kept(fit: _Fit, rows: Bool) -> _Fit:
    return _Fit(fit.end_s, *(_padded(each, len(rows), 0.0)[rows] for each in fit[1:]))


def _padded(values: F32, count: int, fill: float) -> F32:
    if len(values) >= count:
        return values
    return np.concatenate([values, np.full(count - len(values), fill, np.float32)])
