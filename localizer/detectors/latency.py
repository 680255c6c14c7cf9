"""Latency: each path against its own past, so that no path needs to be like another.

The value of a window is the mean of its three quartiles: it moves once a quarter of the window is
slow (P50 alone needs half), yet a burst of congestion shorter than that leaves it alone. It is
compared with the median over up to ten disjoint earlier windows (5 minutes, which spans the burst
cycles of training, after SkeletonHunter, SIGCOMM 2025). A path that is flagged does not teach its
own reference, so a lasting fault does not become the new normal.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

LOOK_BACK = 10  # disjoint windows
FEWEST = 5  # answered probes that make a window worth comparing
SIGMAS = 4.0
SMALLEST_US = 2.0  # and the shift must be of a size that matters,
SMALLEST_SHARE = 0.10  # absolutely and against the path's own round trip
#: Share of healthy paths that may look shifted at any moment; guards the first minutes.
QUIETEST = 0.02


@dataclass(frozen=True, slots=True)
class Shift:
    """One window against the past, per path.

    valid      (P,) there was something to compare
    excess_us  (P,) value minus reference, 0 where not valid
    noise_us   (P,) robust spread of that difference while healthy, > 0
    flagged    (P,) shifted upwards, significantly and materially
    """

    valid: Bool
    excess_us: F64
    noise_us: F64
    flagged: Bool


class LatencyMemory:
    """Values of the windows of the last five minutes, per path."""

    def __init__(self, window_s: int = 30) -> None:
        self.window_s = window_s
        self._values: dict[int, F64] = {}  # window end -> (P,), NaN where nothing or flagged
        self._reference: F64 = np.empty(0)

    def judge(self, end_s: int, value: F64, layer: npt.NDArray[np.int8]) -> Shift:
        """Compare a window and remember it.

        end_s  end of the window; value (P,) its quartile mean [us], NaN where too few answered
        layer  (P,) code of the layer: the cross-section of healthy shifts is taken within it
        """
        paths = len(value)
        past = [
            _padded(self._values[at], paths)
            for back in range(1, LOOK_BACK + 1)
            if (at := end_s - back * self.window_s) in self._values
        ]
        reference = _padded(self._reference, paths)
        spread = np.zeros(paths)
        if past:
            stack = np.vstack(past)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # paths without any past: NaN
                middle = np.nanmedian(stack, axis=0)
                spread = 1.4826 * np.nanmedian(np.abs(stack - middle), axis=0)
            spread[~(np.isfinite(stack).sum(axis=0) >= 4)] = 0.0
            reference = np.where(np.isfinite(middle), middle, reference)
        self._reference = reference
        valid = np.isfinite(value) & np.isfinite(reference)
        excess = np.where(valid, value - reference, 0.0)
        noise = np.maximum(np.maximum(spread, 0.02 * np.nan_to_num(reference)), 0.3)
        for code in np.unique(layer[valid]):
            here = valid & (layer == code)
            crowd = 1.4826 * np.median(np.abs(excess[here] - np.median(excess[here])))
            noise[here] = np.maximum(noise[here], crowd)
        least = np.maximum(SMALLEST_US, SMALLEST_SHARE * np.nan_to_num(reference))
        flagged = valid & (excess > np.maximum(SIGMAS * noise, least))
        self._values[end_s] = np.where(flagged, np.nan, value)
        for old in [at for at in self._values if at < end_s - LOOK_BACK * self.window_s]:
            del self._values[old]
        return Shift(valid, excess, noise, flagged)

    def reference_us(self, rows: I64) -> F64:
        """(n,) what the last window of some paths was compared with [us]."""
        return self._reference[rows]

    def keep(self, rows: Bool) -> None:
        """Drop all other paths."""
        self._values = {at: _padded(v, len(rows))[rows] for at, v in self._values.items()}
        self._reference = _padded(self._reference, len(rows))[rows]

    def clear(self) -> None:
        """Forget everything: event time jumped."""
        self._values.clear()
        self._reference = np.empty(0)


def quartile_mean(p25: F64, p50: F64, p75: F64, count: I64) -> F64:
    """(n,) the value that windows are compared by [us]; NaN below FEWEST answered probes."""
    value = (p25.astype(np.float64) + p50 + p75) / 3.0
    value[count < FEWEST] = np.nan
    return value


def _padded(values: F64, paths: int) -> F64:
    if len(values) == paths:
        return values
    return np.concatenate([values, np.full(paths - len(values), np.nan)])
