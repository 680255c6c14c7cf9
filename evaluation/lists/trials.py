"""Start-up with containers minutes apart, and detection with inferred lists.

``python -m evaluation.lists.trials start-up --seeds 20``: all jobs start at once, their containers
get ready up to ten minutes apart, and half of them (``--restarted``) are restarted meanwhile;
nothing is broken, so every incident is false. ``... detection --scenario rail-512 --seeds 20``: the
faults of the scenario, probed by its own lists, by the rails, and by the skeletons inferred from
the jobs' throughput.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from evaluation.lists.restarts import restarted
from evaluation.lists.site import SimulatedSite
from schemas.documents.incident import Incident
from schemas.wire import codecs
from streams.replay import Replay
from testbed.scenarios import scenario
from testbed.scenarios.scenario import Scenario
from testbed.scoring.score import Score, score
from testbed.simulator.simulator import SECOND_NS, Simulation

Lists = Literal["given", "rails", "skeleton"]
KINDS: Final[tuple[Lists, ...]] = ("given", "rails", "skeleton")
_START_NS: Final = 1_780_000_000 * SECOND_NS
_START_UP_S: Final = 900
_SPREAD_S: Final = 600
_LEARNT_S: Final = 300


class StartUp(NamedTuple):
    """One seed. containers: without restarted ones; unready: probed targets that were not ready,
    over all seconds; components: blamed falsely."""

    seed: int
    containers: int
    restarted: int
    changes: int
    unready: int
    components: list[str]


class Detection(NamedTuple):
    """One seed with one kind of lists. targets: of an endpoint of a container, on average."""

    seed: int
    lists: Lists
    targets: float
    declined: int
    found: Score


def start_up(seed: int, share: float) -> StartUp:
    """All jobs of a fabric start at once, and this share of their containers is restarted."""
    plan = scenario.load("churn")
    assert plan.jobs is not None  # noqa: S101 — that is what the scenario is about
    jobs = msgspec.structs.replace(plan.jobs, fresh=1.0, spread_s=_SPREAD_S, churn=0.0)
    plan = msgspec.structs.replace(plan, jobs=jobs, duration_s=_START_UP_S)
    first = plan.simulation(seed=seed, start_ns=_START_NS)
    containers = len(first.topology.containers)
    topology, schedule = restarted(first.topology, first.schedule, share, _START_UP_S, seed)
    simulation = Simulation(
        topology, seed=seed, start_ns=_START_NS, targets=plan.probing.targets,
        ports_per_pair=plan.probing.ports_per_pair, layers=plan.probing.layers,
        traced=plan.probing.traced, noise=plan.noise, schedule=schedule,
        skeleton=plan.probing.skeleton,
    )  # fmt: skip
    site = SimulatedSite(simulation)
    unready = 0
    replay, found = Replay(topology=simulation.topology), dict[str, Incident]()
    for index in range(_START_UP_S):
        if documents := simulation.placements(index):
            site.place(documents)
            unready += site.unready()
        _judge(replay, site.simulation, index, found)
    found |= {each.incident_id: each for each in replay.finish().incidents}
    again = len(topology.containers) - containers
    false = score([], list(found.values())).false
    names = sorted(found[name].component for name, *_ in false)
    return StartUp(seed, containers, again, site.changed, unready, names)


def detection(name: str, seed: int, lists: Lists) -> Detection:
    """The faults of a scenario by one kind of lists."""
    plan: Scenario = scenario.load(name)
    simulation, declined = plan.simulation(seed=seed, start_ns=_START_NS), 0
    targets = float(simulation.targets)
    if lists != "given":
        site = SimulatedSite(simulation)
        site.place(simulation.placements(0))
        if lists == "skeleton":
            declined = sum(map(bool, site.learn(_LEARNT_S).values()))
        simulation, targets = site.simulation, site.targets()
    replay, found = Replay(topology=simulation.topology), dict[str, Incident]()
    for index in range(plan.duration_s):
        _judge(replay, simulation, index, found)
    found |= {each.incident_id: each for each in replay.finish().incidents}
    truths = simulation.truths(plan.duration_s)
    return Detection(seed, lists, targets, declined, score(truths, list(found.values())))


def _judge(replay: Replay, simulation: Simulation, index: int, found: dict[str, Incident]) -> None:
    second = simulation.second(index)
    made = replay.feed(
        codecs.conform(second.pings).batch, second.heartbeats, second.start_ns + SECOND_NS,
        simulation.placements(index),
    )  # fmt: skip
    found |= {each.incident_id: each for each in made.incidents}


def main(arguments: list[str] | None = None) -> int:
    """Run trials and print a row of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("start-up", "detection"))
    parser.add_argument("--scenario", default="rail-512")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--restarted", type=float, default=0.5, metavar="SHARE")
    parser.add_argument("--seeds-from", type=int, default=6000)
    parser.add_argument("--lists", nargs="+", choices=KINDS, default=KINDS, help="of detection")
    options = parser.parse_args(arguments)
    seeds = range(options.seeds_from, options.seeds_from + options.seeds)
    of_seeds = _start_ups(seeds, options.restarted) if options.what == "start-up" else None
    for line in of_seeds or _detections(options.scenario, seeds, options.lists):
        print(line, flush=True)
    return 0


def _start_ups(seeds: range, share: float) -> Iterator[str]:
    yield "| seed | containers | restarted | lists changed | unready targets | false incidents |"
    yield "|---|---|---|---|---|---|"
    rows = []
    for seed in seeds:
        rows.append(each := start_up(seed, share))
        blamed = ", ".join(each.components) or "0"
        yield (
            f"| {seed} | {each.containers} | {each.restarted} | {each.changes} "
            f"| {each.unready} | {blamed} |"
        )
    false = sum(len(each.components) for each in rows)
    yield f"{false} false incidents, {sum(each.unready for each in rows)} unready targets"


def _detections(name: str, seeds: range, kinds: Sequence[Lists]) -> Iterator[str]:
    yield "| seed | lists | targets an endpoint | jobs declined | found | top-1 | false | mean s |"
    yield "|---|---|---|---|---|---|---|---|"
    scores: dict[Lists, list[Score]] = {kind: [] for kind in kinds}
    for seed in seeds:
        for kind in kinds:
            each = detection(name, seed, kind)
            scores[kind].append(found := each.found)
            seconds = np.mean([match.seconds for match in found.matched] or [np.nan])
            yield (
                f"| {seed} | {kind} | {each.targets:.1f} | {each.declined} "
                f"| {len(found.matched)} of {found.truths} | {_top1(found)} | {len(found.false)} "
                f"| {seconds:.1f} |"
            )
    for kind, of in scores.items():
        matched = sum(len(each.matched) for each in of)
        truths, false = sum(each.truths for each in of), sum(len(each.false) for each in of)
        yield (
            f"{kind}: recall {matched / max(truths, 1):.3f}, precision "
            f"{matched / max(matched + false, 1):.3f}, top-1 "
            f"{sum(map(_top1, of)) / max(matched, 1):.3f} of {truths} faults"
        )


def _top1(found: Score) -> int:
    return sum(match.top1 for match in found.matched)


if __name__ == "__main__":
    sys.exit(main())
