"""ECMP paths and shares between two access switches (ToRs) where no route is traced. No I/O.

Routers split traffic equally over the next hops on shortest paths, so the probability that a
five-tuple crosses a switch or link is the product of the fractions along the way (RFC 2992).

Example: t1 has uplinks to p1 and p2; p1 to s1 and s2, p2 to s3; all of these to t2. Between t1 and
t2, p1 and p2 have share 1/2, s1 and s2 have 1/4, s3 has 1/2.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import pair_key
from localizer.fabric.switch_graph import SwitchGraph

I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class EcmpPath:
    """What one traversal from ToR a to ToR b crosses, besides a and b themselves.

    number  the same for all pairs of ToRs between which the same ``nodes`` and ``links`` lie
    up      next hop of a -> share
    down    last hop before b -> share
    nodes   switch in between -> share
    links   (from, to) in between, as travelled -> share
    """

    number: int
    up: dict[int, float] = field(default_factory=dict)
    down: dict[int, float] = field(default_factory=dict)
    nodes: dict[int, float] = field(default_factory=dict)
    links: dict[tuple[int, int], float] = field(default_factory=dict)


#: Share of a traversal by switch, and by link (from, to).
Crossed = tuple[Mapping[int, float], Mapping[tuple[int, int], float]]
_NOTHING = EcmpPath(0)
_FAR: Final = 1 << 30  # hops to what cannot be reached


class EcmpPaths:
    """ECMP paths of a switch graph, computed once for all pairs of ToRs with equal neighbours."""

    def __init__(self, graph: SwitchGraph) -> None:
        self._graph = graph
        self._paths: dict[tuple[object, ...], EcmpPath | None] = {}
        self._numbered = 0
        self._twin: dict[int, int] = {}
        self._twins: dict[frozenset[int], int] = {}
        self._distances = lru_cache(maxsize=256)(self._distances_to)
        self._learnt_links = graph.learnt_links

    def between(self, a: int, b: int, src_dsw: str, dst_dsw: str) -> EcmpPath:
        """The ECMP paths from ToR a to ToR b; -1 for one that is not known.

        src_dsw, dst_dsw  spines that the records name: used where the graph has no path
        """
        self._refresh()
        if a < 0 or b < 0 or a == b:
            return _NOTHING
        key: tuple[object, ...] = (self._twin_of(a), self._twin_of(b))
        if b in self._graph.near(a):
            key = ("neighbours", a, b)
        if key not in self._paths:
            self._paths[key] = self._shortest(a, b)
        path = self._paths[key]
        if path is not None:
            return path
        key = ("spine", src_dsw, dst_dsw)
        if key not in self._paths:
            self._paths[key] = self._by_records(src_dsw, dst_dsw)
        return self._paths[key] or _NOTHING

    def whole(self, a: int, b: int, src_dsw: str, dst_dsw: str) -> Crossed:
        """Switches and links that one traversal from ToR a to ToR b crosses, both ToRs included."""
        path = self.between(a, b, src_dsw, dst_dsw)
        nodes = path.nodes | {tor: 1.0 for tor in (a, b) if tor >= 0}
        links = dict(path.links)
        links |= {(a, near): share for near, share in path.up.items() if a >= 0}
        links |= {(near, b): share for near, share in path.down.items() if b >= 0}
        return nodes, links

    def between_any(
        self, starts: Sequence[int], ends: Sequence[int], src_dsw: str, dst_dsw: str
    ) -> Crossed:
        """The same of a traversal from any of some ToRs, each as probable, to the nearest of
        others: those of a sender and of a receiver whose rnics are bonded.
        """
        self._refresh()
        nodes: defaultdict[int, float] = defaultdict(float)
        links: defaultdict[tuple[int, int], float] = defaultdict(float)
        for start in starts:
            away = [self._distances(end).get(start, _FAR) if end >= 0 else _FAR for end in ends]
            nearest = [end for end, far in zip(ends, away, strict=True) if far == min(away)]
            for end in nearest:
                share = 1.0 / (len(starts) * len(nearest))
                crossed, travelled = self.whole(start, end, src_dsw, dst_dsw)
                for node, part in crossed.items():
                    nodes[node] += share * part
                for ends_of, part in travelled.items():
                    links[ends_of] += share * part
        return nodes, links

    def interior_keys(self, a: I32, b: I32) -> U64:
        """(n,) equal for pairs of ToRs a and b (-1: not known) with the same interior, if the
        records name the same spines."""
        self._refresh()
        used, at = np.unique(np.concatenate([a, b]), return_inverse=True)
        twin = np.array([self._twin_of(tor) if tor >= 0 else -1 for tor in used.tolist()], np.int64)
        keys = pair_key(*twin[at].reshape(2, -1))
        tors = set(used.tolist())
        near = [(tor, n) for tor in tors if tor >= 0 for n in self._graph.near(tor) if n in tors]
        if near:
            pairs = pair_key(a, b)
            neighbours = np.isin(pairs, pair_key(*np.array(near).T))
            keys[neighbours] = pairs[neighbours] | np.uint64(2**63)
        keys[(a < 0) | (b < 0) | (a == b)] = np.uint64(2**64 - 1)
        return keys

    def _refresh(self) -> None:
        """Drop what was computed when traceroutes have shown new links since."""
        if self._learnt_links != self._graph.learnt_links:
            self._learnt_links = self._graph.learnt_links
            for cache in (self._paths, self._twin, self._twins):
                cache.clear()
            self._distances.cache_clear()

    def _twin_of(self, a: int) -> int:
        """One of the ToRs with the same neighbours: to exchange two of them leaves the graph as it
        is, so that the same lies between either and any third."""
        twin = self._twin.get(a)
        if twin is None:
            twin = self._twins.setdefault(frozenset(self._graph.near(a)), a)
            self._twin[a] = twin
        return twin

    def _next_number(self) -> int:
        self._numbered += 1
        return self._numbered

    def _by_records(self, src_dsw: str, dst_dsw: str) -> EcmpPath:
        spines = {self._graph.spine(dsw) for dsw in (src_dsw, dst_dsw) if dsw}
        nodes = dict.fromkeys(spines, 1.0)
        if src_dsw and src_dsw == dst_dsw:
            return EcmpPath(self._next_number(), nodes, nodes, nodes)
        return EcmpPath(self._next_number(), nodes=nodes)

    def _distances_to(self, b: int) -> dict[int, int]:
        """Hops to b from each switch that reaches it, by breadth-first search."""
        distance = {b: 0}
        queue = deque([b])
        while queue:
            here = queue.popleft()
            for near in self._graph.near(here):
                if near not in distance:
                    distance[near] = distance[here] + 1
                    queue.append(near)
        return distance

    def _shortest(self, a: int, b: int) -> EcmpPath | None:
        """Equal split at each switch over the next hops on shortest paths; None without a path."""
        distance = self._distances(b)
        if a not in distance:
            return None
        share: defaultdict[int, float] = defaultdict(float, {a: 1.0})
        path = EcmpPath(self._next_number())
        layer = {a}
        while layer:
            following: set[int] = set()
            for here in sorted(layer):
                if here not in (a, b):
                    path.nodes[here] = share[here]
                nexts = [
                    n for n in self._graph.near(here) if distance.get(n, -1) == distance[here] - 1
                ]
                for near in nexts:
                    part = share[here] / len(nexts)
                    share[near] += part
                    if here == a and near != b:
                        path.up[near] = part
                    elif near == b and here != a:
                        path.down[here] = part
                    else:
                        path.links[here, near] = part
                    following.add(near)
            layer = following
        return path
