"""What hosts do beyond their group: expert groups, and which replicas of two stages talk.

A byte that one rnic sends another receives: the random part of a flow is seen at both of its ends
and nowhere else. Residuals are what is left of an rnic's rate without the course of its position,
and without what a shift of its clock makes of that course.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from controller.skeleton.pairs import neighbours
from controller.skeleton.parameters import SkeletonParameters
from controller.skeleton.profiles import Slots
from controller.skeleton.series import Throughput
from controller.skeleton.spectra import F32, F64
from controller.skeleton.stages import Stages

I64 = NDArray[np.int64]


def expert_groups(
    given: Throughput, found: Stages, place: Slots, period_s: int, options: SkeletonParameters
) -> I64:
    """(H,) number of each host's expert group, -1 where a stage shows none.

    Hosts whose loads vary together from round to round, beyond their stage's: bytes of whole
    rounds, because a shift in time within a round must not look like load. In a stage all groups
    are of one size, and there are three or more, or none is believed: hosts that are a little early
    and a little late look like two.
    """
    out = np.full(len(place.host), -1, np.int64)
    number = 0
    for group in range(len(found.later_s)):
        hosts = np.flatnonzero(found.groups.group == group)
        if len(hosts) < options.least_hosts:
            continue
        load = _loads(given, hosts, place, period_s)
        if load.shape[1] < options.least_rounds:
            continue
        alike = _correlation(load, load)
        np.fill_diagonal(alike, 0)
        parts, label = connected_components(alike > options.together, directed=False)
        count = np.bincount(label)
        if parts > 2 and count[0] > 1 and (count == count[0]).all():
            out[hosts] = number + label
            number += parts
    return out


def _loads(given: Throughput, hosts: I64, place: Slots, period_s: int) -> F64:
    """(H, R) logarithms of the bytes of each host in each round, without the mean of the hosts.

    Rounds are cut where the hosts are least busy.
    """
    rnic = place.rnic[hosts]
    rate = np.where((rnic >= 0)[..., None], given.tx[rnic] + given.rx[rnic], 0).sum(axis=1)
    whole = np.convolve(rate.mean(axis=0), np.ones(3), mode="same")
    cuts = [
        first + int(whole[first : first + period_s].argmin())
        for first in range(0, whole.shape[0] - period_s + 1, period_s)
    ]
    sums = np.log(np.maximum(np.add.reduceat(rate, cuts, axis=1)[:, :-1], 1.0))
    sums = sums - sums.mean(axis=0)
    out: F64 = (sums - sums.mean(axis=1, keepdims=True)).astype(np.float64)
    return out


def matched(
    given: Throughput, found: Stages, place: Slots, options: SkeletonParameters
) -> dict[tuple[int, int], I64]:
    """(M, 2) hosts that talk, for each pair of groups in which every host has a clear partner."""
    out: dict[tuple[int, int], I64] = {}
    if found.groups.places.max() > 1:
        return out
    left: dict[int, tuple[F32, F32]] = {}
    for group in range(len(found.later_s)):
        hosts = np.flatnonzero(found.groups.group == group)
        if len(hosts) < options.least_hosts:
            return out
        left[group] = residuals(given.tx, hosts, place), residuals(given.rx, hosts, place)
    first = np.flatnonzero(found.inside == 0)
    last = np.flatnonzero(found.inside == found.per_host - 1)
    for one, other in neighbours(found, options):
        (sent, received), (theirs, others) = left[one], left[other]
        alike = sum(
            _correlation(sent[:, a], others[:, b]) + _correlation(received[:, a], theirs[:, b])
            for a, b in zip(last, first, strict=True)
        )
        partner = _clear(np.asarray(alike), options.doubtless)
        if partner is not None:
            mine = np.flatnonzero(found.groups.group == one)
            yours = np.flatnonzero(found.groups.group == other)
            out[one, other] = np.stack([mine, yours[partner]], axis=1)
    return out


def residuals(values: F32, hosts: I64, place: Slots) -> F32:
    """(H, S, T) of the roots of the rates of some hosts; unit variance, 0 for an absent rnic."""
    rnic = place.rnic[hosts]
    root = np.sqrt(values[rnic])
    root[rnic < 0] = 0
    centre = np.median(root, axis=0)  # (S, T)
    out = root - centre
    for slot in range(root.shape[1]):
        slope = np.gradient(centre[slot])
        basis = np.stack([np.ones_like(slope), centre[slot], slope, np.gradient(slope)], axis=1)
        axes = np.linalg.qr(basis)[0].astype(np.float32)
        out[:, slot] -= (out[:, slot] @ axes) @ axes.T
    out[rnic < 0] = 0
    scale = out.std(axis=2, keepdims=True)
    made: F32 = (out / np.maximum(scale, np.finfo(np.float32).tiny)).astype(np.float32)
    return made


def _correlation(a: NDArray[np.floating], b: NDArray[np.floating]) -> F64:
    """(A, B) correlations of rows (A, T) and (B, T)."""
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (a, b))
    norms = np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    out: F64 = (x @ y.T) / np.maximum(norms, np.finfo(np.float32).tiny)
    return out


def _clear(alike: F64, doubtless: float) -> I64 | None:
    """(A,) column of each row in the best assignment, where every match stands out, else None.

    It stands out of its row and its column by ``doubtless`` standard deviations of other entries.
    """
    if alike.shape[0] != alike.shape[1]:
        return None
    row, column = linear_sum_assignment(-alike)
    best = alike[row, column]
    rest = alike.copy()
    rest[row, column] = np.nan
    others = rest[~np.isnan(rest)]
    spread = 1.4826 * float(np.median(np.abs(others - np.median(others))))
    rival = np.fmax(np.nanmax(rest, axis=1)[row], np.nanmax(rest, axis=0)[column])
    return column if (best - rival).min() > doubtless * spread else None
