"""Scenarios: what to simulate and what to break, as TOML; places are chosen by the seed."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec
import numpy as np

from schemas.components import kind_of, link_ends
from testbed.clos import ClosSpec, build
from testbed.conditions import candidates
from testbed.faults import KINDS, Direction, Fault
from testbed.healthy import Noise
from testbed.simulator import Simulation

_SUFFIX = ".toml"


class ScenarioError(ValueError):
    """The scenario cannot be read or does not fit its fabric; one line."""


class Probing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ping list: destinations per endpoint, five-tuples per pair."""

    targets: int = 8
    ports_per_pair: int = 2


class FaultPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One planned fault.

    at, for    seconds from the beginning, and how long (absent: until the end)
    component  a component id, or a selector: "any tor", "any rnic", "any tor-agg link", ...
    magnitude  a number, or [low, high] to be drawn log-uniformly by the seed
    """

    kind: str
    at: int
    component: str
    lasting: int | None = msgspec.field(default=None, name="for")
    magnitude: float | tuple[float, float] | None = None
    share: float | None = None
    period: int | None = None
    direction: Direction = "both"


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file holds; ``proves`` says in a paragraph what it is good for."""

    proves: str
    duration_s: int
    fabric: ClosSpec = ClosSpec()
    probing: Probing = Probing()
    noise: Noise = Noise()
    faults: list[FaultPlan] = []

    def __post_init__(self) -> None:
        if self.duration_s < 1:
            raise ValueError(f"duration_s is {self.duration_s}; give at least 1")

    def simulation(self, *, seed: int, start_ns: int) -> Simulation:
        """Build the fabric and choose the faults' places; raises ScenarioError."""
        simulation = Simulation(
            build(self.fabric, seed),
            seed=seed,
            start_ns=start_ns,
            targets=self.probing.targets,
            ports_per_pair=self.probing.ports_per_pair,
            noise=self.noise,
        )
        try:
            return simulation.with_faults(place(self.faults, simulation, seed))
        except ValueError as why:
            raise ScenarioError(str(why)) from why


def place(plans: list[FaultPlan], simulation: Simulation, seed: int) -> list[Fault]:
    """Turn selectors into components, no component twice and no two on the same ends."""
    rng = np.random.default_rng([seed, 40])
    taken = {end for plan in plans if not _is_selector(plan) for end in _touched(plan.component)}
    faults = []
    for plan in plans:
        chosen = plan.component
        if plan.kind in KINDS and _is_selector(plan):
            open_to = candidates(simulation.network, simulation.paths, plan.component)
            order = rng.permutation(len(open_to))
            free = [open_to[i] for i in order if not taken & _touched(open_to[i])]
            if not free:
                raise ScenarioError(
                    f"fault {plan.kind}: nothing is left for {plan.component!r}; "
                    "take fewer faults or a larger fabric"
                )
            chosen = free[0]
            taken |= _touched(chosen)
        magnitude = plan.magnitude
        if isinstance(magnitude, tuple):
            low, high = magnitude
            if not 0 < low <= high:
                raise ScenarioError(f"fault {plan.kind}: magnitude [{low}, {high}]; give 0 < low")
            magnitude = round(float(low * (high / low) ** rng.random()), 4)
        faults.append(
            Fault(
                kind=plan.kind,
                component=chosen,
                start_s=plan.at,
                end_s=None if plan.lasting is None else plan.at + plan.lasting,
                magnitude=magnitude,
                share=plan.share,
                period_s=plan.period,
                direction=plan.direction,
            )
        )
    return faults


def load(source: str | Path) -> Scenario:
    """Read a file, or one of the shipped scenarios by name; raises ScenarioError (one line)."""
    try:
        if str(source) in names():
            raw = (_shipped() / f"{source}{_SUFFIX}").read_bytes()
        else:
            raw = Path(source).read_bytes()
    except OSError as why:
        raise ScenarioError(
            f"scenario {str(source)!r}: {why.strerror}; "
            f"give a TOML file or one of {', '.join(names())}"
        ) from why
    try:
        return msgspec.toml.decode(raw, type=Scenario)
    except (msgspec.MsgspecError, UnicodeDecodeError) as why:
        raise ScenarioError(f"scenario {source}: {' '.join(str(why).split())}") from why


def names() -> list[str]:
    """Scenarios that come with the package."""
    return sorted(
        entry.name.removesuffix(_SUFFIX)
        for entry in _shipped().iterdir()
        if entry.name.endswith(_SUFFIX)
    )


def _shipped() -> resources.abc.Traversable:
    return resources.files("testbed") / "scenarios"


def _is_selector(plan: FaultPlan) -> bool:
    return plan.component.startswith("any ")


def _touched(component: str) -> set[str]:
    """The component, and the ends of a link: a second fault there would blur the first."""
    if kind_of(component) != "link":
        return {component}
    return {component, *link_ends(component)}
