"""Scenarios: fabric, jobs, probing, noise and faults, as TOML; the seed chooses the components."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from testbed.faults.arrivals import Arrivals, draw
from testbed.faults.fault_plans import FaultPlan, arrival_plan, place
from testbed.faults.in_turn import InTurn
from testbed.simulator.baseline import Noise
from testbed.simulator.simulator import Simulation
from testbed.topologies import fabric_sources
from testbed.topologies.clos import ClosSpec
from testbed.topologies.fabric_sources import Fabric
from testbed.workload.churn import deal
from testbed.workload.jobs import JobsPlan
from testbed.workload.probe_schedule import Shape

__all__ = ["FaultPlan", "Probing", "Scenario", "ScenarioError", "load", "names", "place"]
_SUFFIX = ".toml"


class ScenarioError(ValueError):
    """The scenario cannot be read or does not fit its fabric; one line."""


class Probing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ping list: destinations per endpoint, five-tuples per pair, layers that are probed.

    every_s   time between two probes of a pair [s], a number or several: then each host has one
    burst     probes of a record, which has their loss, median and 99th percentile
    traced    share of the underlay's five-tuples whose routes are traced; replies_traced: whether
              the replies' are, too
    beating   whether hosts send heartbeats; files of records have none
    skeleton  "ring": ``targets`` hosts on the job's ring; "layout": those that the job's layout
              makes an endpoint talk to, however many
    """

    targets: int = 8
    ports_per_pair: int = 2
    every_s: int | tuple[int, ...] = 1
    burst: int = 1
    layers: tuple[Literal["overlay", "underlay"], ...] = ("overlay", "underlay")
    traced: float = 1.0
    replies_traced: bool = True
    beating: bool = True
    skeleton: Shape = "ring"


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a scenario file; ``proves`` is a paragraph on what the scenario shows.

    fabric    with ``kind`` = clos (when absent), fat_tree, lingjun or document
    jobs      who runs where and when, instead of the fabric's own placement
    faults    planned ones; arrivals: random ones besides; in_turn: one of each kind besides
    """

    proves: str
    duration_s: int
    fabric: Fabric = ClosSpec()
    probing: Probing = Probing()
    noise: Noise = Noise()
    jobs: JobsPlan | None = None
    faults: list[FaultPlan] = []
    arrivals: Arrivals | None = None
    in_turn: InTurn | None = None

    def __post_init__(self) -> None:
        if self.duration_s < 1:
            raise ValueError(f"duration_s is {self.duration_s}; give at least 1")
        if self.in_turn is not None and self.in_turn.end_s > self.duration_s:
            raise ValueError(
                f"duration_s is {self.duration_s}; the faults in turn take {self.in_turn.end_s}"
            )

    @property
    def clean(self) -> bool:
        """Whether there are no faults, so that every incident is false."""
        return not self.faults and self.arrivals is None and self.in_turn is None

    def simulation(self, *, seed: int, start_ns: int) -> Simulation:
        """Build the fabric and choose the faulty components; raises ScenarioError."""
        try:
            topology, schedule = fabric_sources.build(self.fabric, seed), None
            if self.jobs is not None:
                topology, schedule = deal(topology, self.jobs, self.duration_s, seed)
            every_s = self.probing.every_s
            simulation = Simulation(
                topology,
                seed=seed,
                start_ns=start_ns,
                targets=self.probing.targets,
                ports_per_pair=self.probing.ports_per_pair,
                every_s=(every_s,) if isinstance(every_s, int) else every_s,
                burst=self.probing.burst,
                layers=self.probing.layers,
                traced=self.probing.traced,
                replies_traced=self.probing.replies_traced,
                beating=self.probing.beating,
                noise=self.noise,
                schedule=schedule,
                skeleton=self.probing.skeleton,
            )
            plans = list(self.faults)
            if self.arrivals is not None:
                plans += map(arrival_plan, draw(self.arrivals, self.duration_s, seed))
            if self.in_turn is not None:
                plans += map(arrival_plan, self.in_turn.draw(seed))
            return simulation.with_faults(place(plans, simulation, seed))
        except ValueError as why:
            raise ScenarioError(str(why)) from why


def load(source: str | Path) -> Scenario:
    """Read a file, or one of the shipped scenarios by name; raises ScenarioError (one line)."""
    shipped = _shipped()
    try:
        raw = (shipped.get(str(source)) or Path(source)).read_bytes()
    except OSError as why:
        raise ScenarioError(
            f"scenario {str(source)!r}: {why.strerror}; "
            f"give a TOML file or one of {', '.join(names())}"
        ) from why
    try:
        plan = _parse(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as why:
        raise ScenarioError(f"scenario {source}: {' '.join(str(why).split())}") from why
    if str(source) in shipped:
        return plan
    beside = fabric_sources.beside(plan.fabric, Path(source).parent)
    return msgspec.structs.replace(plan, fabric=beside)


def _parse(raw: bytes) -> Scenario:
    """A fabric that does not say its kind is a Clos."""
    document = msgspec.toml.decode(raw)
    fabric = document.get("fabric")
    if isinstance(fabric, dict):
        kind = fabric.setdefault("kind", "clos")
        if kind not in fabric_sources.KINDS:
            raise msgspec.ValidationError(
                f"no fabric of kind {kind!r}; choose one of {', '.join(fabric_sources.KINDS)}"
            )
    return msgspec.convert(document, Scenario)


def names() -> list[str]:
    """Scenarios that come with the package."""
    return sorted(_shipped())


@cache
def _shipped() -> dict[str, resources.abc.Traversable]:
    """The files of the shipped scenarios by name; those of one subject share a folder."""
    top = resources.files("testbed") / "scenarios"
    folders = [top, *(entry for entry in top.iterdir() if entry.is_dir())]
    return {
        entry.name.removesuffix(_SUFFIX): entry
        for folder in folders
        for entry in folder.iterdir()
        if entry.name.endswith(_SUFFIX)
    }
