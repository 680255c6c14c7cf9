"""The pairs of rnics that may carry traffic of the job: a superset of the true ones.

Replicas of a position exchange gradients (and experts' tokens) in a ring, in trees or all with
all; counters do not show which, so that all pairs of a position are kept. Neighbouring stages
exchange activations between one replica of each; all pairs on the rail are kept where the replicas
cannot be matched. The last stage and the first are neighbours too: interleaved pipelines and tied
embeddings connect them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from controller.skeleton.parameters import SkeletonParameters
from controller.skeleton.profiles import Slots
from controller.skeleton.stages import Stages

I64 = NDArray[np.int64]


def pairs(
    found: Stages,
    place: Slots,
    options: SkeletonParameters,
    match: dict[tuple[int, int], I64] | None = None,
) -> I64:
    """(K, 2) indices of rnics, a < b, sorted, no pair twice and none inside a host.

    match  (M, 2) hosts that are known to be neighbours, by pair of groups; all of them elsewhere
    """
    group = found.groups.group
    hosts = [np.flatnonzero(group == number) for number in range(int(group.max()) + 1)]
    slot = np.arange(place.rnic.shape[1])
    parts = []
    for own in hosts:
        a, b = np.triu_indices(len(own), 1)
        parts.append(_on_slots(place, own[a], own[b], slot, slot))
    first, last = slot[found.inside == 0], slot[found.inside == found.per_host - 1]
    for one, other in neighbours(found, options):
        known = (match or {}).get((one, other))
        if known is None:
            a, b = (each.ravel() for each in np.meshgrid(hosts[one], hosts[other], indexing="ij"))
        else:
            a, b = known[:, 0], known[:, 1]
        parts.append(_on_slots(place, a, b, last, first))
        if found.groups.places.max() > 1 and found.per_host > 1:
            parts.append(_on_slots(place, a, b, slot, slot))
    parts += _doubtful(found, place, hosts, options)
    every = np.sort(np.concatenate(parts), axis=1)
    out: I64 = np.unique(every[every[:, 0] >= 0], axis=0)
    return out


def _doubtful(
    found: Stages, place: Slots, hosts: list[I64], options: SkeletonParameters
) -> Iterator[I64]:
    """Pairs of hosts that burst with another group than theirs, as if they were of that group."""
    slot = np.arange(place.rnic.shape[1])
    near = {group: {group} for group in range(len(hosts))}
    for one, other in neighbours(found, options):
        near[one].add(other)
        near[other].add(one)
    for host in np.flatnonzero(found.nearest != found.groups.group):
        for group in near[int(found.nearest[host])]:
            others = hosts[group][hosts[group] != host]
            yield _on_slots(place, np.full(len(others), host), others, slot, slot)


def neighbours(found: Stages, options: SkeletonParameters) -> Iterator[tuple[int, int]]:
    """Pairs of groups that may follow each other: (earlier, later), and (last, first).

    Where two groups are so near in time that either may be first, the groups before and after
    them may be neighbours of both.
    """
    count = len(found.later_s)
    for one in range(count - 1):
        yield one, one + 1
    close = np.diff(found.later_s) < 2 * options.clock_s
    for one in range(count - 2):
        if close[one] or close[one + 1]:
            yield one, one + 2
    for one in range(count - 3):
        if close[one] and close[one + 2]:
            yield one, one + 3
    if count > 2:
        yield count - 1, 0
        if close[0]:
            yield count - 1, 1
        if close[-1]:
            yield count - 2, 0


def _on_slots(place: Slots, a: I64, b: I64, of_a: I64, of_b: I64) -> I64:
    """Pairs of hosts, slot by slot; -1 where an rnic is absent."""
    both = np.stack([place.rnic[a][:, of_a].ravel(), place.rnic[b][:, of_b].ravel()], axis=1)
    both[(both < 0).any(axis=1)] = -1
    out: I64 = both
    return out
