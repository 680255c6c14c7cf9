"""Links between two ToRs and the share of five-tuples that ECMP sends over each. Pure.

Each switch splits traffic evenly over its next hops on shortest paths (RFC 2992). Between two
groups of ToRs with equal uplinks lies the same, so it is computed once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

from schemas.documents.topology import Topology

#: A link as it is travelled: from switch, to switch.
Hop = tuple[str, str]
Group = frozenset[str]


class Between(NamedTuple):
    """What lies between two ToRs.

    up, down  next hop of the first, last hop before the second -> share
    middle    links between other switches -> share
    """

    up: dict[str, float]
    middle: dict[Hop, float]
    down: dict[str, float]


_NOTHING = Between({}, {}, {})


def tor_pairs(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str, float]]:
    """ToRs that a five-tuple may take from an rnic behind ToRs ``a`` to one behind ``b``, and their
    share: a bond spreads its five-tuples evenly. One that both have leads to nothing else."""
    found = []
    for one in a:
        near = [one] if one in b else b
        found += [(one, other, 1 / len(a) / len(near)) for other in near]
    return found


class SwitchPaths:
    """Shortest paths of a topology's switches."""

    def __init__(self, topology: Topology) -> None:
        near: defaultdict[str, set[str]] = defaultdict(set)
        for a, b in topology.links:
            near[a].add(b)
            near[b].add(a)
        self._near = {name: frozenset(others) for name, others in near.items()}
        self._between: dict[tuple[Group, Group], Between] = {}

    def group(self, tor: str) -> Group:
        """ToRs of one group have the same neighbours."""
        return self._near.get(tor, frozenset())

    def between(self, a: str, b: str) -> Between:
        """What five-tuples cross from ToR a to ToR b, the ToRs and their rnics left out.

        Empty where a is b, where there is no path, and where the two are neighbours.
        """
        if a == b or b in self.group(a):
            return _NOTHING
        key = self.group(a), self.group(b)
        if key not in self._between:
            self._between[key] = self._shortest(a, b)
        return self._between[key]

    def hops(self, a: str, b: str) -> dict[Hop, float]:
        """Every link from ToR a to ToR b as it is travelled -> share."""
        if b in self.group(a):
            return {(a, b): 1.0}
        up, middle, down = self.between(a, b)
        return {
            **{(a, via): share for via, share in up.items()},
            **middle,
            **{(via, b): share for via, share in down.items()},
        }

    def _shortest(self, a: str, b: str) -> Between:
        distance = {b: 0}
        queue = deque([b])
        while queue:
            here = queue.popleft()
            for other in self.group(here):
                if other not in distance:
                    distance[other] = distance[here] + 1
                    queue.append(other)
        if a not in distance:
            return _NOTHING
        found = Between({}, {}, {})
        share: defaultdict[str, float] = defaultdict(float, {a: 1.0})
        layer = [a]
        while layer and layer != [b]:
            following: defaultdict[str, float] = defaultdict(float)
            for here in layer:
                nexts = sorted(n for n in self.group(here) if distance[n] == distance[here] - 1)
                for other in nexts:
                    part = share[here] / len(nexts)
                    following[other] += part
                    if here == a:
                        found.up[other] = part
                    if other == b:
                        found.down[here] = part
                    if here != a and other != b:
                        found.middle[here, other] = part
            share = following
            layer = sorted(following)
        return found
