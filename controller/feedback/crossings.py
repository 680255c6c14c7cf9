"""Which members of a tie set a five-tuple crosses. Pure.

A new five-tuple's route is not known before it is traced; each switch splits traffic evenly over
its next hops (RFC 2992), request and reply independently. So a pair of endpoints has a distribution
over sets of members, which are bit masks here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from controller.ping_lists.ecmp import SwitchPaths
from controller.ping_lists.endpoints import Endpoint
from schemas.component_ids import TIER_KIND, component, link, link_ends
from schemas.documents.topology import Topology

#: Members, as bits -> probability.
Masks = Mapping[int, float]
#: ToRs that are alike for a tie set: their neighbours, and the ToR itself where the set names it.
TorClass = tuple[frozenset[str], str]


class TieCrossings:
    """The members of one tie set in a topology; member i is bit 1 << i."""

    def __init__(self, topology: Topology, tie: Sequence[str]) -> None:
        self._paths = SwitchPaths(topology)
        self._bit = {name: 1 << number for number, name in enumerate(tie)}
        self._name = {
            each.id: component(TIER_KIND[each.tier], each.id) for each in topology.switches
        }
        ends = {end for name in tie for end in _ends(name)}
        self._named = {switch for switch, name in self._name.items() if name in ends}
        self._one_way: dict[tuple[TorClass, TorClass], Masks] = {}
        self._own: dict[str, int] = {}
        self._any: dict[tuple[int, TorClass, TorClass], float] = {}

    def own(self, end: Endpoint) -> int:
        """Members that every five-tuple of the endpoint crosses, its ToR left out."""
        if end.ip not in self._own:
            self._own[end.ip] = self._own_of(end)
        return self._own[end.ip]

    def _own_of(self, end: Endpoint) -> int:
        rnic = component("rnic", end.real_ip)
        names = [rnic, component("host", end.node_sn)]
        if end.asw:
            names.append(link(rnic, self._name.get(end.asw, component("tor", end.asw))))
        if end.layer == "overlay":
            names += [component("vswitch", end.node_sn), component("container", end.node_id)]
        return sum(self._bit.get(name, 0) for name in names)

    def tor_class(self, asw: str) -> TorClass:
        """Five-tuples of ToRs of one class cross the members with equal probabilities."""
        return self._paths.group(asw), asw if asw in self._named else ""

    def round_trip(self, a: Endpoint, b: Endpoint) -> Masks:
        """Members that a probe or its reply crosses."""
        there, back = self._between(a.asw, b.asw), self._between(b.asw, a.asw)
        certain = self.own(a) | self.own(b)
        found: defaultdict[int, float] = defaultdict(float)
        for one, p in there.items():
            for other, q in back.items():
                found[certain | one | other] += p * q
        return found

    def any_member(self, a: Endpoint, b: Endpoint) -> float:
        """Probability that a probe or its reply crosses some member."""
        if a.asw == b.asw:
            return 1.0 - self.round_trip(a, b).get(0, 0.0)
        key = self.own(a) | self.own(b), self.tor_class(a.asw), self.tor_class(b.asw)
        if key not in self._any:
            self._any[key] = 1.0 - self.round_trip(a, b).get(0, 0.0)
        return self._any[key]

    def _between(self, a: str, b: str) -> Masks:
        if a == b:
            return {self._switch(a): 1.0}
        key = self.tor_class(a), self.tor_class(b)
        if key not in self._one_way:
            self._one_way[key] = self._walk(a, b)
        return self._one_way[key]

    def _walk(self, a: str, b: str) -> Masks:
        """Follow the shortest paths from ToR a to ToR b, hop by hop."""
        following: defaultdict[str, list[str]] = defaultdict(list)
        for here, there in self._paths.hops(a, b):
            following[here].append(there)
        if not following:  # no path is known: only its ends are certain
            return {self._switch(a) | self._switch(b): 1.0}
        layer: dict[str, dict[int, float]] = {a: {self._switch(a): 1.0}}
        while layer.keys() != {b}:
            reached: defaultdict[str, defaultdict[int, float]] = defaultdict(
                lambda: defaultdict(float)
            )
            for here, masks in sorted(layer.items()):
                nexts = following[here]
                for there in nexts:
                    crossed = self._switch(there) | self._link(here, there)
                    for mask, p in masks.items():
                        reached[there][mask | crossed] += p / len(nexts)
            layer = {name: dict(masks) for name, masks in reached.items()}
        return layer[b]

    def _switch(self, name: str) -> int:
        return self._bit.get(self._name.get(name, ""), 0)

    def _link(self, a: str, b: str) -> int:
        return self._bit.get(link(self._name.get(a, ""), self._name.get(b, "")), 0)


def _ends(name: str) -> tuple[str, ...]:
    return link_ends(name) if name.startswith("link:") else (name,)
