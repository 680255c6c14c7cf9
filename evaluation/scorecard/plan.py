"""The trials of a scorecard: settings, scenarios, strategies, seeds.

The final seeds are fixed here, and no parameter is tuned on them. Development runs use other seeds
(``--seeds-from 1000``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evaluation.scorecard import tuned_baselines
from evaluation.scorecard.costs import CURVE_S, HEALTHY_S, PATH_S, TRIAL_S, cost_s
from evaluation.scorecard.summary import WEEK_S
from evaluation.scorecard.trials.curve import CURVES, PIPELINE, TIMES_S
from evaluation.scorecard.trials.healthy import HEALTHY, PIECE_S
from localizer import strategies
from localizer.options import Options
from testbed.scenarios import published, scenario

Part = Literal["path", "curve", "pipeline", "clean"]

#: First final seed of each part.
FINAL: Final[dict[Part, int]] = {
    "path": 5000, "curve": 6000, "pipeline": 6000, "clean": 7000,
}  # fmt: skip
TUNING: Final = "1-1099"
QUICK_FROM: Final = 1000
SEEDS: Final = 20
QUICK_SEEDS: Final[dict[Part, int]] = {"path": 2, "curve": 1, "pipeline": 1, "clean": 1}
#: Expensive scenarios get fewer seeds, unless all are requested; the table shows how many. Every
#: strategy runs on 20 seeds of the fat-trees in the path part.
FEWER: Final = {
    "burst-10-10s": 2, "burst-10-25s": 2, "burst-100-10s": 2, "burst-100-25s": 1, "cadence-10": 2,
    "cadence-25": 2, "cadence-3": 2, "cadence-mixed": 2, "demo": 10, "drift": 3,
    "fat-tree-noisy": 1, "fat-tree-sparse": 1, "flock-silent-drop": 2, "gray": 2,
    "issue_types": 5, "lingjun": 5, "many-links-burst": 2, "many-links-burst-dense": 1,
    "rail-1024": 5, "rail-2048": 3, "rail-512": 10, "records-only": 5,
    "vote-007": 5,
}  # fmt: skip
#: Networks of each curve over time: one tells a mean by no more than a link of 26.
CURVE_SEEDS: Final = 5
#: No trial begins later than this [min], so that the plan ends within 90 min and a quick one in
#: 5 min; the next run continues from there. All seeds are as long as they take.
LIMIT_MIN: Final = 80.0
QUICK_LIMIT_MIN: Final = 4.0
#: Strategies other than the default run the pipeline on these scenarios and so many seeds.
OTHER_SCENARIOS: Final = ("demo", "small", "three_at_once")
OTHER_SEEDS: Final = 1
OTHER_FACTOR: Final = 1.2
#: Clean input: length of a trial (source ports change at the hour), and CPU time for a scenario.
CLEAN_S: Final = 4200
CLEAN_BUDGET_S: Final = 160.0
#: Pieces of clean input without pings; the full plan has weeks of them.
HEALTHY_PIECES: Final = 1
QUICK_CLEAN_S: Final = 300
QUICK_COST_S: Final = 30.0

DEFAULT: Final = Options().strategy


@dataclass(frozen=True, slots=True)
class Unit:
    """The work of one process at a time; only path and curve have several strategies in a unit."""

    part: Part
    name: str
    seed: int
    strategies: tuple[str, ...]
    cost_s: float
    duration_s: int | None = None

    @property
    def keys(self) -> set[tuple[str, str, int, str]]:
        """The keys of the rows that the unit produces."""
        kind = "pipeline" if self.part == "clean" else self.part
        return {(kind, self.name, self.seed, strategy) for strategy in self.strategies}


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
    known = {*FINAL, *published.SETTINGS, *CURVES, *HEALTHY, *scenario.names()}
    _check("--only", request.only, known)
    _check("--strategies", request.strategies, strategies.names())
    chosen = request.strategies or tuple(strategies.names())
    out = [*_path(request, chosen), *_curves(request, chosen)]
    for name in scenario.names():
        if _wanted(request, "clean" if is_clean(name) else "pipeline", name):
            out += _clean(request, name) if is_clean(name) else _pipeline(request, name, chosen)
    return out + _healthy(request)


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


def _curves(request: PlanRequest, chosen: tuple[str, ...]) -> list[Unit]:
    """Trials of the fat-trees through panes, the pipeline beside every strategy."""
    names = (PIPELINE, *chosen)
    if not (request.quick or request.strategies):
        names = (*names, *tuned_baselines.names())
    out = []
    for name, curve in CURVES.items():
        if not _wanted(request, "curve", name) or (request.quick and name not in request.only):
            continue
        many = request.full or request.seeds is not None
        seeds = seeds_of("curve", request, name)
        plan = scenario.load(curve.scenario)
        cost = cost_s(curve.scenario) * TIMES_S[-1] / plan.duration_s + CURVE_S
        out += [
            Unit("curve", name, seed, names, cost)
            for seed in seeds[: None if many else CURVE_SEEDS]
        ]
    return out


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


def _healthy(request: PlanRequest) -> list[Unit]:
    """Pieces of clean input without pings."""
    out = []
    for name, each in HEALTHY.items():
        if not _wanted(request, "clean", name) or (request.quick and name not in request.only):
            continue
        count = round(each.weeks * WEEK_S / PIECE_S) if request.full else HEALTHY_PIECES
        if request.clean_hours is not None:
            count = max(1, round(request.clean_hours * 3600 / PIECE_S))
        elif request.seeds is not None:
            count = request.seeds
        first = first_seed("clean", request)
        out += [
            Unit("clean", name, seed, (DEFAULT,), HEALTHY_S * PIECE_S, PIECE_S)
            for seed in range(first, first + count)
        ]
    return out


def _wanted(request: PlanRequest, part: Part, name: str) -> bool:
    return not request.only or part in request.only or name in request.only


def _check(option: str, given: Sequence[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise UnknownName(f"{option} {name}: choose of {', '.join(sorted(known))}")
