"""The short-term effect score on a single series, where no other paths can be compared. Pure.

The geometry is that of a path: windows of the seven features against the ten disjoint windows
before. What the localizer decides by pooling paths has to be decided here by the score alone, so
its threshold is high, and a change for the better counts as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.baselines import latency
from localizer.detectors.lof import in_noise_units, local_outlier_factor
from schemas.parameters.parameter import parameter

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SingleSeriesParameters:
    """Windows of a series, and the score that alarms.

    points     measurements of a window
    windows    disjoint earlier windows
    threshold  so many times sparser than its neighbours is an alarm
    """

    points: int = parameter(6, unit="points", source="chosen: a window of 30 s has six hops")
    windows: int = parameter(
        latency.DEFAULT.windows, unit="windows", source="SkeletonHunter, SIGCOMM 2025"
    )
    threshold: float = parameter(
        5.0, unit="1",
        source="measured: on the real series that the tests hold, quiet weeks reach 4.5 and the "
        "smallest of three labelled failures 6.2",
    )  # fmt: skip


DEFAULT: Final = SingleSeriesParameters()


def scores(values: F64, parameters: SingleSeriesParameters = DEFAULT) -> F64:
    """Local Outlier Factor of the window that ends with each point.

    values   (T,) evenly spaced measurements, in units of about a microsecond or more
    returns  (T,) NaN until ``windows`` disjoint windows have passed
    """
    points, windows = parameters.points, parameters.windows
    out = np.full(len(values), np.nan)
    if len(values) < points * (windows + 1):
        return out
    cut = np.lib.stride_tricks.sliding_window_view(values, points)
    features = np.stack(
        [
            *np.percentile(cut, (25, 50, 75), axis=1),
            cut.min(axis=1),
            cut.mean(axis=1),
            cut.std(axis=1, ddof=1),
            cut.max(axis=1),
        ],
        axis=1,
    )
    at = np.arange(points * windows, len(features))
    before = at[:, None] - points * np.arange(1, windows + 1)
    references, query = in_noise_units(features[before], features[at])
    out[at + points - 1] = local_outlier_factor(references, query)
    return out


def alarms(score: F64, parameters: SingleSeriesParameters = DEFAULT) -> I64:
    """Points at which the score first exceeds the threshold after a window below it."""
    above = np.flatnonzero(score > parameters.threshold)
    return above[np.diff(above, prepend=-parameters.points - 1) > parameters.points]
