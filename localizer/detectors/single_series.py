"""The short-term effect score on a single series, where no other paths can be asked. Pure.

The geometry is that of a path: windows of the seven features against the ten disjoint windows
before. What the localizer decides by pooling paths has to be decided here by the score alone, so
its cut is high, and a change for the better counts as well.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.detectors.latency import LOOK_BACK
from localizer.detectors.lof import in_noise_units, local_outlier_factor

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

POINTS = 6  # of a window, as a window of 30 s has six hops
#: Five times sparser than its neighbours. On the real series that the tests hold, quiet weeks reach
#: 4.5 and the smallest of three labelled failures 6.2.
ALONE = 5.0


def scores(values: F64, points: int = POINTS, look_back: int = LOOK_BACK) -> F64:
    """Local Outlier Factor of the window that ends with each point.

    values   (T,) evenly spaced measurements, in units of about a microsecond or more
    returns  (T,) NaN until ``look_back`` disjoint windows have passed
    """
    out = np.full(len(values), np.nan)
    if len(values) < points * (look_back + 1):
        return out
    windows = np.lib.stride_tricks.sliding_window_view(values, points)
    features = np.stack(
        [
            *np.percentile(windows, (25, 50, 75), axis=1),
            windows.min(axis=1),
            windows.mean(axis=1),
            windows.std(axis=1, ddof=1),
            windows.max(axis=1),
        ],
        axis=1,
    )
    at = np.arange(points * look_back, len(features))
    before = at[:, None] - points * np.arange(1, look_back + 1)
    references, query = in_noise_units(features[before], features[at])
    out[at + points - 1] = local_outlier_factor(references, query)
    return out


def alarms(score: F64, cut: float = ALONE, apart: int = POINTS) -> I64:
    """Points at which the score first exceeds the cut after ``apart`` points below it."""
    above = np.flatnonzero(score > cut)
    return above[np.diff(above, prepend=-apart - 1) > apart]
