"""Ways between access switches: exact from traceroutes, else the ECMP alternatives and shares."""

from __future__ import annotations

from collections import defaultdict, deque
from functools import lru_cache
from itertools import pairwise

from schemas.components import TIER_KIND, component, link
from schemas.topology import Topology

Shares = dict[str, float]  # component id -> probability that one traversal crosses it


class Routes:
    """The switch graph of one fabric, or what the records let us guess of it."""

    def __init__(self, topology: Topology | None) -> None:
        self._id: dict[str, str] = {}  # switch id or interface address -> component id
        self._near: defaultdict[str, list[str]] = defaultdict(list)
        self._flows: dict[tuple[str, str, str, int, int], tuple[str, ...]] = {}
        self.given = topology is not None
        self.edges = 0  # learnt from traceroutes; grows only while the graph is not given
        if topology is not None:
            for switch in topology.switches:
                name = component(TIER_KIND[switch.tier], switch.id)
                self._id[switch.id] = name
                for address in switch.addresses:
                    self._id[address] = name
            for a, b in topology.links:
                self._near[self._id[a]].append(self._id[b])
                self._near[self._id[b]].append(self._id[a])
        self.between = lru_cache(maxsize=200_000)(self._between)

    def call_spine(self, dsw: str) -> None:
        """Records name a distribution switch: in an unknown fabric its hops are that spine."""
        if dsw and not self.given:
            self._id.setdefault(dsw, component("spine", dsw))

    def learn(self, flow: tuple[str, str, str, int, int], hops: list[str | None], first: str,
              last: str) -> bool:  # fmt: skip
        """Take a traceroute of a five-tuple; returns whether it told something new.

        hops         names in order, None for a silent hop
        first, last  the access switches that a complete route must begin and end with, if known
        A route cut short by the very fault that we look for must not replace a complete one.
        """
        spine = len(hops) // 2 if len(hops) >= 5 else -1  # up two tiers and down again
        names = [
            None if hop is None else self._name(hop, first, last, top=at == spine)
            for at, hop in enumerate(hops)
        ]
        filled = self._fill(names)
        if filled is None or not filled:
            return False
        if (first and filled[0] != component("tor", first)) or (
            last and filled[-1] != component("tor", last)
        ):
            return False
        route = tuple(filled)
        if self._flows.get(flow) == route:
            return False
        self._flows[flow] = route
        if not self.given:
            self._learn_links(route)
        return True

    def _learn_links(self, route: tuple[str, ...]) -> None:
        for a, b in pairwise(route):
            if b not in self._near[a]:
                self._near[a].append(b)
                self._near[b].append(a)
                self.edges += 1
                self.between.cache_clear()

    def _name(self, hop: str, first: str, last: str, *, top: bool) -> str | None:
        if known := self._id.get(hop):
            return known
        if hop in (first, last):
            return component("tor", hop)
        if self.given:
            return None  # an unlisted hop in a known fabric is no switch of it
        if top:  # the middle of a five-hop route turns round at a spine; others are in between
            self._id[hop] = component("spine", hop)
            return self._id[hop]
        return component("agg", hop)

    def _fill(self, names: list[str | None]) -> list[str] | None:
        """Name silent hops where the graph leaves one choice; None when it does not."""
        out: list[str] = []
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

    def known(self, flow: tuple[str, str, str, int, int]) -> Shares | None:
        """Switches and links of an exactly known route, share 1; None when it is not known."""
        route = self._flows.get(flow)
        if route is None:
            return None
        shares = dict.fromkeys(route, 1.0)
        shares.update(dict.fromkeys((link(a, b) for a, b in pairwise(route)), 1.0))
        return shares

    def _between(self, src_asw: str, dst_asw: str, src_dsw: str, dst_dsw: str) -> Shares:
        """Switches and links between two access switches with their ECMP shares."""
        if not src_asw or not dst_asw:
            return {component("tor", asw): 1.0 for asw in (src_asw, dst_asw) if asw}
        a, b = component("tor", src_asw), component("tor", dst_asw)
        if a == b:
            return {a: 1.0}
        shares = self._shortest(a, b) if self._near else {}
        if not shares:
            shares = {a: 1.0, b: 1.0}
            if src_dsw and src_dsw == dst_dsw:
                spine = component("spine", src_dsw)
                shares |= {spine: 1.0, link(a, spine): 1.0, link(b, spine): 1.0}
            else:
                shares |= {component("spine", dsw): 1.0 for dsw in (src_dsw, dst_dsw) if dsw}
        return shares

    def _shortest(self, a: str, b: str) -> Shares:
        """Equal split at each switch over the next hops on shortest paths, as ECMP does."""
        distance = {b: 0}
        queue = deque([b])
        while queue:
            here = queue.popleft()
            for near in self._near[here]:
                if near not in distance:
                    distance[near] = distance[here] + 1
                    queue.append(near)
        if a not in distance:
            return {}
        flow: defaultdict[str, float] = defaultdict(float, {a: 1.0})
        shares: defaultdict[str, float] = defaultdict(float)
        layer = {a}
        while layer:
            following: set[str] = set()
            for here in sorted(layer):
                shares[here] += flow[here]
                nexts = [n for n in self._near[here] if distance.get(n, -1) == distance[here] - 1]
                for near in nexts:
                    part = flow[here] / len(nexts)
                    flow[near] += part
                    shares[link(here, near)] += part
                    following.add(near)
            layer = following
        return dict(shares)
