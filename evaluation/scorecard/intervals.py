"""95 % confidence intervals of shares, means, percentiles and rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

LEVEL: Final = 0.95
RESAMPLES: Final = 4999


class Estimate(NamedTuple):
    """A figure and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def share(hits: int, trials: int) -> Estimate | None:
    """Binomial share [1] with Wilson's interval; None without trials.

    Source  Wilson (1927), J. Am. Stat. Assoc. 22(158)
    """
    if trials == 0:
        return None
    ends = stats.binomtest(hits, trials).proportion_ci(LEVEL, method="wilson")
    return Estimate(hits / trials, float(ends.low), float(ends.high))


def rate(events: int, exposure: float) -> Estimate | None:
    """Events per unit of exposure with the exact Poisson interval; None without exposure.

    Source  Garwood (1936), Biometrika 28(3-4)
    """
    if exposure <= 0:
        return None
    tail = (1 - LEVEL) / 2
    low = stats.chi2.ppf(tail, 2 * events) / 2 if events else 0.0
    high = stats.chi2.ppf(1 - tail, 2 * events + 2) / 2
    return Estimate(events / exposure, float(low) / exposure, float(high) / exposure)


def mean(values: Sequence[float]) -> Estimate | None:
    """Mean with the percentile bootstrap's interval over the values; None without values."""
    return _bootstrap(values, np.mean)


def p95(values: Sequence[float]) -> Estimate | None:
    """95th percentile, as ``mean``."""
    return _bootstrap(values, _p95)


def _p95(sample: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.asarray(np.percentile(sample, 95, axis=axis))


def _bootstrap(values: Sequence[float], figure: Callable[..., np.ndarray]) -> Estimate | None:
    """Percentile bootstrap with a fixed seed; equal values have an interval without width."""
    sample = np.asarray(values, float)
    if not len(sample):
        return None
    value = float(figure(sample))
    if len(sample) == 1 or np.ptp(sample) == 0:
        return Estimate(value, value, value)
    ends = stats.bootstrap(
        (sample,), figure, confidence_level=LEVEL, n_resamples=RESAMPLES, method="percentile",
        rng=np.random.default_rng(0), batch=500,
    ).confidence_interval  # fmt: skip
    return Estimate(value, float(ends.low), float(ends.high))
