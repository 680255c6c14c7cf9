"""How improbable it is that no traceroute shows a link, if the document is right. No I/O.

Switches split five-tuples equally over the next hops on shortest paths (RFC 2992). A five-tuple
between ToRs a and b crosses link l with the product p of these shares, so that n five-tuples all
miss it with probability prod (1 - p_i). A five-tuple has one route: traced twice it counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Set

from controller.inventory.traced.routes import FiveTuple, Link


class Shares:
    """Shares of the links between two switches of a graph; computed once per pair."""

    def __init__(self, links: Iterable[Link]) -> None:
        self._near: defaultdict[str, list[str]] = defaultdict(list)
        for a, b in links:
            self._near[a].append(b)
            self._near[b].append(a)
        self._distance: dict[str, dict[str, int]] = {}

    def near(self, switch: str) -> set[str]:
        """Switches that a switch has a link to."""
        return set(self._near.get(switch, ()))

    def between(self, a: str, b: str) -> dict[Link, float]:
        """Link -> share of the five-tuples from a to b that cross it; empty without a path."""
        distance = self._distances(b)
        if a == b or a not in distance:
            return {}
        crossed: defaultdict[Link, float] = defaultdict(float)
        share = {a: 1.0}
        while share:
            following: defaultdict[str, float] = defaultdict(float)
            for here, part in share.items():
                nexts = [n for n in self._near[here] if distance.get(n) == distance[here] - 1]
                for near in nexts:
                    crossed[min(here, near), max(here, near)] += part / len(nexts)
                    if near != b:
                        following[near] += part / len(nexts)
            share = following
        return dict(crossed)

    def _distances(self, b: str) -> dict[str, int]:
        if b not in self._distance:
            distance, queue = {b: 0}, deque([b])
            while queue:
                here = queue.popleft()
                for near in self._near.get(here, ()):
                    if near not in distance:
                        distance[near] = distance[here] + 1
                        queue.append(near)
            self._distance[b] = distance
        return self._distance[b]


def log_missed(
    shares: Shares, traced: Mapping[Link, Set[FiveTuple]]
) -> dict[Link, tuple[float, float]]:
    """Link -> (ln of the probability that all five-tuples miss it, expected five-tuples on it).

    traced  (first, last switch) -> five-tuples whose route is known from end to end
    """
    out: defaultdict[Link, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for (a, b), five_tuples in traced.items():
        count = len(five_tuples)
        for link, share in shares.between(a, b).items():
            missed, expected = out[link]
            log = -math.inf if share >= 1.0 else count * math.log1p(-share)
            out[link] = (missed + log, expected + count * share)
    return dict(out)
