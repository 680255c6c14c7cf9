"""The trials of a scorecard: settings, scenarios, strategies, seeds.

The final seeds are fixed here, and no parameter is tuned on them. Development runs use other seeds
(``--seeds-from 1000``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import numpy as np

from evaluation.scorecard import tuned_baselines
from evaluation.scorecard.records import PathRow, PipelineRow, Row
from localizer import strategies
from localizer.options import Options
from testbed.scenarios import published, scenario

Part = Literal["path", "pipeline", "clean"]

#: First final seed of each part.
FINAL: Final[dict[Part, int]] = {"path": 5000, "pipeline": 6000, "clean": 7000}
TUNING: Final = "1-1099"
QUICK_FROM: Final = 1000
SEEDS: Final = 20
QUICK_SEEDS: Final[dict[Part, int]] = {"path": 2, "pipeline": 1, "clean": 1}
#: Expensive scenarios get fewer seeds, unless all are requested; the table shows how many. The
#: fat-trees with 26 simultaneous faults are the most expensive; every strategy runs on 20 seeds of
#: them in the path part.
FEWER: Final = {
    "burst-10-10s": 2, "burst-10-25s": 2, "burst-100-10s": 2, "burst-100-25s": 2, "cadence-10": 5,
    "cadence-25": 3, "cadence-3": 5, "cadence-mixed": 2, "drift": 5, "fat-tree-noisy": 3,
    "fat-tree-sparse": 4, "flock-silent-drop": 4, "gray": 2, "lingjun": 5, "many-links-burst": 4,
    "many-links-burst-dense": 2, "rail-2048": 10, "vote-007": 5,
}  # fmt: skip
#: No trial begins later than this [min], so that the plan ends within 90 min and a quick one in
#: 5 min; the next run continues from there. All seeds are as long as they take.
LIMIT_MIN: Final = 80.0
QUICK_LIMIT_MIN: Final = 4.0
#: Strategies other than the default run the pipeline on these scenarios and so many seeds.
OTHER_SCENARIOS: Final = ("demo", "small", "three_at_once")
OTHER_SEEDS: Final = 2
OTHER_FACTOR: Final = 1.2
#: Clean input: length of a trial (source ports change at the hour), and CPU time for a scenario.
CLEAN_S: Final = 4200
CLEAN_BUDGET_S: Final = 480.0
QUICK_CLEAN_S: Final = 300
QUICK_COST_S: Final = 30.0

DEFAULT: Final = Options().strategy
#: CPU seconds, for estimates: of a record through the whole pipeline, of a path in each second,
#: probed or not, of a trial's beginning, of a second, of one in which something alarms, then for
#: each path and for each pair of faults too, and of a strategy on a published setting.
RECORD_S: Final = 1.4e-6
KNOWN_PATH_S: Final = 8e-7
TRIAL_S: Final = 0.7
SECOND_S: Final = 3e-3
ALARM_S: Final = 0.02
ALARM_PATH_S: Final = 1e-6
ALARM_FAULT_S: Final = 5e-4
PATH_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Unit:
    """The work of one process at a time; only the path part has several strategies in a unit."""

    part: Part
    name: str
    seed: int
    strategies: tuple[str, ...]
    cost_s: float
    duration_s: int | None = None

    @property
    def keys(self) -> set[tuple[str, str, int, str]]:
        """The keys of the rows that the unit produces."""
        kind = "path" if self.part == "path" else "pipeline"
        return {(kind, self.name, self.seed, strategy) for strategy in self.strategies}


def key(row: Row) -> tuple[str, str, int, str]:
    """The key of a row: kind, setting or scenario, seed, strategy."""
    if isinstance(row, PathRow):
        return "path", row.setting, row.seed, row.strategy
    assert isinstance(row, PipelineRow)  # noqa: S101 — there is no third kind
    return "pipeline", row.scenario, row.seed, row.strategy


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the command line requests; None: as the plan has it.

    quick        few seeds and small scenarios
    full         all seeds of the expensive scenarios too, without a limit of time
    only         parts, settings or scenarios to run
    seeds        number of seeds of every part; seeds_from: the first seed
    strategies   the strategies to run
    clean_hours  simulated input without faults, in all [h]
    """

    quick: bool = False
    full: bool = False
    only: tuple[str, ...] = ()
    seeds: int | None = None
    seeds_from: int | None = None
    strategies: tuple[str, ...] = ()
    clean_hours: float | None = None

    @property
    def final(self) -> bool:
        """Whether this is the whole plan on the final seeds."""
        return not (
            self.quick or self.only or self.strategies
            or self.seeds is not None or self.seeds_from is not None
        )  # fmt: skip


class UnknownName(ValueError):
    """No part, setting, scenario or strategy has this name; one line."""


