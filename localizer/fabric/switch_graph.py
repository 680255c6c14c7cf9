"""Ways between access switches: exact from traceroutes, else the ECMP alternatives and shares."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import joined
from localizer.fabric.switch_tiers import Tiers
from schemas.component_ids import TIER_KIND, component, link
from schemas.documents.topology import Topology

I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]
Shares = dict[str, float]  # component id -> probability that one traversal crosses it
Route = tuple[int, ...]  # switches, by their numbers

#: Hops of a route that is read: no fabric has so many tiers, and tables are as wide as the longest.
MOST_HOPS = 32
#: In a fabric without a topology a hop of a traceroute is a switch because a record says so. So
#: many are believed, and so many more an access switch (its peers' interfaces may all be named).
MOST_LEARNT, LEARNT_PER_TOR = 512, 32


@dataclass(frozen=True, slots=True)
class EcmpPath:
    """What one traversal between two ToRs a -> b crosses, besides a and b themselves.

    number  the same for all pairs of ToRs between which the same ``nodes`` and ``links`` lie
    up      next hop of a -> share; down: last hop before b -> share
    nodes   switch in between -> share; links (from, to) in between, as travelled -> share
    """

    number: int
    up: dict[int, float] = field(default_factory=dict)
    down: dict[int, float] = field(default_factory=dict)
    nodes: dict[int, float] = field(default_factory=dict)
    links: dict[tuple[int, int], float] = field(default_factory=dict)


NOTHING = EcmpPath(0)  # in between


class SwitchGraph:
    """The switch graph of one fabric, or what the records let us guess of it.

    ``switches`` names them; a switch's number is its place there.
    """

    def __init__(self, topology: Topology | None) -> None:
        self.switches: list[str] = []
        self._number: dict[str, int] = {}
        self._asw: dict[int, str] = {}  # number -> access switch, as records write it
        self._id: dict[str, int] = {}  # switch id or interface address -> number
        self._name_of: list[str] = []
        self._near: list[list[int]] = []
        self._joined: set[tuple[int, int]] = set()
        self.learnt = 0  # switches that only traceroutes name
        self.refused = 0  # hops that were not believed, because too many were
        self._ways: dict[tuple[object, ...], EcmpPath | None] = {}
        self._twin: dict[int, int] = {}
        self._twins: dict[frozenset[int], int] = {}
        self._numbered = 0
        self.given = topology is not None
        self.edges = 0  # learnt from traceroutes; grows only while the graph is not given
        self.renamed = 0  # how often a switch turned out to be of another tier; as ``edges``
        self._tiers = Tiers()
        self._distances = lru_cache(maxsize=256)(self._distances_to)
        if topology is not None:
            for switch in topology.switches:
                number = self._switch(component(TIER_KIND[switch.tier], switch.id))
                for name in (switch.id, *switch.addresses):
                    self._id[name] = number
            for a, b in topology.links:
                self._join(self._id[a], self._id[b])

    def tor(self, asw: str) -> int:
        """Number of an access switch; -1 where the record names none."""
        if not asw:
            return -1
        number = self._switch(component("tor", asw)) if self.given else self._record(asw, "tor")
        self._asw[number] = asw
        return number

    def asw(self, tor: int) -> str:
        """What records call an access switch; empty for -1."""
        return self._asw.get(tor, "")

    def listed(self, hop: str) -> int:
        """Number of a switch by its id or an address of its interfaces; -1 if it is not listed."""
        return self._id.get(hop, -1)

    def near(self, number: int) -> list[int]:
        """Switches that a switch is known to have a link to."""
        return self._near[number]

    def call_spine(self, dsw: str) -> None:
        """Records name a distribution switch: in an unknown fabric its hops are that spine."""
        if dsw and not self.given:
            self._record(dsw, "spine")

    def read(self, hops: Sequence[str | None], first: str, last: str) -> Route | None:
        """The switches of a traceroute; an unknown fabric's links are learnt from it.

        hops         names in order, None for a silent hop
        first, last  the access switches that a complete route must begin and end with, if known
        returns      None for a route that is cut short, unclear or comes past a switch twice: it
                     may be so by the very fault that we look for, and must not replace a better one
        """
        if len(hops) > MOST_HOPS:
            return None
        # A hop without a name is silent.
        names = [self._name(hop, first, last) if hop else None for hop in hops]
        route = self._fill(names)
        if not route or len(set(route)) < len(route):
            return None
        if (first and route[0] != self.tor(first)) or (last and route[-1] != self.tor(last)):
            return None
        if not self.given:
            self._learn_links(route)
            for number in self._tiers.learn(route, len(self.switches)):
                self._rename(number)
        return tuple(route)

    def _switch(self, component_id: str, name: str = "") -> int:
        """name  as records and routes write it; matters only where the tier may change"""
        number = self._number.setdefault(component_id, len(self.switches))
        if number == len(self.switches):
            self.switches.append(component_id)
            self._name_of.append(name)
            self._near.append([])
        return number

    def _join(self, a: int, b: int) -> None:
        self._near[a].append(b)
        self._near[b].append(a)
        self._joined |= {(a, b), (b, a)}

    def _learn_links(self, route: Sequence[int]) -> None:
        for a, b in pairwise(route):
            if (a, b) not in self._joined:
                self._join(a, b)
                self.edges += 1
                self._ways.clear()
                self._twin.clear()
                self._twins.clear()
                self._distances.cache_clear()

    def _record(self, name: str, kind: str) -> int:
        """Number of a switch that a record calls a ToR or a spine."""
        number = self._id.get(name, len(self.switches))
        self._tiers.record(number, kind)
        if number == len(self.switches):
            self._id[name] = self._switch(component(kind, name), name)
        else:
            self._rename(number)
        return number

    def _device(self, name: str) -> int | None:
        """Number of a switch of an unknown fabric, whatever its tier; None beyond the most that
        only traceroutes may name."""
        if name not in self._id:
            if self.learnt >= MOST_LEARNT + LEARNT_PER_TOR * len(self._asw):
                self.refused += 1
                return None
            self.learnt += 1
            self._id[name] = self._switch(component(self._tiers.kind(-1), name), name)
        return self._id[name]

    def _rename(self, number: int) -> None:
        before = self.switches[number]
        after = component(self._tiers.kind(number), self._name_of[number])
        if after != before:
            del self._number[before]
            self.switches[number] = after
            self._number[after] = number
            self.renamed += 1

    def _name(self, hop: str, first: str, last: str) -> int | None:
        if (known := self.listed(hop)) >= 0:
            return known
        if hop in (first, last):
            return self.tor(hop)
        if self.given:
            return None  # an unlisted hop in a known fabric is no switch of it
        return self._device(hop)

    def adopt(self, other: SwitchGraph, used: Iterable[int]) -> dict[int, int]:
        """Take over some switches of another graph of this fabric: its numbers -> ours."""
        number = {old: self._switch(other.switches[old], other._name_of[old]) for old in used}
        if not self.given:
            self._tiers.adopt(other._tiers, number)
            self.learnt = sum(self._tiers.kind(new) != "tor" for new in number.values())
            for hop, old in other._id.items():
                if old in number:
                    self._id.setdefault(hop, number[old])
        return number

    @property
    def links(self) -> int:
        """Links between switches."""
        return len(self._joined) // 2

    def join(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Learn links from routes that have been read before."""
        if not self.given:
            for pair in pairs:
                self._learn_links(pair)

    def _fill(self, names: list[int | None]) -> list[int] | None:
        """Name silent hops where the graph leaves one choice; None when it does not."""
        out: list[int] = []
        for at, name in enumerate(names):
            if name is None:
                after = names[at + 1] if at + 1 < len(names) else None
                if not out or after is None:
                    return None
                between = set(self._near[out[-1]]) & set(self._near[after])
                if len(between) != 1:
                    return None
                name = between.pop()
            out.append(name)
        return out

    def between(self, src_asw: str, dst_asw: str, src_dsw: str, dst_dsw: str) -> Shares:
        """Switches and links between two access switches with their ECMP shares, by name."""
        a, b = self.tor(src_asw), self.tor(dst_asw)
        way = self.way(a, b, src_dsw, dst_dsw)
        links = {(a, n): s for n, s in way.up.items()} | {(n, b): s for n, s in way.down.items()}
        shares = {self.switches[n]: s for n, s in way.nodes.items()}
        shares |= {self.switches[n]: 1.0 for n in (a, b) if n >= 0}
        for (u, v), share in (links | way.links).items():
            shares[link(self.switches[u], self.switches[v])] = share
        return shares

    def way(self, a: int, b: int, src_dsw: str, dst_dsw: str) -> EcmpPath:
        """The ECMP alternatives between two access switches; -1 for one that is not known.

        src_dsw, dst_dsw  distribution switches that the records name, where the graph says nothing
        """
        if a < 0 or b < 0 or a == b:
            return NOTHING
        key: tuple[object, ...] = (self._twin_of(a), self._twin_of(b))
        if b in self._near[a]:
            key = ("neighbours", a, b)
        if key not in self._ways:
            self._ways[key] = self._shortest(a, b)
        way = self._ways[key]
        if way is not None:
            return way
        key = ("spine", src_dsw, dst_dsw)
        if key not in self._ways:
            self._ways[key] = self._guess(src_dsw, dst_dsw)
        return self._ways[key] or NOTHING

    def alike(self, a: I32, b: I32) -> U64:
        """(n,) equal for ways from ToRs a to ToRs b (-1: not known) between which the same lies, if
        the records name the same distribution switches."""
        used, at = np.unique(np.concatenate([a, b]), return_inverse=True)
        twin = np.array([self._twin_of(tor) if tor >= 0 else -1 for tor in used.tolist()], np.int64)
        alike = joined(*twin[at].reshape(2, -1))
        tors = set(used.tolist())
        near = [(tor, n) for tor in tors if tor >= 0 for n in self._near[tor] if n in tors]
        if near:
            pairs = joined(a, b)
            beside = np.isin(pairs, joined(*np.array(near).T))
            alike[beside] = pairs[beside] | np.uint64(2**63)
        alike[(a < 0) | (b < 0) | (a == b)] = np.uint64(2**64 - 1)
        return alike

    def _twin_of(self, a: int) -> int:
        """ToRs with the same neighbours are twins: to exchange two of them leaves the graph as it
        is, so that the same alternatives lie between them and any third."""
        twin = self._twin.get(a)
        if twin is None:
            twin = self._twins.setdefault(frozenset(self._near[a]), a)
            self._twin[a] = twin
        return twin

    def _new_number(self) -> int:
        self._numbered += 1
        return self._numbered

    def _guess(self, src_dsw: str, dst_dsw: str) -> EcmpPath:
        spines = {self._spine(dsw) for dsw in (src_dsw, dst_dsw) if dsw}
        nodes = dict.fromkeys(spines, 1.0)
        if src_dsw and src_dsw == dst_dsw:
            return EcmpPath(self._new_number(), nodes, nodes, nodes)
        return EcmpPath(self._new_number(), nodes=nodes)

    def _spine(self, dsw: str) -> int:
        if not self.given:
            return self._record(dsw, "spine")
        listed = self.listed(dsw)
        return self._switch(component("spine", dsw)) if listed < 0 else listed

    def _distances_to(self, b: int) -> dict[int, int]:
        distance = {b: 0}
        queue = deque([b])
        while queue:
            here = queue.popleft()
            for near in self._near[here]:
                if near not in distance:
                    distance[near] = distance[here] + 1
                    queue.append(near)
        return distance

    def _shortest(self, a: int, b: int) -> EcmpPath | None:
        """Equal split at each switch over the next hops on shortest paths, as ECMP does."""
        distance = self._distances(b)
        if a not in distance:
            return None
        flow: defaultdict[int, float] = defaultdict(float, {a: 1.0})
        way = EcmpPath(self._new_number())
        layer = {a}
        while layer:
            following: set[int] = set()
            for here in sorted(layer):
                if here not in (a, b):
                    way.nodes[here] = flow[here]
                nexts = [n for n in self._near[here] if distance.get(n, -1) == distance[here] - 1]
                for near in nexts:
                    part = flow[here] / len(nexts)
                    flow[near] += part
                    if here == a and near != b:
                        way.up[near] = part
                    elif near == b and here != a:
                        way.down[here] = part
                    else:
                        way.links[here, near] = part
                    following.add(near)
            layer = following
        return way
