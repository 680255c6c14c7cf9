"""How much later than others hosts end their rounds: stages by time, where replicas are slow.

A collective ends for all of its members at once, however long one of them has computed before, and
quiet follows until the next round. So the ends of a stage's rounds differ by its hosts' clocks
only, where bursts of a straggler are later than those of its stage.
"""

from __future__ import annotations

import numpy as np

from controller.skeleton.parameters import SkeletonParameters
from controller.skeleton.profiles import Slots
from controller.skeleton.series import Throughput
from controller.skeleton.spectra import F64
from controller.skeleton.timing import shifts


def host_shifts(
    given: Throughput, place: Slots, period_s: int, options: SkeletonParameters
) -> F64 | None:
    """(H,) how much later than others each host ends its rounds [s].

    None where two halves of the time do not agree: within what clocks differ by, for all hosts but
    the allowed exceptions.
    """
    falls = ends(given, place, period_s, options)
    middle = falls.shape[1] // 2
    whole, early, late = (
        _shifts(each, float(period_s), options.highest_hz)
        for each in (falls, falls[:, :middle], falls[:, middle:])
    )
    moved = shifts.wrapped(late - early, float(period_s))
    off = np.abs(shifts.wrapped(moved - np.median(moved), float(period_s)))
    return whole if (off <= options.clock_s).mean() >= 1 - options.exceptions else None


def ends(given: Throughput, place: Slots, period_s: int, options: SkeletonParameters) -> F64:
    """(H, T) by how much each host's rate falls where a long quiet follows, from 0 to 1.

    The rate of what is sent and received at the same time, as in collectives. A second in which a
    round ends is busy for a part of it: the falls into it and out of it have their centre at the
    end.
    """
    there = (place.rnic >= 0)[..., None]
    both = np.minimum(given.tx, given.rx)
    rate = np.where(there, both[place.rnic], 0).sum(axis=1, dtype=np.float64)
    busy = np.quantile(rate, options.busy, axis=1, keepdims=True)
    rate = np.minimum(rate / np.maximum(busy, np.finfo(np.float32).tiny), 1.0)
    hosts, seconds = rate.shape
    quiet = np.zeros((hosts, seconds), np.int64)  # seconds of it that follow
    for second in range(seconds - 2, -1, -1):
        quiet[:, second] = np.where(
            rate[:, second + 1] < options.quiet, quiet[:, second + 1] + 1, 0
        )
    rounds = max(1, seconds // period_s)
    cut = quiet[:, : rounds * period_s].reshape(hosts, rounds, -1)
    longest = np.median(cut.max(axis=2), axis=1)
    fall = np.zeros((hosts, seconds))
    fall[:, 1:] = np.maximum(rate[:, :-1] - rate[:, 1:], 0)
    out: F64 = fall * (quiet >= np.maximum(1, options.long_quiet * longest)[:, None])
    return out


def _shifts(falls: F64, period_s: float, highest_hz: float) -> F64:
    spectrum = np.fft.rfft(falls - falls.mean(axis=1, keepdims=True), axis=1)
    hz = np.arange(falls.shape[1] // 2 + 1) / falls.shape[1]
    keep = (hz > 0) & (hz <= highest_hz)
    response = spectrum[:, None, keep].astype(np.complex64)
    taper = np.cos(np.pi / 2 * hz[keep] / highest_hz)  # no edge: its ripples are maxima too
    axis = shifts.Axis(hz[keep], taper, period_s)
    return shifts.shifts(response, shifts.aligned_reference(response, axis), axis)