def units(request: PlanRequest) -> list[Unit]:
    """All trials of a scorecard; raises UnknownName."""
    known = {*FINAL, *published.SETTINGS, *scenario.names()}
    _check("--only", request.only, known)
    _check("--strategies", request.strategies, strategies.names())
    chosen = request.strategies or tuple(strategies.names())
    out = _path(request, chosen)
    for name in scenario.names():
        if _wanted(request, "clean" if is_clean(name) else "pipeline", name):
            out += _clean(request, name) if is_clean(name) else _pipeline(request, name, chosen)
    return out


def rounds(units: Sequence[Unit]) -> list[Unit]:
    """The order of execution: the published settings, which are cheap, then the first seed of every
    part, then the second seeds, and so on; within a round the longest units first."""
    first: dict[Part, int] = {}
    for unit in units:
        first[unit.part] = min(unit.seed, first.get(unit.part, unit.seed))
    return sorted(units, key=lambda u: (u.part != "path", u.seed - first[u.part], -u.cost_s))


def is_clean(name: str) -> bool:
    """Whether a scenario has no faults, so that every incident is false."""
    return scenario.load(name).clean


@cache
def cost_s(name: str) -> float:
    """CPU seconds that a trial of a scenario is expected to take with the default strategy."""
    plan = scenario.load(name)
    simulation = plan.simulation(seed=0, start_ns=0)
    paths, length = len(simulation.paths), plan.duration_s
    pairs = paths / simulation.ports_per_pair
    active = np.zeros(length, np.int64)
    for fault in simulation.faults:
        if fault.signature.effect in ("loss", "latency", "queue", "crash"):
            active[fault.start_s : fault.end_s] += 1
    alarms = (active > 0) * (ALARM_S + ALARM_PATH_S * paths) + active**2 * ALARM_FAULT_S
    rounds_a_second = sum(1 / each for each in simulation.every_s) / len(simulation.every_s)
    a_second = SECOND_S + paths * KNOWN_PATH_S + pairs * rounds_a_second * RECORD_S
    return TRIAL_S + a_second * length + float(alarms.sum())


def first_seed(part: Part, request: PlanRequest) -> int:
    """The first seed of a part; a quick run does not use the final seeds."""
    if request.seeds_from is not None:
        return request.seeds_from
    return QUICK_FROM if request.quick else FINAL[part]


def seeds_of(part: Part, request: PlanRequest, name: str) -> range:
    """Seeds of one setting or scenario with faults."""
    first = first_seed(part, request)
    if request.seeds is not None:
        return range(first, first + request.seeds)
    if request.quick:
        return range(first, first + QUICK_SEEDS[part])
    return range(first, first + (SEEDS if request.full else FEWER.get(name, SEEDS)))


def _path(request: PlanRequest, chosen: tuple[str, ...]) -> list[Unit]:
    """Trials of the published settings; tuned baselines run too, unless the request is narrower."""
    if not (request.quick or request.strategies):
        chosen = (*chosen, *tuned_baselines.names())
    return [
        Unit("path", name, seed, chosen, PATH_S * len(chosen))
        for name in published.SETTINGS
        if _wanted(request, "path", name)
        for seed in seeds_of("path", request, name)
    ]


def _pipeline(request: PlanRequest, name: str, chosen: tuple[str, ...]) -> list[Unit]:
    cost = cost_s(name)
    if request.quick and cost > QUICK_COST_S and name not in request.only:
        return []
    out = []
    seeds = seeds_of("pipeline", request, name)
    for strategy in chosen:
        if strategy == DEFAULT or request.strategies:
            out += [Unit("pipeline", name, seed, (strategy,), cost) for seed in seeds]
        elif name in OTHER_SCENARIOS and not request.quick:
            out += [
                Unit("pipeline", name, seed, (strategy,), cost * OTHER_FACTOR)
                for seed in seeds[:OTHER_SEEDS]
            ]
    return out


def _clean(request: PlanRequest, name: str) -> list[Unit]:
    """Clean trials, with the default strategy only: alarms do not depend on the strategy."""
    length = QUICK_CLEAN_S if request.quick else CLEAN_S
    a_second = (cost_s(name) - TRIAL_S) / scenario.load(name).duration_s
    cost = TRIAL_S + a_second * length
    if request.quick and cost > QUICK_COST_S and name not in request.only:
        return []
    count = 1 if request.quick else max(1, int(CLEAN_BUDGET_S / cost))
    if request.clean_hours is not None:
        count = max(1, round(request.clean_hours * 3600 / length))
    elif request.seeds is not None:
        count = request.seeds
    first = first_seed("clean", request)
    return [
        Unit("clean", name, seed, (DEFAULT,), cost, length) for seed in range(first, first + count)
    ]


def _wanted(request: PlanRequest, part: Part, name: str) -> bool:
    return not request.only or part in request.only or name in request.only


def _check(option: str, given: Sequence[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise UnknownName(f"{option} {name}: choose of {', '.join(sorted(known))}")
