"""Latency, short term: each path against its own past, so that no path needs to be like another.

The value of a window, the mean of its three quartiles, is compared with the median over ten
disjoint earlier windows (``baselines.latency``; five minutes span the burst cycles of training,
after SkeletonHunter, SIGCOMM 2025). A path is flagged when the shift is significant, material, and
the window does not look like a few of the earlier ones in all seven features (``lof``): what came
and went three times in five minutes is the rhythm of the workload.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from localizer.baselines.latency import LatencyBaseline, mean_of_quartiles
from localizer.baselines.robust import MAD_TO_SIGMA
from localizer.detectors import lof
from localizer.detectors.latency.parameters import DEFAULT, LatencyParameters
from localizer.detectors.latency.sparse_evidence import SparseEvidence

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LatencyDeviation:
    """One window against the past, per path.

    valid          (P,) there was something to compare
    excess_us      (P,) value minus reference, 0 where not valid
    noise_us       (P,) robust spread of that difference while healthy, > 0
    flagged        (P,) shifted upwards: significantly, materially, and unlike earlier windows
    lof            (P,) Local Outlier Factor of the paths that shifted; NaN elsewhere, or without a
                   past
    healthy_share  share of healthy paths that may look shifted [1]
    sparse         evidence of the sparse paths; None where all have windows
    """

    valid: Bool
    excess_us: F64
    noise_us: F64
    flagged: Bool
    lof: F32
    healthy_share: float = DEFAULT.healthy_share
    sparse: SparseEvidence | None = None


def deviation(
    baseline: LatencyBaseline,
    end_s: int,
    features: F32,
    layer: npt.NDArray[np.int8],
    parameters: LatencyParameters = DEFAULT,
    lof_parameters: lof.LofParameters = lof.DEFAULT,
    rows: I64 | None = None,
) -> LatencyDeviation:
    """Compare a window with the baseline, which is advanced to it but learns nothing.

    end_s     end of the window [s]
    features  (n, F) as in FEATURES [us]; NaN where too few probes were answered
    layer     (P,) code of the layer: the cross-section of healthy shifts is taken within it
    rows      (n,) paths of the features, rising; None: all
    """
    paths = len(layer)
    rows = np.arange(paths) if rows is None else rows
    baseline.advance(end_s, paths)
    reference = baseline.reference
    value = mean_of_quartiles(features, np.float64)
    known = np.isfinite(value) & np.isfinite(reference[rows])
    valid, excess = np.zeros(paths, bool), np.zeros(paths)
    valid[rows], excess[rows] = known, np.where(known, value - reference[rows], 0.0)
    usual = np.nan_to_num(reference.astype(np.float64))
    noise = np.maximum(
        np.maximum(baseline.spread, parameters.noise_share * usual), parameters.noise_us
    )
    for code in np.unique(layer[valid]):
        here = valid & (layer == code)
        noise[here] = np.maximum(noise[here], cross_section(excess[here], parameters.quicker_share))
    least = np.maximum(parameters.least_us, parameters.least_share * usual[rows])
    bound = np.maximum(parameters.sigmas * noise[rows], least)
    those = np.flatnonzero(known & (excess[rows] > bound))
    shifted = rows[those]
    references = baseline.references(shifted)
    units = lof.in_noise_units(references, features[those], lof_parameters)
    factor = np.full(paths, np.nan, np.float32)
    factor[shifted] = lof.local_outlier_factor(*units, lof_parameters.neighbours)
    flagged = np.zeros(paths, bool)
    flagged[shifted] = ~(factor[shifted] < parameters.outlying)  # NaN: the shift alone decides
    return LatencyDeviation(valid, excess, noise, flagged, factor, parameters.healthy_share)


def lasting(
    newest: LatencyDeviation,
    baseline: LatencyBaseline,
    sparse: I64,
    parameters: LatencyParameters = DEFAULT,
) -> LatencyDeviation:
    """The newest window, but only paths are flagged that were so in those before it, too.

    sparse  rows of the paths that have no windows
    Two pairs that are slow in one window may be so by chance, but hardly in three in a row.
    """
    flagged = newest.flagged & baseline.flagged_before(parameters.lasting - 1, len(newest.flagged))
    valid = newest.valid.copy()
    valid[sparse] = flagged[sparse] = False
    return replace(
        newest, valid=valid, flagged=flagged, healthy_share=parameters.lasting_share, sparse=None
    )


def comparable(
    features: F32,
    count: npt.NDArray[np.integer],
    whole: Bool,
    least_answers: int = DEFAULT.least_answers,
) -> F32:
    """(n, F) features with NaN where a window holds too little.

    features  (n, F) [us]; count (n,) answered probes
    whole     (n,) answered all through the window: a part of it, from a container that has just
              come back, may be nothing but a training burst
    """
    out = features.astype(np.float32)
    out[(count < least_answers) | ~whole] = np.nan
    return out


def cross_section(excess_us: F64, quicker_share: float) -> float:
    """Robust spread of the healthy among these shifts [us].

    About the median while the median itself is healthy. A switch of a small fabric may slow most of
    the paths: then their excess is no spread, and that of the paths that are quicker than usual is.
    """
    about = np.median(np.abs(excess_us - np.median(excess_us)))
    quicker = -excess_us[excess_us < 0]
    if len(quicker) >= quicker_share * len(excess_us):
        about = min(about, np.median(quicker))
    return MAD_TO_SIGMA * float(about)
