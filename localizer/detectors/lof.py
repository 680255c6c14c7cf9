"""Local Outlier Factor of one window against the few before it, for many paths at once. Pure.

It answers what a shift alone cannot: has this path looked like this lately? A window in a burst of
training traffic is far from the quiet ones, but near the burst of the cycle before; a fault is near
nothing. With ten references it cannot give small p-values, so it is an effect score, and the
decision pools paths per component.

Source  Breunig, Kriegel, Ng, Sander: LOF, identifying density-based local outliers (SIGMOD 2000);
        use on RTT windows: SkeletonHunter (SIGCOMM 2025), whose k and cut are not published.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]

#: Earlier windows that must look alike before a window like them counts as usual. Training repeats
#: itself within each window or two, so three of ten are soon there; a larger k would call bursts
#: outliers that visit only a third of the windows, a smaller one would forgive a fault that slipped
#: into one reference before it was flagged.
NEIGHBOURS = 3
_BLOCK = 2048  # paths at once: keeps the (block, R, R) distances in a cache
_TINY = 1e-10  # keeps equal references from dividing by zero


def local_outlier_factor(references: Floats, query: Floats, k: int = NEIGHBOURS) -> F64:
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
    apart = _distances(references, references)
    apart[np.broadcast_to(absent[:, None], apart.shape)] = np.inf
    own = np.arange(apart.shape[1])
    apart[:, own, own] = np.inf  # nobody is its own neighbour
    nearest = np.argpartition(apart, k - 1, axis=2)[:, :, :k]
    distance = np.take_along_axis(apart, nearest, axis=2)
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


def in_noise_units(references: Floats, query: Floats) -> tuple[F64, F64]:
    """Both, per feature in units of the path's own restlessness, so that no feature drowns others.

    references (P, R, F), query (P, F) in us; F starts with P25, P50, P75
    The unit is 1.4826 MAD over the references, at least 2 % of their median P50 and 0.3 us.
    """
    references = references.astype(np.float64)
    middle = median(references)
    spread = 1.4826 * median(np.abs(references - middle[:, None]))
    unit = np.fmax(spread, np.fmax(0.02 * middle[:, 1:2], 0.3))
    return (references - middle[:, None]) / unit[:, None], (query - middle) / unit


def median(values: Floats) -> F64:
    """(P, F) median over the second axis of (P, R, F), NaNs left out; NaN where all are.

    numpy's nanmedian takes ten times as long on short axes.
    """
    ordered = np.sort(values, axis=1)
    count = np.isfinite(ordered).sum(axis=1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum((count - 1) // 2, 0), axis=1)
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[1] - 1), axis=1)
    half: F64 = ((low + high) / 2.0)[:, 0].astype(np.float64)
    return np.where(count[:, 0] > 0, half, np.nan)
