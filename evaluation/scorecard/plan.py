"""Which trials make a scorecard: settings, scenarios, strategies, seeds.

Final seeds are written down here and nobody tunes on them: whoever develops runs other seeds
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
#: Dear scenarios get fewer seeds, and the table says so. The fat-trees, whose 26 faults at a time
#: are the dearest, meet every strategy on 20 seeds in the path part.
FEWER: Final = {
    "drift": 5, "fat-tree-noisy": 3, "fat-tree-sparse": 4, "flock-silent-drop": 4, "lingjun": 5,
    "rail-2048": 10, "vote-007": 5,
}  # fmt: skip
#: No trial begins later than this, so that the whole ends within an hour, and a quick one in 5 min;
#: running again goes on from there.
LIMIT_MIN: Final = 50.0
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
#: CPU seconds, for estimates: of a record through the whole pipeline, of a trial's beginning, of a
#: second, of one in which something alarms, then for each path and for each pair of faults too, and
#: of a strategy on a published setting.
RECORD_S: Final = 3e-6
TRIAL_S: Final = 0.7
SECOND_S: Final = 3e-3
ALARM_S: Final = 0.02
ALARM_PATH_S: Final = 1e-6
ALARM_FAULT_S: Final = 5e-4
PATH_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Unit:
    """What one process does in one go; ``strategies`` are several in the path part only."""

    part: Part
    name: str
    seed: int
    strategies: tuple[str, ...]
    cost_s: float
    duration_s: int | None = None

    @property
    def keys(self) -> set[tuple[str, str, int, str]]:
        """What identifies its rows."""
        kind = "path" if self.part == "path" else "pipeline"
        return {(kind, self.name, self.seed, strategy) for strategy in self.strategies}


def key(row: Row) -> tuple[str, str, int, str]:
    """The unit's key that a row answers."""
    if isinstance(row, PathRow):
        return "path", row.setting, row.seed, row.strategy
    assert isinstance(row, PipelineRow)  # noqa: S101 — there is no third kind
    return "pipeline", row.scenario, row.seed, row.strategy


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the command line asks for; None: what the plan says.

    only        parts, settings or scenarios; seeds: of every part; seeds_from: first seed
    strategies  that run; clean_hours: simulated input without faults, in all
    """

    quick: bool = False
    only: tuple[str, ...] = ()
    seeds: int | None = None
    seeds_from: int | None = None
    strategies: tuple[str, ...] = ()
    clean_hours: float | None = None

    @property
    def final(self) -> bool:
        """Whether it is the whole plan on the final seeds, and nothing less."""
        return not (
            self.quick or self.only or self.strategies
            or self.seeds is not None or self.seeds_from is not None
        )  # fmt: skip


class UnknownName(ValueError):
    """A part, setting, scenario or strategy that is not there; one line."""


def units(wish: PlanRequest) -> list[Unit]:
    """All trials of a scorecard; raises UnknownName."""
    known = {*FINAL, *published.SETTINGS, *scenario.names()}
    _check("--only", wish.only, known)
    _check("--strategies", wish.strategies, strategies.names())
    chosen = wish.strategies or tuple(strategies.names())
    out = _path(wish, chosen)
    for name in scenario.names():
        if _wanted(wish, "clean" if is_clean(name) else "pipeline", name):
            out += _clean(wish, name) if is_clean(name) else _pipeline(wish, name, chosen)
    return out


def rounds(units: Sequence[Unit]) -> list[Unit]:
    """The published settings first, which are cheap; then every part's first seeds, then the second
    ones; within a round the longest first."""
    first: dict[Part, int] = {}
    for unit in units:
        first[unit.part] = min(unit.seed, first.get(unit.part, unit.seed))
    return sorted(units, key=lambda u: (u.part != "path", u.seed - first[u.part], -u.cost_s))


def is_clean(name: str) -> bool:
    """A scenario without faults: all that it brings about is false."""
    return scenario.load(name).clean


@cache
def cost_s(name: str) -> float:
    """CPU seconds that a trial of a scenario is expected to take with the default strategy."""
    plan = scenario.load(name)
    simulation = plan.simulation(seed=0, start_ns=0)
    paths, length = len(simulation.paths), plan.duration_s
    active = np.zeros(length, np.int64)
    for fault in simulation.faults:
        if fault.signature.effect in ("loss", "latency", "queue", "crash"):
            active[fault.start_s : fault.end_s] += 1
    alarms = (active > 0) * (ALARM_S + ALARM_PATH_S * paths) + active**2 * ALARM_FAULT_S
    a_second = SECOND_S + paths / simulation.ports_per_pair * RECORD_S
    return TRIAL_S + a_second * length + float(alarms.sum())


def first_seed(part: Part, wish: PlanRequest) -> int:
    """A quick run is for those who develop, so it leaves the final seeds alone."""
    if wish.seeds_from is not None:
        return wish.seeds_from
    return QUICK_FROM if wish.quick else FINAL[part]


def seeds_of(part: Part, wish: PlanRequest, name: str) -> range:
    """Seeds of one setting or scenario with faults."""
    first = first_seed(part, wish)
    if wish.seeds is not None:
        return range(first, first + wish.seeds)
    if wish.quick:
        return range(first, first + QUICK_SEEDS[part])
    return range(first, first + FEWER.get(name, SEEDS))


def _path(wish: PlanRequest, chosen: tuple[str, ...]) -> list[Unit]:
    """Baselines are swept as well, but where somebody is in a hurry or asks for certain ones."""
    if not (wish.quick or wish.strategies):
        chosen = (*chosen, *tuned_baselines.names())
    return [
        Unit("path", name, seed, chosen, PATH_S * len(chosen))
        for name in published.SETTINGS
        if _wanted(wish, "path", name)
        for seed in seeds_of("path", wish, name)
    ]


def _pipeline(wish: PlanRequest, name: str, chosen: tuple[str, ...]) -> list[Unit]:
    cost = cost_s(name)
    if wish.quick and cost > QUICK_COST_S and name not in wish.only:
        return []
    out = []
    seeds = seeds_of("pipeline", wish, name)
    for strategy in chosen:
        if strategy == DEFAULT or wish.strategies:
            out += [Unit("pipeline", name, seed, (strategy,), cost) for seed in seeds]
        elif name in OTHER_SCENARIOS and not wish.quick:
            out += [
                Unit("pipeline", name, seed, (strategy,), cost * OTHER_FACTOR)
                for seed in seeds[:OTHER_SEEDS]
            ]
    return out


def _clean(wish: PlanRequest, name: str) -> list[Unit]:
    """The default strategy only: an alarm is the detectors' doing, whoever would name it."""
    length = QUICK_CLEAN_S if wish.quick else CLEAN_S
    a_second = (cost_s(name) - TRIAL_S) / scenario.load(name).duration_s
    cost = TRIAL_S + a_second * length
    if wish.quick and cost > QUICK_COST_S and name not in wish.only:
        return []
    count = 1 if wish.quick else max(1, int(CLEAN_BUDGET_S / cost))
    if wish.clean_hours is not None:
        count = max(1, round(wish.clean_hours * 3600 / length))
    elif wish.seeds is not None:
        count = wish.seeds
    first = first_seed("clean", wish)
    return [
        Unit("clean", name, seed, (DEFAULT,), cost, length) for seed in range(first, first + count)
    ]


def _wanted(wish: PlanRequest, part: Part, name: str) -> bool:
    return not wish.only or part in wish.only or name in wish.only


def _check(option: str, given: Sequence[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise UnknownName(f"{option} {name}: choose of {', '.join(sorted(known))}")
