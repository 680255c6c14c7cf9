"""The links between two ToRs, in pieces that many pairs of ToRs share. Pure.

What lies above the uplinks depends on the groups of both ToRs alone (``ecmp``), and the uplinks on
one ToR and the other's group. So few pieces describe all pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from controller.ping_lists.ecmp import Hop, SwitchPaths, tor_pairs
from schemas.component_ids import TIER_KIND, component, link
from schemas.documents.topology import Topology

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class Shares(NamedTuple):
    """Links of all pieces, one after the other, and the share of five-tuples that crosses each.

    first           (P + 1,) where each piece begins
    link            indices of links
    request, reply  shares of requests and of replies, which are hashed independently
    """

    first: I64
    link: I64
    request: F64
    reply: F64


class Pieces:
    """Pieces of a topology's links, numbered as they are asked for.

    links  component ids, those of rnics first
    """

    def __init__(self, topology: Topology) -> None:
        self._paths = SwitchPaths(topology)
        kinds = {switch.id: TIER_KIND[switch.tier] for switch in topology.switches}
        names = {name: component(kind, name) for name, kind in kinds.items()}
        self.tors = {r.real_ip: r.tors for host in topology.hosts for r in host.rnics}
        above = [(ip, asw) for ip, asws in self.tors.items() for asw in asws]
        self.links = [link(component("rnic", ip), names[asw]) for ip, asw in above]
        self._of_rnic: defaultdict[str, list[int]] = defaultdict(list)
        for at, (ip, _) in enumerate(above):
            self._of_rnic[ip].append(at)
        self._of_hop: dict[Hop, int] = {}
        for a, b in topology.links:
            self._of_hop[a, b] = self._of_hop[b, a] = len(self.links)
            self.links.append(link(names[a], names[b]))
        self._parts: list[tuple[list[int], list[float], list[float]]] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._between: dict[tuple[str, str], tuple[int, ...]] = {}

    def rnic(self, ip: str) -> int:
        """The piece of an rnic's link, which all of its five-tuples cross; of a bonded one, of its
        links, each of which takes an equal share."""
        links = self._of_rnic[ip]
        return self._piece(("rnic", ip), lambda: dict.fromkeys(links, (1 / len(links),) * 2))

    def tor_pairs(self, src: str, dst: str) -> list[tuple[str, str, float]]:
        """See ``ecmp.tor_pairs``; of two rnics, none where the document does not say."""
        return tor_pairs(self.tors.get(src, ()), self.tors.get(dst, ()))

    def between(self, a: str, b: str) -> tuple[int, ...]:
        """Pieces from ToR a to ToR b where no route is known; none without a path."""
        found = self._between.get((a, b))
        if found is None:
            found = self._between[a, b] = tuple(self._of_pair(a, b))
        return found

    def traced(self, request: Sequence[str] | None, reply: Sequence[str] | None) -> int:
        """The piece of one five-tuple: switches of its request and its reply, one of them known."""
        ends = request or (reply or ())[::-1]
        a, b = ends[0], ends[-1]
        there, back = self._route(request, a, b), self._route(reply, b, a)
        both = {at: (there.get(at, 0.0), back.get(at, 0.0)) for at in {*there, *back}}
        return self._add(both)

    def shares(self) -> Shares:
        """All pieces that have been asked for."""
        first = np.cumsum([0, *(len(at) for at, _, _ in self._parts)])
        at, request, reply = (
            [value for part in self._parts for value in part[column]] for column in range(3)
        )
        return Shares(
            first, np.array(at, np.int64), np.array(request, float), np.array(reply, float)
        )

    def _of_pair(self, a: str, b: str) -> list[int]:
        paths = self._paths
        groups = paths.group(a), paths.group(b)
        if b in groups[0]:
            return [self._piece(("direct", a, b), lambda: {self._of_hop[a, b]: (1.0, 1.0)})]
        there, back = paths.between(a, b), paths.between(b, a)
        if not there.up:
            return []
        of_hop = self._of_hop
        return [
            self._piece(
                ("end", a, groups[1]),
                lambda: {of_hop[a, via]: (there.up[via], back.down[via]) for via in there.up},
            ),
            self._piece(
                ("middle", *groups),
                lambda: {
                    of_hop[hop]: (share, back.middle[hop[::-1]])
                    for hop, share in there.middle.items()
                },
            ),
            self._piece(
                ("start", groups[0], b),
                lambda: {of_hop[via, b]: (there.down[via], back.up[via]) for via in there.down},
            ),
        ]

    def _route(self, route: Sequence[str] | None, a: str, b: str) -> dict[int, float]:
        """Links from ToR a to ToR b -> share that crosses them; 1 on a route that is known."""
        if route is None:
            return {self._of_hop[hop]: share for hop, share in self._paths.hops(a, b).items()}
        return {self._of_hop[hop]: 1.0 for hop in pairwise(route) if hop in self._of_hop}

    def _piece(
        self, key: tuple[object, ...], make: Callable[[], Mapping[int, tuple[float, float]]]
    ) -> int:
        if key not in self._known:
            self._known[key] = self._add(make())
        return self._known[key]

    def _add(self, both: Mapping[int, tuple[float, float]]) -> int:
        request, reply = ([min(each[way], 1.0) for each in both.values()] for way in range(2))
        self._parts.append((list(both), request, reply))
        return len(self._parts) - 1
