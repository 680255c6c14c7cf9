"""Coverage of the links of a fabric by ping lists: what is crossed, and what can be named. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from controller.coverage.crossings import Crossings, Probed, Routes, crossings
from controller.coverage.parameters import DEFAULT, CoverageParameters
from controller.coverage.power import Naming, Seen, smallest_loss
from schemas.component_ids import kind_of, link_ends
from schemas.documents.topology import Topology

State = Literal["known", "expected", "uncertain", "uncovered"]


class LinkCoverage(NamedTuple):
    """One link.

    state          known: a five-tuple crosses it for certain; expected: untraced ones do, with
                   probability ``CoverageParameters.crossed`` at least, if hashes are independent;
                   uncertain: with less; uncovered: none does
    five_tuples    that cross it, in expectation [count]; known: of them for certain
    source_hosts   from which, in expectation [count]
    probes_per_s   that cross it
    smallest_loss  of what crosses it that is named in time [1]; None: no loss is
    """

    link: str
    tier: str
    state: State
    five_tuples: float
    known: int
    source_hosts: float
    probes_per_s: float
    smallest_loss: float | None


class TierCoverage(NamedTuple):
    """The links between two kinds of components, as rnic-tor.

    covered     links that a five-tuple crosses: a traced one, where routes are known at all
    worst_loss  the largest of the smallest losses; None where some link cannot be named at all
    nameable    links of which some loss is named [count]
    """

    tier: str
    links: int
    covered: int
    nameable: int
    five_tuples: tuple[float, float]
    source_hosts: tuple[float, float]
    worst_loss: float | None


class Coverage(NamedTuple):
    """The report: every link of the topology, those of rnics first.

    routes        of five-tuples of the lists, and of their replies, that are known [count]
    other_routes  of further five-tuples, which say nothing about these lists [count]
    """

    links: list[LinkCoverage]
    five_tuples: int
    probes_per_s: float
    routes: int
    other_routes: int = 0

    def uncovered(self) -> list[str]:
        """Links that no five-tuple crosses."""
        return [each.link for each in self.links if each.state == "uncovered"]

    def uncertain(self) -> list[str]:
        """Links that perhaps no five-tuple crosses."""
        return [each.link for each in self.links if each.state == "uncertain"]

    def untraced(self) -> list[str]:
        """Links that no traced five-tuple crosses, though untraced ones should; empty where no
        route is known. Where switches hash alike, no probe may cross them."""
        return [each.link for each in self.links if self.routes and each.state == "expected"]

    def unnameable(self) -> list[str]:
        """Links that are crossed, and of which no loss is named: by too few source hosts."""
        return [
            each.link
            for each in self.links
            if each.smallest_loss is None and each.state != "uncovered"
        ]

    def tiers(self) -> list[TierCoverage]:
        """Sums by tier, in the order of the links."""
        return [
            _tier(
                tier,
                [each for each in self.links if each.tier == tier],
                ("known",) if self.routes else ("known", "expected"),
            )
            for tier in dict.fromkeys(each.tier for each in self.links)
        ]


def report(
    topology: Topology,
    lists: Iterable[Probed],
    naming: Naming,
    routes: Routes | None = None,
    parameters: CoverageParameters = DEFAULT,
) -> Coverage:
    """The coverage of every link of the topology by these lists.

    routes  of traced five-tuples, as in ``crossings``
    """
    own = list(lists)
    known_routes = _of_lists(own, routes or {})
    found = crossings(topology, own, known_routes)
    start = np.searchsorted(found.link, np.arange(len(found.links) + 1))
    losses: dict[bytes, float | None] = {}
    out = []
    for at, name in enumerate(found.links):
        rows = slice(start[at], start[at + 1])
        seen = seen_in(found, rows, naming.window_s)
        key = np.round(np.sort(np.stack(seen)), 6).tobytes()
        if key not in losses:
            losses[key] = smallest_loss(seen, naming, parameters)
        crossed = 1.0 - float(np.exp(found.unseen[rows].sum()))
        known = int(found.known[at])
        state: State = "uncovered"
        if known:
            state = "known"
        elif crossed > 0:
            state = "expected" if crossed >= parameters.crossed else "uncertain"
        out.append(
            LinkCoverage(
                name, _tier_of(name), state, float(found.five_tuples[rows].sum()), known,
                float(-np.expm1(found.unseen[rows]).sum()), float(found.rate[rows].sum()),
                losses[key],
            )
        )  # fmt: skip
    count = sum(len(each.src_ports) for each in own)
    rate = sum(len(each.src_ports) / each.interval_s for each in own)
    others = len(routes or {}) - len(known_routes)
    return Coverage(out, count, rate, len(known_routes), others)


def _of_lists(own: Iterable[Probed], routes: Routes) -> Routes:
    """The routes of five-tuples of the lists, and of replies to them."""
    if not routes:
        return {}
    both = (
        key
        for each in own
        for port in each.src_ports
        for key in (
            (each.src_ip, each.dst_ip, port, each.dst_port),
            (each.dst_ip, each.src_ip, each.dst_port, port),
        )
    )
    return {key: routes[key] for key in both if key in routes}


def seen_by_link(
    topology: Topology, lists: Iterable[Probed], routes: Routes | None = None
) -> dict[str, Seen]:
    """What one second of these lists shows of each link."""
    found = crossings(topology, lists, routes)
    start = np.searchsorted(found.link, np.arange(len(found.links) + 1))
    return {
        name: seen_in(found, slice(start[at], start[at + 1]), 1.0)
        for at, name in enumerate(found.links)
    }


def seen_in(found: Crossings, rows: slice, seconds: float) -> Seen:
    """What is seen of one link in so many seconds."""
    return Seen(found.once[rows], found.twice[rows]).scaled(seconds)


def _tier_of(link: str) -> str:
    kinds = [kind_of(end) for end in link_ends(link)]
    order = ("rnic", "tor", "agg", "spine")
    return "-".join(sorted(kinds, key=order.index))


def _tier(tier: str, links: list[LinkCoverage], covered: tuple[State, ...]) -> TierCoverage:
    counts = [each.five_tuples for each in links]
    hosts = [each.source_hosts for each in links]
    losses = [each.smallest_loss for each in links if each.smallest_loss is not None]
    return TierCoverage(
        tier, len(links), sum(each.state in covered for each in links), len(losses),
        (min(counts), max(counts)), (min(hosts), max(hosts)),
        max(losses) if len(losses) == len(links) else None,
    )  # fmt: skip
