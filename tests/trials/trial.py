"""One simulated cluster through the very code that the stream workers run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from streams.replay import Replay
from testbed.scenarios import scenario
from testbed.scoring.score import score, to_text

START_NS = 1_780_000_000 * 10**9


class Outcome(NamedTuple):
    """What a seed came to; ``text`` is the score as people read it."""

    seed: int
    incidents: int
    perfect: bool
    adds_up: bool
    text: str


def run(name: str, seed: int) -> Outcome:
    """Simulate a shipped scenario and judge it."""
    plan = scenario.load(name)
    simulation = plan.simulation(seed=seed, start_ns=START_NS)
    judge = Replay(topology=simulation.topology)
    incidents = []
    for second in simulation.seconds(plan.duration_s):
        arrival_ns = second.start_ns + 10**9
        incidents += judge.feed(second.pings, second.heartbeats, arrival_ns).incidents
    incidents += judge.finish().incidents
    result = score(simulation.truths(plan.duration_s), incidents)
    tally = judge.tally
    counted = tally.judged + tally.late + tally.duplicate + tally.dead_lettered
    return Outcome(
        seed, len(incidents), result.perfect, tally.records == counted > 0, to_text(result)
    )


def run_all(name: str, seeds: Iterable[int]) -> list[Outcome]:
    """Many seeds; on two cores unless pytest-xdist uses them already."""
    workers = 1 if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1 else 2
    numbers = list(seeds)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(run, [name] * len(numbers), numbers))
