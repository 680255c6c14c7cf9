"""A simulated cluster through the pipeline, scored against the truth."""

from __future__ import annotations

from typing import NamedTuple

from streams.replay import Replay
from testbed.scenarios import scenario
from testbed.scoring.score import score, to_text

START_NS = 1_780_000_000 * 10**9


class Outcome(NamedTuple):
    """The score of one seed.

    perfect  every fault is found and no incident is false
    adds_up  each record is judged, late, duplicate or dead-lettered
    text     the score as people read it
    """

    incidents: int
    perfect: bool
    adds_up: bool
    text: str


def run(name: str, seed: int) -> Outcome:
    """Simulate a shipped scenario and judge it with the code of the stream workers."""
    plan = scenario.load(name)
    simulation = plan.simulation(seed=seed, start_ns=START_NS)
    replay = Replay(topology=simulation.topology)
    incidents = []
    for second in simulation.seconds(plan.duration_s):
        arrival_ns = second.start_ns + 10**9
        incidents += replay.feed(second.pings, second.heartbeats, arrival_ns).incidents
    incidents += replay.finish().incidents
    result = score(simulation.truths(plan.duration_s), incidents)
    counts = replay.counts
    counted = counts.judged + counts.late + counts.duplicate + counts.dead_lettered
    return Outcome(len(incidents), result.perfect, counts.records == counted > 0, to_text(result))
