"""Latency, long term: a drift too slow for windows of five minutes to notice. Pure.

Per five-tuple and half hour ln(round trip) is taken as normal; its mean is compared with the fits
of half an hour, an hour and an hour and a half before (``baselines.drift``; after SkeletonHunter,
SIGCOMM 2025). A shift that all paths of a peer group share, such as the time of day or a job that
trains harder, is no component's fault, so the group's common shift is removed; and where many
components move at once, the variance of every test is inflated accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.baselines.drift import PeriodFit, padded
from localizer.baselines.robust import MAD_TO_SIGMA
from schemas.parameters.parameter import parameter

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

_MEDIAN_CHI2: Final = 0.4549  # of one degree of freedom


@dataclass(frozen=True, slots=True)
class DriftParameters:
    """When half hours may be compared, and which shifts matter.

    least_windows   windows of 30 s in a period that make its fit usable
    least_per_hour  drift that is reported, of the round trip
    least_pairs     endpoint pairs across a component that make a test
    least_peers     paths of a peer group whose common shift is removed; smaller groups are pooled
    least_noise     smallest standard error of a path's ln(round trip)
    """

    least_windows: float = parameter(
        10.0, unit="windows", source="chosen: pytest tests/localizer/detectors (drift)"
    )
    least_per_hour: float = parameter(
        0.02, unit="1/h", source="chosen: slower growth is not worth an operator's time"
    )
    least_pairs: int = parameter(
        4, unit="pairs", source="chosen: pytest tests/localizer/detectors (few pairs)"
    )
    least_peers: int = parameter(
        12, unit="paths", source="chosen: pytest tests/localizer/detectors (common shift)"
    )
    least_noise: float = parameter(
        0.002, unit="1", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )


DEFAULT: Final = DriftParameters()


@dataclass(frozen=True, slots=True)
class Drift:
    """A half hour against one that ended ``lag_s`` earlier, per path.

    valid           (P,) both fits are usable
    shift           (P,) change of the mean of ln(round trip), less the peer group's common shift; 0
                    where not valid
    noise           (P,) standard error of that, > 0
    least_per_hour  drift that is reported, of the round trip [1/h]
    """

    lag_s: int
    valid: Bool
    shift: F64
    noise: F64
    least_per_hour: float = DEFAULT.least_per_hour

    @property
    def smallest(self) -> float:
        """The shift of ln(round trip) that is reported."""
        return self.least_per_hour * self.lag_s / 3600


def compare(
    now: PeriodFit, then: PeriodFit, group: I64, parameters: DriftParameters = DEFAULT
) -> Drift:
    """Difference of two fits of the same paths.

    group  (P,) code of each path's peer group: its job in its layer
    """
    paths = len(group)
    mean, error = np.zeros((2, paths)), np.ones((2, paths))
    valid = np.ones(paths, bool)
    for row, fit in enumerate((now, then)):
        n, total, square = (padded(each, paths, 0.0).astype(np.float64) for each in fit[1:])
        valid &= n >= parameters.least_windows
        count = np.maximum(n, 1.0)
        mean[row] = total / count
        error[row] = np.maximum(square / count - mean[row] ** 2, 0.0) / count
    shift = np.where(valid, mean[0] - mean[1], 0.0)
    noise = np.sqrt(error.sum(axis=0)) + parameters.least_noise
    sizes = np.bincount(group[valid], minlength=int(group.max(initial=0)) + 1)
    group = np.where(sizes[group] >= parameters.least_peers, group, -1)  # the small ones together
    for code in np.unique(group[valid]):
        here = valid & (group == code)
        shift[here] -= _common_shift(shift[here])
        noise[here] = np.maximum(noise[here], MAD_TO_SIGMA * np.median(np.abs(shift[here])))
    return Drift(now.end_s - then.end_s, valid, shift, noise, parameters.least_per_hour)


def _common_shift(shift: F64) -> float:
    """Median of the shifts within two spreads of the median: a plain median would be drawn towards
    what a culprit shifts."""
    off = np.abs(shift - np.median(shift))
    return float(np.median(shift[off <= 2 * MAD_TO_SIGMA * np.median(off)]))


def inflation(weight: F64, shift: F64, parameters: DriftParameters = DEFAULT) -> float:
    """Variance of the components' sums over what independent pairs would have, >= 1.

    weight, shift  (C,) as for ``excess_p_values``
    Where whole jobs move together pairs are not independent, so half of all components exceed by
    chance more than they should.
    Source  genomic control: Devlin & Roeder, Biometrics 1999
    """
    enough = weight >= parameters.least_pairs
    if not enough.any():
        return 1.0
    return max(1.0, float(np.median(shift[enough] ** 2 / weight[enough])) / _MEDIAN_CHI2)


def excess_p_values(
    weight: F64, shift: F64, inflated: float, parameters: DriftParameters = DEFAULT
) -> F64:
    """(C,) one-sided Z-test of each component's summed shift; 1 below ``least_pairs`` pairs.

    weight  (C,) pairs that cross each component, fractional where routes are shared out
    shift   (C,) their shifts in units of ``noise``, summed by the same shares
    """
    z = shift / np.sqrt(np.maximum(weight, 1.0) * inflated)
    return np.where(weight >= parameters.least_pairs, special.ndtr(-z), 1.0)
