"""Pipeline stages: groups of hosts in the order of their bursts, and stages inside a host."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controller.skeleton import clusters, profiles
from controller.skeleton.clusters import Grouping
from controller.skeleton.parameters import SkeletonParameters
from controller.skeleton.profiles import Slots
from controller.skeleton.rhythm import Rhythm
from controller.skeleton.series import Throughput
from controller.skeleton.spectra import C64, F64
from controller.skeleton.timing import round_ends, shifts

I64 = NDArray[np.int64]


class Stages(NamedTuple):
    """Hosts (H,) in groups of the same positions, the groups in the order of their bursts.

    groups    with numbers in the order of time
    later_s   (G,) how much later than the first group each bursts [s]
    nearest   (H,) the group whose bursts are nearest in time: not always the host's own
    inside    (S,) which of the host's stages the rnic of each slot belongs to, in order of time
    """

    groups: Grouping
    later_s: F64
    nearest: I64
    inside: I64

    @property
    def per_host(self) -> int:
        """Stages inside a host."""
        return int(self.inside.max()) + 1


def host_shifts(rhythm: Rhythm, place: Slots, highest_hz: float) -> tuple[F64, F64]:
    """(H,) how much later than others each host bursts, (H, S) each of its rnics [s].

    Frequencies above ``highest_hz`` are left out: pulses faster than two samples are aliased to
    them, and an aliased phase says nothing about time.
    """
    response = rhythm.burst_responses()  # (2, N, F)
    hz = rhythm.bytes.frequency_hz
    axis = shifts.Axis(hz, (hz <= highest_hz).astype(np.float64), float(rhythm.period_s))
    by_slot = response[:, place.rnic].transpose(1, 2, 0, 3)  # (H, S, 2, F)
    by_slot = np.where((place.rnic >= 0)[:, :, None, None], by_slot, 0).astype(np.complex64)
    hosts, slots = place.rnic.shape
    whole: C64 = by_slot.reshape(hosts, slots * 2, -1)
    of_host = shifts.shifts(whole, shifts.aligned_reference(whole, axis), axis)
    single: C64 = by_slot.reshape(hosts * slots, 2, -1)
    reference = shifts.aligned_reference(single, axis)
    return of_host, shifts.shifts(single, reference, axis).reshape(hosts, slots)


def find(given: Throughput, rhythm: Rhythm, place: Slots, options: SkeletonParameters) -> Stages:
    """Stages of a job's hosts from what their rnics did, and the rhythm of that."""
    level = rhythm.level
    weight = profiles.weights(level, rhythm.level_drive)
    middle = (level.start_s[-1] + level.window_s) / 2
    # frames of the two folds share no sample
    early, late = level.start_s + level.window_s <= middle, level.start_s >= middle
    folds = (None, early, late)
    whole, one, other = profiles.compact(
        *(profiles.profiles(rhythm.responses(fold), weight, place) for fold in folds)
    )
    label = clusters.finest(whole, one, other, options)
    of_host, of_slot = host_shifts(rhythm, place, options.highest_hz)
    period = float(rhythm.period_s)
    inside = _inside(of_slot, of_host, period, options)
    main = label >= 0
    apart_s = options.apart * options.clock_s
    label[main] = shifts.merged(label[main], of_host[main], period, apart_s)
    limits = shifts.Limits(options.separation, options.doubt, options.chance)
    by_time = shifts.blocks(of_host, period, apart_s, limits)
    if by_time.max() > label.max():
        label = by_time
    of_ends = round_ends.host_shifts(given, place, rhythm.period_s, options)
    if of_ends is not None:
        apart_s = options.apart_by_ends * options.clock_s
        by_ends = shifts.blocks(of_ends, period, apart_s, limits)
        clear = shifts.least_gap(by_ends, of_ends, period) >= apart_s
        if by_ends.max() > label.max() and clear:
            label, of_host = by_ends, of_ends
    return _ordered(clusters.balanced(label, of_host, period, options), of_host, inside, period)


def _ordered(found: Grouping, of_host: F64, inside: I64, period_s: float) -> Stages:
    middle = shifts.centres(of_host, found.group, period_s)
    later = shifts.unrolled(middle, period_s)
    order = np.argsort(later)
    rank = np.argsort(order)
    away = np.abs(shifts.wrapped(of_host[:, None] - middle[order], period_s))
    groups = found._replace(group=rank[found.group], places=found.places[order])
    return Stages(groups, later[order], away.argmin(axis=1), inside)


def _inside(of_slot: F64, of_host: F64, period_s: float, options: SkeletonParameters) -> I64:
    """(S,) stage inside the host of each slot: rnics of a host share its clock.

    Slots are apart in time when their median offsets are, by half of what clocks may differ and
    by more than their scatter explains; all stages have equally many slots, or there is one.
    """
    hosts, slots = of_slot.shape
    offset = shifts.wrapped(of_slot - of_host[:, None], period_s)
    centre = np.median(offset, axis=0)
    spread = np.median(np.abs(offset - centre)) / np.sqrt(hosts)
    order = np.argsort(centre, kind="stable")
    apart = np.diff(centre[order]) >= max(options.clock_s / 2, options.separation * spread)
    label = np.concatenate([[0], np.cumsum(apart)])
    count = np.bincount(label)
    out = np.zeros(slots, np.int64)
    if (count == count[0]).all():
        out[order] = label
    return out
