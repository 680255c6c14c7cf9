"""Which ToRs an rnic is behind: by records, a topology document, or where traced routes begin and
end. No I/O.

A record may name the access switch that its five-tuple takes, or none; an rnic that is bonded has
several. A traced route begins at a ToR of its sender and ends at one of its receiver, so routes of
the underlay say where rnics are, whose overlay paths are never traced.

Example: the route t1, s1, t3 from rnic 0 to rnic 1 puts them behind t1 and t3; one that begins at
t2 says that rnic 0 is bonded to t1 and t2: the graph joins these.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import pair_key
from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import kind_of

I32 = npt.NDArray[np.int32]

#: Bits of which ends of a path have an access switch that its records or a document name.
SRC_NAMED, DST_NAMED = 1, 2
BOTH_NAMED: Final = SRC_NAMED | DST_NAMED


class RnicTors:
    """Rnics, by codes -> a ToR, by its number in the graph; ``graph.homes`` has the others."""

    def __init__(self, graph: SwitchGraph) -> None:
        self._graph = graph
        self._tor: dict[int, int] = {}

    @property
    def learnt(self) -> int:
        """For how many rnics a ToR is known [count]; only rises."""
        return len(self._tor)

    def of(self, rnics: I32) -> I32:
        """(n,) a ToR of each rnic, the same of all that share their ToRs; -1 if none is known."""
        used, back = np.unique(rnics, return_inverse=True)
        tors = (self._tor.get(rnic, -1) for rnic in used.tolist())
        first = [self._graph.homes(tor)[0] if tor >= 0 else -1 for tor in tors]
        return np.array(first, np.int32)[back]

    def learn(self, rnics: I32, tors: I32) -> None:
        """Put (n,) rnics behind (n,) ToRs; -1: none is known."""
        known = tors >= 0
        pairs = np.unique(pair_key(rnics[known], tors[known]))
        for pair in pairs.tolist():
            rnic, tor = pair >> 32, pair & 0xFFFF_FFFF
            if (other := self._tor.setdefault(rnic, tor)) != tor:
                self._graph.join((other, tor))

    def learn_routes(self, senders: I32, receivers: I32, routes: I32) -> None:
        """Learn from (L, n) traced routes where their (n,) senders and receivers are.

        A route that was cut short ends above the ToRs, so that an end counts only if it is a ToR.
        """
        known = routes[0] >= 0
        routes, hops = routes[:, known], (routes[:, known] >= 0).sum(axis=0)
        ends = (routes[0], routes[hops - 1, np.arange(len(hops))])
        for rnics, tors in zip((senders[known], receivers[known]), ends, strict=True):
            self.learn(rnics, self._only_tors(tors))

    def _only_tors(self, switches: npt.NDArray[Any]) -> I32:
        used, back = np.unique(switches, return_inverse=True)
        names = self._graph.switches
        tors = [each if kind_of(names[each]) == "tor" else -1 for each in used.tolist()]
        return np.array(tors, np.int32)[back]
