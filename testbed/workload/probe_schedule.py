"""The probe schedule: which pairs of a job's skeleton are pinged, and when.

A pair is pinged while both containers are ready. When one ends, its peers continue, without an
answer, until they fetch their next list at most ``refresh_s`` later; by then its placement is
draining or gone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from testbed.simulator.counter_rng import uniform
from testbed.simulator.network import I32, Network
from testbed.workload.jobs import Phase, Schedule
from testbed.workload.layouts import pairs as layout_pairs
from testbed.workload.skeleton import NEVER, ProbeTimes, Skeleton, ring_offsets

Shape = Literal["ring", "layout"]


def skeleton(
    network: Network, schedule: Schedule, *, shape: Shape, targets: int, seed: int
) -> Skeleton:
    """Same-rail pairs of every phase of every job; a pair that outlives a phase is one pair.

    shape    "ring": ``targets`` hosts at ring distances 1, 2, 4, ... of the job; "layout": the
             hosts that it communicates with in its layout, however many
    """
    ends = _endpoints(network)
    found = [_of_phase(phase, ends, shape, targets) for phase in schedule.phases]
    parts = [part for part in found if len(part)]
    if not parts:
        return Skeleton(np.empty((0, 2), np.int32), None)
    every = np.concatenate(parts)
    every = every[np.lexsort((every[:, 2], every[:, 1], every[:, 0]))]
    new = np.ones(len(every), np.bool_)  # ... unless it continues the row before
    new[1:] = (every[1:, :2] != every[:-1, :2]).any(axis=1) | (every[1:, 2] > every[:-1, 3])
    first = np.flatnonzero(new)
    pairs, begin = every[first, :2].astype(np.int32), every[first, 2]
    end = np.maximum.reduceat(every[:, 3], first)
    if not schedule.changes:
        return Skeleton(pairs, None)
    return _lived(network, schedule, pairs, begin, end, seed)


def lived(network: Network, schedule: Schedule, ends: I32) -> ProbeTimes | None:
    """The times of five-tuples (N, 2) of ping lists: an end that is dead neither probes nor
    answers. None where no container comes or goes; -1 in ``ends`` lives for ever."""
    if not schedule.changes:
        return None
    dies = np.array([life.dies_s for life in schedule.lives] + [NEVER], np.int32)
    box = np.append(network.endpoint_container, np.int32(-1))[ends]
    return ProbeTimes(np.zeros(len(ends), np.int32), dies[box[:, 0]], dies[box[:, 1]])


def _lived(
    network: Network,
    schedule: Schedule,
    pairs: I32,
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    seed: int,
) -> Skeleton:
    """Pairs with the part of [begin, end) in which both containers live."""
    lives = np.array([(life.ready_s, life.dies_s) for life in schedule.lives], np.int64)
    box = network.endpoint_container[pairs]
    ready, dies = lives[box, 0], lives[box, 1]
    late = 1 + np.floor(schedule.refresh_s * uniform(seed, 61, box[:, 0], pairs[:, 1]))
    from_s = np.maximum(begin, ready.max(axis=1))
    until_s = np.minimum(np.minimum(end, dies[:, 0]), dies[:, 1] + late.astype(np.int64))
    ever = from_s < until_s
    times = ProbeTimes(*(
        np.clip(each[ever], 0, NEVER).astype(np.int32) for each in (from_s, until_s, dies[:, 1])
    ))  # fmt: skip
    return Skeleton(pairs[ever], times)


def _endpoints(network: Network) -> I32:
    """(C, rails) endpoint indices of containers in the order of their rails, -1 padded."""
    box, rail = network.endpoint_container, network.rnic_rail[network.endpoint_rnic]
    order = np.lexsort((rail, box))
    counts = np.bincount(box, minlength=len(network.container_host))
    out = np.full((len(counts), max(counts.max(initial=0), 1)), -1, np.int32)
    nth = np.arange(len(box)) - np.repeat(np.cumsum(counts) - counts, counts)
    out[box[order], nth] = order
    return out


def _of_phase(phase: Phase, ends: I32, shape: Shape, targets: int) -> NDArray[np.int64]:
    """(K, 4) endpoint from, endpoint to, from_s, until_s."""
    members = np.array(phase.members)
    if shape == "layout":
        hosts = layout_pairs(phase.layout)[:, :2]
    else:
        every = np.arange(len(members))
        turned = [
            np.stack([every, np.roll(every, -offset)], axis=1)
            for offset in ring_offsets(len(members), targets)
        ]
        hosts = np.concatenate([np.empty((0, 2), np.int64), *turned])
    pairs = ends[members[hosts]]  # (pairs, 2, rails)
    pairs = pairs[:, :, : phase.layout.rails].transpose(0, 2, 1).reshape(-1, 2)
    pairs = pairs[(pairs >= 0).all(axis=1)]
    span = np.broadcast_to([phase.from_s, phase.until_s], pairs.shape)
    return np.concatenate([pairs, span], axis=1)
