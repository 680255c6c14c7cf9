"""How much later than others hosts and rnics carry the same rhythm: pipeline stages by time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln
from scipy.stats import chi2

from controller.skeleton.spectra import C64, F64

I64 = NDArray[np.int64]

#: Step of the grid on which a cross-correlation is evaluated [s]; its maximum is interpolated.
_STEP_S = 0.05
#: Standard deviation of a normal distribution, in median absolute deviations.
_MAD_TO_SIGMA = 1.4826


class Limits(NamedTuple):
    """When groups of hosts differ in time.

    separation  of their means, in standard deviations within groups
    doubt       quantile of its distribution at which such a deviation is taken
    chance      that hosts without groups look like some
    """

    separation: float
    doubt: float
    chance: float


class Axis(NamedTuple):
    """F frequencies, the weight of each, and the period of the rounds: shifts are modulo it."""

    hz: F64
    weight: F64
    period_s: float


def shifts(response: C64, reference: C64, axis: Axis) -> F64:
    """(M,) how much later each of M responses (M, C, F) is than a reference (C, F) [s].

    The maximum of the cross-correlation over C channels, within half a period either way.
    Source  Knapp, Carter (1976), IEEE Trans. ASSP 24(4), generalised cross-correlation
    """
    cross = np.einsum("mcf,cf->mf", response, reference.conj()) * axis.weight**2
    half = axis.period_s / 2
    lag = np.arange(-half, half + _STEP_S / 2, _STEP_S)
    turn = np.exp(2j * np.pi * axis.hz[:, None] * lag)
    curve = (cross @ turn).real  # (M, lags)
    best = curve.argmax(axis=1)
    inner = np.clip(best, 1, len(lag) - 2)
    row = np.arange(len(curve))
    before, at, after = curve[row, inner - 1], curve[row, inner], curve[row, inner + 1]
    bend = before - 2 * at + after
    fine = np.where(bend < 0, 0.5 * (before - after) / np.minimum(bend, -1e-30), 0.0)
    out: F64 = lag[best] + np.where(best == inner, np.clip(fine, -1, 1), 0.0) * _STEP_S
    return out


def aligned_reference(response: C64, axis: Axis, rounds: int = 3) -> C64:
    """(C, F) mean of M responses (M, C, F), each moved to where it is most alike the others."""
    power = (np.abs(response) ** 2 * axis.weight**2).sum(axis=(1, 2))
    reference: C64 = response[int(np.argsort(power)[len(power) // 2])]
    for _ in range(rounds):
        later = shifts(response, reference, axis)
        turn = np.exp(2j * np.pi * axis.hz * later[:, None])[:, None, :]
        reference = (response * turn).mean(axis=0).astype(np.complex64)
    return reference


def wrapped(difference_s: F64, period_s: float) -> F64:
    """A difference of shifts, within half a period either way."""
    out: F64 = (difference_s + period_s / 2) % period_s - period_s / 2
    return out


def unrolled(shift_s: F64, period_s: float) -> F64:
    """Shifts (G,) on a circle as times from 0 on: the widest gap is where a round begins."""
    around = shift_s % period_s
    order = np.argsort(around)
    gap = np.diff(np.append(around[order], around[order[0]] + period_s))
    first = order[(int(gap.argmax()) + 1) % len(order)]
    out: F64 = (around - around[first] + 1e-9) % period_s
    return out


def centres(shift_s: F64, label: I64, period_s: float) -> F64:
    """(G,) median shift of the members of each label 0 .. G - 1, on the circle.

    Taken around the mean direction: a few members that are far off do not move it.
    """
    turn = np.exp(2j * np.pi * shift_s / period_s)
    total = np.zeros(int(label.max()) + 1, complex)
    np.add.at(total, label, turn)
    mean = np.angle(total) * period_s / (2 * np.pi)
    left = wrapped(shift_s - mean[label], period_s)
    order = np.lexsort((left, label))
    count = np.bincount(label)
    first = np.cumsum(count) - count
    ordered = left[order]
    out: F64 = mean + (ordered[first + (count - 1) // 2] + ordered[first + count // 2]) / 2
    return out


def scatter(shift_s: F64, label: I64, period_s: float, doubt: float) -> float:
    """Standard deviation of shifts within labels [s], at a quantile of its distribution.

    From the median absolute deviation: stragglers do not widen it.
    """
    freedom = len(label) - int(label.max()) - 1
    if freedom < 1:
        return np.inf
    left = np.abs(wrapped(shift_s - centres(shift_s, label, period_s)[label], period_s))
    lost = np.sqrt(len(label) / freedom)  # each centre fits its members
    return float(
        _MAD_TO_SIGMA * np.median(left) * lost * np.sqrt(freedom / chi2.ppf(doubt, freedom))
    )


def merged(label: I64, shift_s: F64, period_s: float, apart_s: float) -> I64:
    """Labels of groups whose medians differ in time by ``apart_s`` at least: the two nearest become
    one until all others differ."""
    while label.max() > 0:
        centre = centres(shift_s, label, period_s) % period_s
        order = np.argsort(centre)
        gap = np.diff(np.append(centre[order], centre[order[0]] + period_s))
        nearest = int(gap.argmin())
        if gap[nearest] >= apart_s:
            break
        one, other = order[nearest], order[(nearest + 1) % len(order)]
        label = np.unique(np.where(label == other, one, label), return_inverse=True)[1]
    return label


def blocks(shift_s: F64, period_s: float, apart_s: float, limits: Limits) -> I64:
    """(H,) labels of the finest division into equally many neighbours in time that differ.

    Neighbours are in the order of their shifts from the widest gap on: so few hosts are divided
    where clusters are too small to be tested. Groups differ when they are ``apart_s`` apart, and
    either their means are ``limits.separation`` standard deviations within groups apart, or gaps
    between groups are so much wider than gaps within that ``limits.chance`` allows it, over all
    sizes of groups.
    """
    hosts = len(shift_s)
    time = unrolled(shift_s, period_s)
    order = np.argsort(time, kind="stable")
    gap = np.diff(time[order])
    sizes = [size for size in range(2, hosts // 2 + 1) if hosts % size == 0]
    for size in sizes:
        label = np.empty(hosts, np.int64)
        label[order] = np.arange(hosts) // size
        between = np.arange(1, hosts) % size == 0
        centre = time[order].reshape(-1, size).mean(axis=1)
        within = scatter(shift_s, label, period_s, limits.doubt)
        scattered = np.diff(centre).min() < max(apart_s, limits.separation * within)
        rare = spacing_p_value(gap[~between], gap[between]) < limits.chance / len(sizes)
        if not scattered or (rare and gap[between].min() >= apart_s):
            return label
    return np.zeros(hosts, np.int64)


def least_gap(label: I64, shift_s: F64, period_s: float) -> float:
    """Least time from a member of a group to one of the next group, from the widest gap on [s]."""
    time = unrolled(shift_s, period_s)
    order = np.argsort(time, kind="stable")
    between = np.diff(time[order])[label[order][1:] != label[order][:-1]]
    return float(between.min(initial=np.inf))


def spacing_p_value(within: F64, between: F64) -> float:
    """P(so wide gaps between groups) if hosts are spread in time without any groups.

    within, between  gaps of neighbours [s]
    Gaps of uniformly spread hosts are exchangeable, as independent exponentials over their sum are.
    With r = max(within) / min(between), n of the first and k of the second,
    P(max <= r min) = integral of k exp(-k m) (1 - exp(-r m))^n dm = (k / r) B(k / r, n + 1).
    Source  Pyke (1965), Spacings, JRSS B 27(3); hosts that scatter as a normal distribution have
            their wide gaps at the ends, inside groups, so that this errs on the safe side
    """
    ratio = max(float(within.max()), 1e-9) / max(float(between.min()), 1e-9)
    rate = len(between) / ratio
    return float(np.exp(np.log(rate) + betaln(rate, len(within) + 1)))
