"""The five-tuples that split a tie set most: greedy, by expected splits. Pure.

Two members are told apart by five-tuples that cross one of them and not the other. The expected
number of such five-tuples counts up to ``wanted`` for each pair of members; that sum is submodular,
so the greedy choice has at least 1 - 1/e of the best one (Nemhauser, Wolsey & Fisher 1978).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from controller.feedback.crossings import Masks, TieCrossings, TorClass
from controller.feedback.parameters import FeedbackParameters
from controller.ping_lists.endpoints import Endpoint
from schemas.documents.topology import Topology

F64 = npt.NDArray[np.float64]


class Ground(NamedTuple):
    """A fabric as it may be probed now.

    endpoints  whose agents have registered
    jobs       of endpoints in the overlay, by address
    entries    source and target address of the lists -> source ports [count]
    target     an entry as in the lists: source, target, first port beyond their first one, ports
    """

    topology: Topology
    endpoints: Sequence[Endpoint]
    jobs: Mapping[str, str]
    entries: Mapping[tuple[str, str], int]
    target: Callable[[Endpoint, Endpoint, int, int], dict[str, object]]


class NewFiveTuples(NamedTuple):
    """So many new five-tuples from one endpoint to another."""

    source: Endpoint
    target: Endpoint
    five_tuples: int


class _Class(NamedTuple):
    """Endpoints that are alike for the tie set; sorts by what tells its members apart first."""

    far: bool  # it crosses no member for certain, and neither does its ToR
    layer: str
    job: str
    own: int
    tor: TorClass
    members: list[Endpoint]


def choose(
    ground: Ground,
    crossings: TieCrossings,
    members: int,
    capacity: Mapping[str, int],
    parameters: FeedbackParameters,
) -> list[NewFiveTuples]:
    """New five-tuples that split a tie set of so many members; none where nothing splits it.

    capacity  new five-tuples that a host may probe; of others ``host_tuples``
    """
    classes = _classes(ground, crossings)[: parameters.classes]
    both = [
        (one, other)
        for one, other in combinations_with_replacement(classes, 2)
        if (one.layer, one.job) == (other.layer, other.job) and _apart(one, other)
    ]
    if not both:
        return []
    splits = np.array([
        _splits(crossings.round_trip(one.members[0], _other(one, other)), members)
        for one, other in both
    ])  # fmt: skip
    left = Counter({
        each.node_sn: capacity.get(each.node_sn, parameters.host_tuples)
        for each in ground.endpoints
    })  # fmt: skip
    expected = np.zeros(splits.shape[1])
    taken: Counter[tuple[Endpoint, Endpoint]] = Counter()
    open_ = np.ones(len(both), bool)
    while taken.total() < parameters.five_tuples and open_.any():
        gain = _gain(expected, splits, parameters.wanted)
        gain[~open_] = 0.0
        best = int(gain.argmax())
        if gain[best] < parameters.least_gain:
            break
        pair = _least_used(*both[best], left, taken, parameters.looked_at)
        if pair is None:
            open_[best] = False
            continue
        taken[pair] += 1
        left[pair[0].node_sn] -= 1
        expected += splits[best]
    return [NewFiveTuples(*pair, count) for pair, count in sorted(taken.items())]


def _gain(expected: F64, splits: F64, wanted: float) -> F64:
    """(C,) what one five-tuple of each candidate adds."""
    before = np.minimum(expected, wanted)
    added: F64 = (np.minimum(expected + splits, wanted) - before).sum(axis=1)
    return added


def _splits(masks: Masks, members: int) -> list[float]:
    """Of each pair of members, the probability that exactly one of them is crossed."""
    return [
        sum(p for mask, p in masks.items() if (mask >> i & 1) != (mask >> j & 1))
        for i, j in combinations(range(members), 2)
    ]


def _classes(ground: Ground, crossings: TieCrossings) -> list[_Class]:
    """Endpoints by class; of the overlay only those of jobs that use a member."""
    own = {each.ip: crossings.own(each) for each in ground.endpoints}
    jobs = {ground.jobs.get(ip, "") for ip, mask in own.items() if mask} - {""}
    found: defaultdict[tuple[bool, str, str, int, TorClass], list[Endpoint]] = defaultdict(list)
    for each in sorted(ground.endpoints):
        job = ground.jobs.get(each.ip, "")
        if each.asw and (each.layer == "underlay" or job in jobs):
            tor, mask = crossings.tor_class(each.asw), own[each.ip]
            found[not (mask or tor[1]), each.layer, job, mask, tor].append(each)
    order = sorted(found, key=lambda key: (*key[:4], sorted(key[4][0]), key[4][1]))
    return [_Class(*key, found[key]) for key in order]


def _apart(one: _Class, other: _Class) -> bool:
    """Whether the classes have a pair of endpoints on two hosts."""
    hosts = {each.node_sn for each in one.members} | {each.node_sn for each in other.members}
    return len(hosts) > 1


def _other(one: _Class, other: _Class) -> Endpoint:
    """An endpoint of the second class that is like those which the first of the first probes.

    Of one class with two ToRs pairs cross the fabric, which tells more than pairs below a ToR.
    """
    first = one.members[0]
    apart = [each for each in other.members if each.node_sn != first.node_sn]
    return next((each for each in apart if each.asw != first.asw), (apart or other.members)[0])


def _least_used(
    one: _Class,
    other: _Class,
    left: Counter[str],
    taken: Counter[tuple[Endpoint, Endpoint]],
    looked_at: int,
) -> tuple[Endpoint, Endpoint] | None:
    """The pair, in either direction, whose hosts have probed least for this round so far.

    None where no host of the two classes may probe more.
    """
    across = _other(one, other).asw != one.members[0].asw
    used: Counter[str] = Counter()
    for (source, target), count in taken.items():
        used[source.ip] += count
        used[target.ip] += count

    def first(members: Sequence[Endpoint]) -> list[Endpoint]:
        return nsmallest(looked_at, members, lambda each: (used[each.ip], _spread(each)))

    best: tuple[tuple[int, int, int], Endpoint, Endpoint] | None = None
    for sources, targets in ((one, other), (other, one)):
        for source in first([each for each in sources.members if left[each.node_sn] > 0]):
            for target in first(targets.members):
                if target.node_sn == source.node_sn or (target.asw != source.asw) != across:
                    continue
                rank = (-left[source.node_sn], used[source.ip], used[target.ip])
                if best is None or rank < best[0]:
                    best = rank, source, target
    return None if best is None else best[1:]


def _spread(end: Endpoint) -> int:
    """An order without regard to hosts and ToRs."""
    return crc32(end.ip.encode())
