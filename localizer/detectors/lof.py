"""Local Outlier Factor of one window against the few before it, for many paths at once. Pure.

The factor says whether a path has looked like this lately, which a shift alone does not. A window
in a burst of training traffic is far from the quiet windows, but near the burst of the cycle
before; a fault is near none. With ten references the factor cannot give small p-values, so it is an
effect score, and the decision pools paths per component.

Source  Breunig, Kriegel, Ng, Sander: LOF, identifying density-based local outliers (SIGMOD 2000);
        use on RTT windows: SkeletonHunter (SIGCOMM 2025), whose k and cut are not published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.baselines.robust import MAD_TO_SIGMA, median
from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class LofParameters:
    """Neighbours, and the smallest unit in which features are compared.

    neighbours  earlier windows that must look alike before a window like them counts as usual; a
                larger number would call bursts outliers that visit only a third of the windows, a
                smaller one would forgive a fault that slipped into one reference before its flag
    unit_share  a feature's unit is at least this share of the median P50,
    unit_us     and at least this
    """

    neighbours: int = parameter(
        3, unit="windows",
        source="chosen: pytest tests/localizer/detectors (bursts in a third of the windows); "
        "SkeletonHunter, SIGCOMM 2025, does not publish its own",
    )  # fmt: skip
    unit_share: float = parameter(0.02, unit="1", source="chosen: pytest tests/localizer/detectors")
    unit_us: float = parameter(0.3, unit="us", source="chosen: pytest tests/localizer/detectors")


DEFAULT: Final = LofParameters()
_BLOCK: Final = 2048  # paths at once: keeps the (block, R, R) distances in a cache
_TINY: Final = 1e-10  # keeps equal references from dividing by zero


def local_outlier_factor(references: Floats, query: Floats, k: int = DEFAULT.neighbours) -> F64:
    """How much sparser each path's query lies than its nearest references do.

    references  (P, R, F) earlier windows; a row that is not finite is absent
    query       (P, F) the window in question
    k           neighbours
    returns     (P,) about 1 where the query is like its references, larger the farther it is;
                NaN where fewer than k + 1 references are present or the query is not finite
    """
    out = np.full(len(query), np.nan)
    for start in range(0, len(query), _BLOCK):
        block = slice(start, start + _BLOCK)
        out[block] = _factor(
            references[block].astype(np.float64), query[block].astype(np.float64), k
        )
    return out


def _factor(references: F64, query: F64, k: int) -> F64:
    absent: Bool = np.isnan(references.sum(axis=2))
    usable: Bool = ((~absent).sum(axis=1) > k) & np.isfinite(query).all(axis=1)
    out = np.full(len(query), np.nan)
    if not usable.any():
        return out
    absent, query = absent[usable], query[usable]
    references = np.where(absent[:, :, None], 0.0, references[usable])
    between = _distances(references, references)
    between[np.broadcast_to(absent[:, None], between.shape)] = np.inf
    own = np.arange(between.shape[1])
    between[:, own, own] = np.inf  # no window is its own neighbour
    nearest = np.argpartition(between, k - 1, axis=2)[:, :, :k]
    distance = np.take_along_axis(between, nearest, axis=2)
    reach = distance.max(axis=2)  # to the k-th neighbour
    density = _density(distance, _of(reach, nearest))
    away = _distances(query[:, None], references)[:, 0]
    away[absent] = np.inf
    near = np.argpartition(away, k - 1, axis=1)[:, None, :k]
    mine = _density(np.take_along_axis(away[:, None], near, axis=2), _of(reach, near))
    out[usable] = _of(density, near).mean(axis=2)[:, 0] / mine[:, 0]
    return out


def _distances(a: F64, b: F64) -> F64:
    """(P, A, B) Euclidean, feature by feature: all differences at once would not fit a cache."""
    total = np.zeros((len(a), a.shape[1], b.shape[1]))
    for feature in range(a.shape[2]):
        difference = a[:, :, None, feature] - b[:, None, :, feature]
        difference *= difference
        total += difference
    return np.sqrt(total)


def _of(values: F64, neighbours: npt.NDArray[np.int64]) -> F64:
    """(P, Q, k) value of each neighbour; values (P, R), neighbours (P, Q, k)."""
    rows = np.arange(len(values))[:, None, None]
    picked: F64 = values[rows, neighbours]
    return picked


def _density(distance: F64, reach: F64) -> F64:
    """Local reachability density: one over the mean distance, no less than a neighbour's reach."""
    density: F64 = 1.0 / (np.maximum(distance, reach).mean(axis=2) + _TINY)
    return density


def in_noise_units(
    references: Floats, query: Floats, parameters: LofParameters = DEFAULT
) -> tuple[F64, F64]:
    """Both, per feature in units of the path's own spread, so that no feature outweighs others.

    references (P, R, F), query (P, F) in us; F starts with P25, P50, P75
    The unit is 1.4826 MAD over the references, at least a share of their median P50 and some time.
    """
    references = references.astype(np.float64)
    middle = median(references)
    spread = MAD_TO_SIGMA * median(np.abs(references - middle[:, None]))
    unit = np.fmax(spread, np.fmax(parameters.unit_share * middle[:, 1:2], parameters.unit_us))
    return (references - middle[:, None]) / unit[:, None], (query - middle) / unit
