"""Constrained agglomerative clustering of hosts into groups that hold the same positions.

Average linkage makes a tree. Of its cuts the finest is taken whose clusters hold on data from
which they were not made, and whose sizes are multiples of one size that divides the number of
hosts, but for a few exceptions; exceptions then fill the free places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.optimize import linear_sum_assignment
from scipy.stats import chi2

from controller.skeleton.parameters import SkeletonParameters
from controller.skeleton.spectra import F32, F64
from controller.skeleton.timing.shifts import centres, wrapped

I64 = NDArray[np.int64]


class Sizes(NamedTuple):
    """How clusters fit equal sizes.

    size        hosts of a position
    places      (C,) how many positions' worth of hosts each cluster holds; 0 = exceptions
    exceptions  hosts that do not fit
    """

    size: int
    places: I64
    exceptions: int

    @property
    def cost(self) -> int:
        """Exceptions, and positions that are not told apart."""
        return self.exceptions + int(np.maximum(self.places - 1, 0).sum())


class Grouping(NamedTuple):
    """Hosts (H,) in groups 0 .. G - 1.

    group       (H,) the group of each host
    size        hosts that hold one position; G x size = H unless ``places`` are more than one
    places      (G,) multiples of ``size`` in each group; more than 1: stages not told apart
    exceptions  (H,) hosts that were assigned to a group by its free places
    """

    group: I64
    size: int
    places: I64
    exceptions: NDArray[np.bool_]


def finest(whole: F32, one: F32, other: F32, options: SkeletonParameters) -> I64:
    """(H,) labels of the finest cut whose clusters hold on data from which they were not made.

    whole, one, other  profiles (H, D) of hosts: from all data, and from two folds of it
    -1 are hosts in clusters too small to be tested
    """
    hosts = len(whole)
    if hosts > 1:
        for label in _cuts(linkage(whole.astype(np.float64), "average"), hosts, options):
            count = np.bincount(label)
            sizes = fit_sizes(count, hosts, options)
            if sizes is None or (sizes.places > 0).sum() < 2:
                continue
            main = sizes.places > 0
            if separation(label, main, one, other, options.doubt) >= options.separation:
                return np.where(main[label], np.cumsum(main)[label] - 1, -1)
    return np.zeros(hosts, np.int64)


def _cuts(tree: F64, hosts: int, options: SkeletonParameters) -> Iterator[I64]:
    """(H,) labels of the cuts of a tree, from many clusters to two.

    The finest has pairs of hosts, and each exception by itself.
    """
    most = min(hosts, hosts // 2 + int(options.exceptions * hosts))
    label = np.arange(hosts)
    for step in range(hosts - 2):
        one, other = tree[step, :2]
        label[(label == one) | (label == other)] = hosts + step
        if hosts - step - 1 <= most:
            yield np.unique(label, return_inverse=True)[1]


def fit_sizes(count: I64, hosts: int, options: SkeletonParameters) -> Sizes | None:
    """The size that fits clusters of ``count`` hosts at the least cost; the largest of alike ones.

    None where every size leaves more than the allowed share of exceptions.
    """
    best: Sizes | None = None
    for size in range(hosts, 1, -1):
        if hosts % size:
            continue
        places = np.where(2 * count > size, np.maximum(1, np.round(count / size)), 0)
        excess = np.maximum(count - places * size, 0)
        left = int(hosts - count.sum() + excess.sum())
        if places.sum() * size != hosts or left > options.exceptions * hosts:
            continue
        found = Sizes(size, places.astype(np.int64), left)
        if best is None or found.cost < best.cost:
            best = found
    if best is None or best.cost > options.exceptions * hosts:
        return None
    return best


def separation(label: I64, main: NDArray[np.bool_], one: F32, other: F32, doubt: float) -> float:
    """Least distance between a main cluster and its nearest, in standard deviations within them.

    Along the axis between two centres of one fold, measured on the other fold; both ways. The
    scatter is pooled over all main clusters and taken at the quantile ``doubt`` of its
    distribution, so that few hosts have to be further apart.
    """
    keep = main[label]
    label = np.unique(label[keep], return_inverse=True)[1]
    return min(
        _separation(label, made[keep], tried[keep], doubt)
        for made, tried in ((one, other), (other, one))
    )


def _separation(label: I64, made: F32, tried: F32, doubt: float) -> float:
    count = np.bincount(label)
    freedom = len(label) - len(count)
    if freedom < 1:
        return 0.0
    centre, measured = _means(label, made, count), _means(label, tried, count)
    square = (centre**2).sum(axis=1)
    distance = square[:, None] + square - 2 * centre @ centre.T
    np.fill_diagonal(distance, np.inf)
    nearest = distance.argmin(axis=1)
    axis = centre[nearest] - centre
    axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), np.finfo(float).tiny)
    gap = ((measured[nearest] - measured) * axis).sum(axis=1)
    left = (tried - measured[label]) @ axis.T  # (H, C)
    variance = (left**2).sum(axis=0) / chi2.ppf(doubt, freedom)
    return float((gap / np.sqrt(np.maximum(variance, np.finfo(float).tiny))).min())


def _means(label: I64, rows: F32, count: I64) -> F64:
    out = np.zeros((len(count), rows.shape[1]))
    np.add.at(out, label, rows)
    return out / count[:, None]


def balanced(label: I64, shift_s: F64, period_s: float, options: SkeletonParameters) -> Grouping:
    """Groups of equal sizes: exceptions take the free places, at the least squared time to them.

    Stragglers of all stages are late together: of all assignments the one that keeps their order
    costs least, although each may be nearer to the next stage.

    label    (H,) -1 for hosts without a group
    shift_s  (H,) how much later than others each host bursts
    """
    count = np.bincount(label[label >= 0])
    sizes = fit_sizes(count, len(label), options)
    if sizes is None:
        return Grouping(np.zeros(len(label), np.int64), len(label), np.ones(1, np.int64), label < 0)
    main = np.flatnonzero(sizes.places)
    centre = centres(shift_s[label >= 0], label[label >= 0], period_s)[main]
    away = wrapped(shift_s[:, None] - centre, period_s) ** 2  # (H, G)
    group = np.full(len(label), -1, np.int64)
    for number, cluster in enumerate(main):
        own = np.flatnonzero(label == cluster)
        near = own[np.argsort(away[own, number], kind="stable")]
        group[near[: sizes.places[cluster] * sizes.size]] = number
    open_to = sizes.places[main] * sizes.size - np.bincount(group[group >= 0], minlength=len(main))
    homeless = group < 0
    place = np.repeat(np.arange(len(main)), open_to)
    row, column = linear_sum_assignment(away[homeless][:, place])
    group[np.flatnonzero(homeless)[row]] = place[column]
    return Grouping(group, sizes.size, sizes.places[main], homeless)
