"""Fault plans of a scenario: the seed chooses components, directions and magnitudes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec
import numpy as np

from schemas.component_ids import kind_of, link_ends
from testbed.faults.arrivals import Arrival
from testbed.faults.issue_types import TABLE
from testbed.faults.kinds import KINDS, Direction, Fault
from testbed.simulator.fault_effects import candidates
from testbed.simulator.network import Network
from testbed.simulator.simulator import Simulation
from testbed.workload.skeleton import Paths

_ANY: Final = "any"
_WATCHED_S: Final = 60
_TIERS: Final = ("tor", "agg", "spine")
_ROWS: Final = {name: row for row in TABLE for name in (row.name, *row.aliases)}


class PlanError(ValueError):
    """The plan does not fit the fabric; one line."""


class FaultPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One planned fault, or several of the same kind.

    at, for    seconds from the beginning, and how long (absent: until the end)
    component  a component id, or a selector: "any tor", "any switch", "any tor-agg link", "any
               link", ...; "any" = wherever the kind can be put
    magnitude  a number, or [low, high] to be drawn log-uniformly by the seed
    bands      of a link, instead of magnitude: [low, high, n] each, n magnitudes between; all are
               dealt to the 2 x count directions of the links in any order
    direction  of a link; "one" = either, by the seed
    count      number of such faults, each at another component
    apart      false: the component may share a switch or host with other faults
    beside     number of an earlier fault, from 1, whose switch this one shares: an rnic below that
               ToR, a link at that switch, another link at the lower end of that link
    """

    kind: str
    at: int
    component: str
    lasting: int | None = msgspec.field(default=None, name="for")
    magnitude: float | tuple[float, float] | None = None
    bands: list[tuple[float, float, int]] = []
    share: float | None = None
    period: int | None = None
    direction: Direction | Literal["one"] = "both"
    count: int = 1
    apart: bool = True
    beside: int | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"fault {self.kind}: count is {self.count}; give at least 1")
        if isinstance(self.magnitude, tuple) and not 0 < self.magnitude[0] <= self.magnitude[1]:
            low, high = self.magnitude
            raise ValueError(f"fault {self.kind}: magnitude [{low}, {high}]; give 0 < low <= high")
        if self.beside is not None and self.apart:
            raise ValueError(f"fault {self.kind}: beside = {self.beside} needs apart = false")
        dealt = sum(many for _, _, many in self.bands)
        if self.bands and dealt != 2 * self.count:
            raise ValueError(
                f"fault {self.kind}: bands hold {dealt} magnitudes; "
                f"{self.count} links have {2 * self.count} directions"
            )


def arrival_plan(arrival: Arrival) -> FaultPlan:
    """The plan of a random fault: any component of its kind, a magnitude of the table's range."""
    row = _ROWS[arrival.kind]
    return FaultPlan(
        kind=arrival.kind,
        at=arrival.start_s,
        lasting=arrival.end_s - arrival.start_s,
        component=_ANY,
        magnitude=row.range,
    )


def place(plans: list[FaultPlan], simulation: Simulation, seed: int) -> list[Fault]:
    """Turn plans into faults; no component twice, and ``apart`` ones share no switch or host.

    Raises PlanError when a selector matches nothing or nothing is left.
    """
    rng = np.random.default_rng([seed, 40])
    network = simulation.network
    fixed = [plan.component for plan in plans if not _is_selector(plan)]
    taken = {name for component in fixed for name in _blocks(network, component)}
    board = _Board(network, simulation.paths, rng, taken)
    faults: list[Fault] = []
    for plan in plans:
        if plan.count > 1 and not _is_selector(plan):
            raise PlanError(
                f"fault {plan.kind}: count {plan.count} needs a selector like 'any tor'"
            )
        known = plan.kind in KINDS and _is_selector(plan)
        shared = _shared_switch(plan, faults, network)
        places = [
            board.choose(plan, shared) if known else plan.component for _ in range(plan.count)
        ]
        sizes = _dealt(plan, rng)
        for number, chosen in enumerate(places):
            there, back = sizes[number] if sizes else (_magnitude(plan, rng), None)
            direction = plan.direction
            if direction == "one":
                direction = "a>b" if rng.random() < 0.5 else "b>a"
            faults.append(
                Fault(
                    kind=plan.kind,
                    component=chosen,
                    start_s=plan.at,
                    end_s=None if plan.lasting is None else plan.at + plan.lasting,
                    magnitude=there,
                    magnitude_back=back,
                    share=plan.share,
                    period_s=plan.period,
                    direction=direction,
                )
            )
    return faults


