"""The switch graph of one fabric: switches, their links, and what a traceroute's hops mean. No I/O.

A topology document gives the graph. Without one it is learnt: records name access switches (ToRs)
and spines, complete traceroutes show further switches and the links between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from localizer.fabric.parameters import ROUTES
from localizer.fabric.switch_tiers import Tiers
from schemas.component_ids import TIER_KIND, component, kind_of
from schemas.documents.topology import Topology

Route = tuple[int, ...]  # switches, by their numbers


class SwitchGraph:
    """Switches by number, and the links between them.

    switches        component ids; a switch's number is its index
    given           whether a topology document says what is in the fabric
    learnt_switches  how many only traceroutes name
    learnt_links    how many links traceroutes have shown; only rises, and only if not given
    renames         how often a switch turned out to be of another tier; only rises, as above
    joins           how often two ToRs turned out to be those of one rnic; only rises
    """

    def __init__(self, topology: Topology | None) -> None:
        self.switches: list[str] = []
        self.given = topology is not None
        self.learnt_switches = self.learnt_links = self.renames = self.joins = 0
        self._number: dict[str, int] = {}  # component id -> number
        self._asw: dict[int, str] = {}  # number -> access switch, as records write it
        self._by_hop: dict[str, int] = {}  # switch id or interface address -> number
        self._name: list[str] = []  # by number: as records and routes write it, if not given
        self._near: list[list[int]] = []
        self._links: set[tuple[int, int]] = set()  # both ways
        self._tiers = Tiers()
        self._homes: dict[int, tuple[int, ...]] = {}  # ToR -> all ToRs of the rnics behind it
        if topology is not None:
            for switch in topology.switches:
                number = self._switch(component(TIER_KIND[switch.tier], switch.id))
                for hop in (switch.id, *switch.addresses):
                    self._by_hop[hop] = number
            for a, b in topology.links:
                self._add_link(self._by_hop[a], self._by_hop[b])
            for asws in sorted({r.tors for host in topology.hosts for r in host.rnics}):
                self.join(self.tor(asw) for asw in asws)

    @property
    def links(self) -> int:
        """Links between switches [count]."""
        return len(self._links) // 2

    @property
    def above_tors(self) -> bool:
        """Whether a switch above the ToRs is known."""
        return any(kind_of(each) != "tor" for each in self.switches)

    def near(self, number: int) -> list[int]:
        """Switches that a switch is known to have a link to."""
        return self._near[number]

    def listed(self, hop: str) -> int:
        """Number of a switch by its id or an address of its interfaces; -1 if it is not listed."""
        return self._by_hop.get(hop, -1)

    def tor(self, asw: str) -> int:
        """Number of an access switch, added if it is new; -1 where the record names none."""
        if not asw:
            return -1
        number = self._switch(component("tor", asw)) if self.given else self._recorded(asw, "tor")
        self._asw[number] = asw
        return number

    def known_tor(self, asw: str) -> int:
        """Number of an access switch; -1 for one that is not there, which is not added."""
        return self._number.get(component("tor", asw), -1) if self.given else self.listed(asw)

    def join(self, tors: Iterable[int]) -> None:
        """Some ToRs are those of one rnic, which is bonded over their links."""
        together = tuple(sorted({each for tor in tors for each in self.homes(tor)}))
        if len(together) > ROUTES.most_homes:
            return
        if any(self.homes(tor) != together for tor in together):
            self.joins += 1
            self._homes |= dict.fromkeys(together, together)

    def homes(self, tor: int) -> tuple[int, ...]:
        """A ToR, and others that rnics behind it have, too: answers may take any of these."""
        return self._homes.get(tor, (tor,))

    def bonded(self) -> list[int]:
        """ToRs that are not the only one of the rnics behind them."""
        return [tor for tor, homes in self._homes.items() if len(homes) > 1]

    def asw(self, tor: int) -> str:
        """What records call an access switch; empty for -1."""
        return self._asw.get(tor, "")

    def spine(self, dsw: str) -> int:
        """Number of a distribution switch that records name, added if it is new."""
        if not self.given:
            return self._recorded(dsw, "spine")
        listed = self.listed(dsw)
        return self._switch(component("spine", dsw)) if listed < 0 else listed

    def resolve(self, hops: Sequence[str | None], first: str, last: str) -> Route | None:
        """The switches of a traceroute; a graph that is not given learns its links.

        hops         names in order, None for a silent hop
        first, last  the access switches that a complete route must begin and end with, if known
        returns      None for a route that is cut short, ambiguous or visits a switch twice: the
                     fault itself may cause that, and such a route must not replace a better one
        """
        if len(hops) > ROUTES.most_hops or not self._may_begin_and_end(hops, first, last):
            return None
        numbers = [self._hop(hop, first, last) if hop else None for hop in hops]
        route = self._without_gaps(numbers)
        if not route or len(set(route)) < len(route):
            return None
        for name, end in ((first, route[0]), (last, route[-1])):
            if name and end not in self.homes(self.tor(name)):
                return None
        if not self.given:
            self._learn_links(route)
            for number in self._tiers.learn(route, len(self.switches)):
                self._rename(number)
        return tuple(route)

    def adopt(self, other: SwitchGraph, used: Iterable[int]) -> dict[int, int]:
        """Copy some switches, not links, of another graph of this fabric: its numbers -> ours."""
        number = {old: self._switch(other.switches[old], other._name[old]) for old in used}
        if not self.given:
            self._tiers.adopt(other._tiers, number)
            self.learnt_switches = sum(self._tiers.kind(new) != "tor" for new in number.values())
            for hop, old in other._by_hop.items():
                if old in number:
                    self._by_hop.setdefault(hop, number[old])
        return number

    def numbers_in(self, other: SwitchGraph) -> dict[int, int]:
        """Our numbers -> those of another graph of this fabric, of the switches that are in both:
        one may have another tier there."""
        out: dict[int, int] = {}
        for hop, number in self._by_hop.items():
            if (theirs := other.listed(hop)) >= 0:
                out.setdefault(number, theirs)
        for number, asw in self._asw.items():  # records may name one that no document lists
            if number not in out and (theirs := other.known_tor(asw)) >= 0:
                out[number] = theirs
        return out

    def removed_in(self, other: SwitchGraph, number: dict[int, int]) -> set[tuple[int, int]]:
        """Links of ours, both ways and by our numbers, that another graph does not have.

        number  as ``numbers_in``
        """
        return {
            (a, b) for a, b in self._links if (number.get(a), number.get(b)) not in other._links
        }

    def adopt_links(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add links of routes that another graph has resolved; our numbers."""
        if not self.given:
            for pair in pairs:
                self._learn_links(pair)

    def _switch(self, component_id: str, name: str = "") -> int:
        """Number of a component, added if it is new.

        name  as records and routes write it; needed only where the tier may change
        """
        number = self._number.setdefault(component_id, len(self.switches))
        if number == len(self.switches):
            self.switches.append(component_id)
            self._name.append(name)
            self._near.append([])
        return number

    def _add_link(self, a: int, b: int) -> None:
        self._near[a].append(b)
        self._near[b].append(a)
        self._links |= {(a, b), (b, a)}

    def _learn_links(self, route: Sequence[int]) -> None:
        for a, b in pairwise(route):
            if (a, b) not in self._links:
                self._add_link(a, b)
                self.learnt_links += 1

    def _recorded(self, name: str, kind: str) -> int:
        """Number of a switch that a record calls a tor or a spine."""
        number = self._by_hop.get(name, len(self.switches))
        self._tiers.record(number, kind)
        if number == len(self.switches):
            self._by_hop[name] = self._switch(component(kind, name), name)
        else:
            self._rename(number)
        return number

    def _rename(self, number: int) -> None:
        before = self.switches[number]
        after = component(self._tiers.kind(number), self._name[number])
        if after != before:
            del self._number[before]
            self.switches[number] = after
            self._number[after] = number
            self.renames += 1

    def _may_begin_and_end(self, hops: Sequence[str | None], first: str, last: str) -> bool:
        """Whether no end of a route is new where an access switch is known: what stands there, such
        as the address of an interface, is none, and the route must not add it as a switch."""
        ends = ((first, hops[0]), (last, hops[-1])) if hops else ()
        return all(
            not name or not hop or hop in (first, last) or self.listed(hop) >= 0
            for name, hop in ends
        )

    def _hop(self, hop: str, first: str, last: str) -> int | None:
        """Number of the switch that a hop names; None for a hop that is no known switch."""
        if (known := self.listed(hop)) >= 0:
            return known
        if hop in (first, last):
            return self.tor(hop)
        most = ROUTES.most_learnt + ROUTES.learnt_per_tor * len(self._asw)
        if self.given or self.learnt_switches >= most:
            return None
        self.learnt_switches += 1
        number = self._switch(component(self._tiers.kind(-1), hop), hop)
        self._by_hop[hop] = number
        return number

    def _without_gaps(self, numbers: list[int | None]) -> list[int] | None:
        """Fill in silent hops where the graph leaves one choice; None where it does not."""
        out: list[int] = []
        for at, number in enumerate(numbers):
            if number is None:
                after = numbers[at + 1] if at + 1 < len(numbers) else None
                if not out or after is None:
                    return None
                between = set(self._near[out[-1]]) & set(self._near[after])
                if len(between) != 1:
                    return None
                number = between.pop()
            out.append(number)
        return out
