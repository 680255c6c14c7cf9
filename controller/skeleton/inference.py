"""Throughput in, the traffic skeleton out, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controller.skeleton import profiles, residuals, rhythm, series, stages
from controller.skeleton.pairs import pairs
from controller.skeleton.parameters import DEFAULT, SkeletonParameters
from controller.skeleton.profiles import Slots
from controller.skeleton.rhythm import Rhythm
from controller.skeleton.series import Throughput
from controller.skeleton.timing import shifts

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Skeleton:
    """What the throughput of a job's N rnics says about its traffic.

    declined    why it must not be used; empty = it may be used
    rnic        (N,) indices of the job's rnics in the input
    cluster     (N,) position of each rnic, 0 .. ; -1 where none was found
    stage       (N,) pipeline stage of each rnic in the order of bursts, -1 where none was found
    expert      (N,) number of each rnic's expert group, -1 where none was seen
    exception   (N,) rnics that fit their cluster badly: stragglers, or wrong
    pairs       (K, 2) indices in the input, a < b: all pairs that may carry traffic
    dp          rnics of a position; 0 where none was found
    tp_pp       positions: N / dp
    stages      pipeline stages that are told apart
    unresolved  positions that share a cluster with others
    later_s     (stages,) how much later than the first each stage bursts [s]
    period_s    length of a round [s]
    confidence  0..1: fidelity x share of rnics that fit x share of positions told apart
    fidelity    share of rnics that keep their time in bursts which the inference did not see
    """

    declined: str
    rnic: I64
    cluster: I64
    stage: I64
    expert: I64
    exception: NDArray[np.bool_]
    pairs: I64
    dp: int = 0
    tp_pp: int = 0
    stages: int = 0
    unresolved: int = 0
    later_s: tuple[float, ...] = ()
    period_s: int = 0
    confidence: float = 0.0
    fidelity: float = 0.0


def infer(given: Throughput, options: SkeletonParameters = DEFAULT) -> Skeleton:
    """The skeleton of one job from the throughput of its rnics."""
    rnics = np.arange(len(given.tx))
    kept = np.flatnonzero(series.coverage(given) >= options.coverage)
    seconds = given.tx.shape[1]
    if seconds < options.least_s:
        return _none(rnics, f"{seconds} s of throughput; at least {options.least_s} s are needed")
    if len(np.unique(given.host[kept])) < 2:
        return _none(rnics, "throughput of fewer than two hosts")
    used = given.rows(kept)
    used = used._replace(tx=series.filled(used.tx), rx=series.filled(used.rx))
    found = _infer(used, options)
    if len(kept) == len(rnics):
        return found
    return _widened(found, kept, len(rnics))


def infer_jobs(given: Throughput, options: SkeletonParameters = DEFAULT) -> list[Skeleton]:
    """One skeleton per rhythm that rnics share, where it is not known which job each serves.

    Rnics without a common rhythm are in none; one declined skeleton when there is none at all.
    """
    kept = np.flatnonzero(series.coverage(given) >= options.coverage)
    if given.tx.shape[1] < options.least_s or len(kept) < 2:
        return [infer(given, options)]
    used = given.rows(kept)
    used = used._replace(tx=series.filled(used.tx), rx=series.filled(used.rx))
    jobs = rhythm.split(used, options)
    if not jobs:
        return [_none(kept, "no common rhythm: no rnics of two hosts follow one course")]
    return [_moved(_infer(used.rows(job), options), kept[job]) for job in jobs]


def _infer(given: Throughput, options: SkeletonParameters) -> Skeleton:
    """Of gapless throughput of at least two hosts."""
    seconds = given.tx.shape[1]
    seen = int(seconds * (1 - options.held_out))
    rnics = np.arange(len(given.tx))
    shown = given.seconds(0, seen)
    known = rhythm.measure(shown, options)
    if reason := rhythm.why_not(known, shown, options):
        return _none(rnics, reason)
    place = profiles.slots(given.host, given.rail)
    found = stages.find(shown, known, place, options)
    groups = found.groups
    if groups.size < 2:
        return _none(rnics, "no two hosts hold the same positions: no replicas")
    held_out = rhythm.measure(given.seconds(seen, seconds), options)
    fidelity = _fidelity(known, held_out, place, groups.group, options)
    slots = place.rnic.shape[1]
    expert_of = residuals.expert_groups(shown, found, place, known.period_s, options)
    cluster, stage, expert = (np.full(len(rnics), -1, np.int64) for _ in range(3))
    exception = np.zeros(len(rnics), bool)
    for slot in range(slots):
        there = place.rnic[:, slot] >= 0
        at = place.rnic[there, slot]
        cluster[at] = groups.group[there] * slots + slot
        stage[at] = groups.group[there] * found.per_host + found.inside[slot]
        expert[at] = expert_of[there]
        exception[at] = groups.exceptions[there]
    match = residuals.matched(shown, found, place, options)
    unresolved = int((groups.places - 1).sum()) * slots
    positions = int(groups.places.sum()) * slots
    confidence = fidelity * (1 - float(exception.mean())) * (1 - unresolved / positions)
    declined = ""
    if fidelity < options.fidelity:
        declined = f"fidelity {fidelity:.2f}: bursts that the inference did not see contradict it"
    return Skeleton(
        declined, rnics, cluster, stage, expert, exception, pairs(found, place, options, match),
        dp=groups.size, tp_pp=positions, stages=len(found.later_s) * found.per_host,
        unresolved=unresolved, later_s=tuple(found.later_s.tolist()), period_s=known.period_s,
        confidence=confidence, fidelity=fidelity,
    )  # fmt: skip


def _fidelity(
    known: Rhythm, held_out: Rhythm, place: Slots, group: I64, options: SkeletonParameters
) -> float:
    """Share of rnics that in other bursts follow the common course and move in time with their
    group, where the group comes before and after the same groups as it did.

    group  (H,) of each host
    """
    period = float(known.period_s)
    before, after = (
        stages.host_shifts(each, place, options.highest_hz)[1] for each in (known, held_out)
    )
    there = place.rnic >= 0
    of = np.broadcast_to(group[:, None], there.shape)[there]
    moved = shifts.wrapped((after - before)[there], period)
    moved_by = shifts.centres(moved, of, period)
    off = np.abs(shifts.wrapped(moved - moved_by[of], period))
    was, now = (shifts.centres(each[there], of, period) for each in (before, after))
    same = (_successors(was, period) == _successors(now, period))[of]
    coherent = held_out.coherence()[place.rnic[there]] >= options.coherence
    return float(((off <= options.sample_s / 2) & coherent & same).mean())


def _successors(shift_s: F64, period_s: float) -> I64:
    """(G,) which group comes next in the round."""
    order = np.argsort(shift_s % period_s)
    out = np.empty(len(order), np.int64)
    out[order] = np.roll(order, -1)
    return out


def _none(rnics: I64, reason: str) -> Skeleton:
    nothing = np.full(len(rnics), -1, np.int64)
    return Skeleton(
        reason,
        rnics,
        nothing,
        nothing,
        nothing,
        np.zeros(len(rnics), bool),
        np.empty((0, 2), np.int64),
    )


def _moved(found: Skeleton, rnics: I64) -> Skeleton:
    """The same, with the indices of the rnics in the input."""
    return replace(found, rnic=rnics[found.rnic], pairs=rnics[found.pairs])


def _widened(found: Skeleton, kept: I64, count: int) -> Skeleton:
    """The same for all rnics of the job: those left out are in no cluster."""

    def spread(values: NDArray, empty: int) -> NDArray:  # type: ignore[type-arg]
        out = np.full(count, empty, values.dtype)
        out[kept] = values
        return out

    return replace(
        found, rnic=np.arange(count), cluster=spread(found.cluster, -1),
        stage=spread(found.stage, -1), expert=spread(found.expert, -1),
        exception=spread(found.exception, 0), pairs=kept[found.pairs],
    )  # fmt: skip