@dataclass
class _Board:
    """Places that are left; ``taken`` are components that something touches already."""

    network: Network
    paths: Paths
    rng: np.random.Generator
    taken: set[str]
    known: dict[str, list[str]] = field(default_factory=dict)

    def choose(self, plan: FaultPlan, shared: str | None = None) -> str:
        """A place that is left; of those at a switch, if one is given."""
        open_to = self._open_to(plan)
        if shared is not None:
            open_to = [each for each in open_to if shared in _switches(self.network, each)]
        for i in self.rng.permutation(len(open_to)):
            here = open_to[int(i)]
            if not self.taken & (_blocked_by(self.network, here) if plan.apart else {here}):
                self.taken |= _blocks(self.network, here) if plan.apart else {here}
                return here
        raise PlanError(
            f"fault {plan.kind}: nothing is left for {plan.component!r}; "
            "take fewer faults or a larger fabric"
        )

    def _open_to(self, plan: FaultPlan) -> list[str]:
        selectors = [plan.component]
        if plan.component == _ANY:
            selectors = [f"any {kind}" for kind in KINDS[plan.kind].on]
        why: ValueError | None = None
        # where containers come and go, only what is pinged while the fault lasts is worth it
        paths = self.paths.during(plan.at, plan.at + min(plan.lasting or _WATCHED_S, _WATCHED_S))
        when = "" if paths is self.paths else f" at {plan.at}"
        out: list[str] = []
        for selector in selectors:
            key = selector + when
            if key not in self.known:
                try:
                    self.known[key] = candidates(self.network, paths, selector)
                except ValueError as reason:
                    self.known[key], why = [], reason
            out += self.known[key]
        if not out and why:
            raise PlanError(f"fault {plan.kind}: {why}") from why
        return out


def _shared_switch(plan: FaultPlan, faults: list[Fault], network: Network) -> str | None:
    """The switch that a plan shares with an earlier fault; None: any. Of a link its lower end."""
    if plan.beside is None:
        return None
    if not 1 <= plan.beside <= len(faults):
        raise PlanError(f"fault {plan.kind}: beside = {plan.beside} is no earlier fault's number")
    switches = _switches(network, faults[plan.beside - 1].component)
    if not switches:
        raise PlanError(f"fault {plan.kind}: fault {plan.beside} is on no switch, link or rnic")
    return min(switches, key=lambda each: _TIERS.index(kind_of(each)))


def _switches(network: Network, component: str) -> set[str]:
    """A switch itself, those at the ends of a link, the ToRs above an rnic."""
    if kind_of(component) == "link":
        return {name for end in link_ends(component) for name in _switches(network, end)}
    if kind_of(component) == "rnic":
        rnic = network.index[component] - network.rnic_component
        return {*network.tors(rnic)}
    return {component} if kind_of(component) in _TIERS else set()


def _magnitude(plan: FaultPlan, rng: np.random.Generator) -> float | None:
    if not isinstance(plan.magnitude, tuple):
        return plan.magnitude
    low, high = plan.magnitude
    return round(float(low * (high / low) ** rng.random()), 4)


def _dealt(plan: FaultPlan, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Magnitudes of both directions of each link, empty without bands."""
    sizes = [
        round(float(rng.uniform(low, high)), 6) for low, high, n in plan.bands for _ in range(n)
    ]
    rng.shuffle(sizes)
    return list(zip(sizes[::2], sizes[1::2], strict=True))


def _is_selector(plan: FaultPlan) -> bool:
    return plan.component == _ANY or plan.component.startswith(f"{_ANY} ")


def _blocked_by(network: Network, component: str) -> set[str]:
    """What must be free for a fault here to be seen for itself: the component, its host, the ends
    of a link, the ToRs above an rnic, and everything below a ToR."""
    return _touched(network, component, above=True)


def _blocks(network: Network, component: str) -> set[str]:
    """What a fault here takes: as above, but an rnic leaves its ToRs' other rnics free."""
    return _touched(network, component, above=False)


def _touched(network: Network, component: str, *, above: bool) -> set[str]:
    kind, _, name = component.partition(":")
    out = {component}
    if kind == "link":
        rnics = [end for end in link_ends(component) if kind_of(end) == "rnic"]
        if not rnics:
            return out | set(link_ends(component))
        return out | _touched(network, rnics[0], above=above)
    if kind == "tor" and above:
        out.add(f"below {component}")
    at = network.index.get(component)
    if at is None:
        return out
    if kind == "rnic":
        rnic = at - network.rnic_component
        out |= {f"host:{network.hosts[network.rnic_host[rnic]]}"}
        out |= {switch if above else f"below {switch}" for switch in network.tors(rnic)}
    elif kind == "container":
        host = network.container_host[at - network.container_component]
        out.add(f"host:{network.hosts[host]}")
    elif kind in ("vswitch", "agent"):
        out.add(f"host:{name}")
    return out
