"""Hours of a healthy network through the localizer, without pings: every incident is false."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from evaluation.scorecard.records import FalseRow, PipelineRow
from evaluation.scorecard.trials.calibration import Collector
from evaluation.scorecard.trials.healthy_panes import HealthyPanes, Message
from localizer.localizer import Localizer
from localizer.options import Options
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from testbed.scenarios import scenario
from testbed.scenarios.scenario import Scenario
from testbed.simulator.simulator import SECOND_NS

START_S: Final = 1_780_000_000
#: Simulated time of a trial [s]; source ports change at each full hour within.
PIECE_S: Final = 14_400


class Healthy(NamedTuple):
    """A clean scenario at a cadence of its own.

    weeks  simulated in all by the full plan
    """

    scenario: str
    every_s: int
    burst: int
    weeks: float


HEALTHY: Final = {
    "healthy-2048": Healthy("clean-2048", 1, 1, 2.0),
    "healthy-2048-10s": Healthy("clean-2048", 10, 1, 1.0),
    "healthy-2048-bursts": Healthy("clean-2048", 10, 20, 1.0),
}


def run(
    name: str, seed: int, strategy: str, duration_s: int, among: Mapping[str, Healthy] = HEALTHY
) -> PipelineRow:
    """Simulate and judge one piece; pieces of successive seeds follow each other in time of day."""
    began = time.process_time()
    plan, start_s = plan_of(among[name]), START_S + seed * duration_s
    simulation = plan.simulation(seed=seed, start_ns=start_s * SECOND_NS)
    collector = Collector(seed)
    localizer = Localizer(
        topology=simulation.topology, options=Options(strategy=strategy, on_p=collector.add)
    )
    localizer.place(simulation.placements())
    records, judging_s = 0, [0.0]
    newest: dict[str, Incident] = {}
    error = None
    try:
        for messages in HealthyPanes(simulation).seconds(duration_s):
            records += sum(
                chunk.num_rows for header, chunk in messages if header.kind == "pane" and chunk
            )
            started = time.perf_counter()
            newest |= observed(localizer, messages)
            judging_s.append(time.perf_counter() - started)
        newest |= {each.incident_id: each for each in localizer.finish().incidents}
    except Exception as why:  # an error is the trial's result; the other trials still run
        error = f"{type(why).__name__}: {why}"
    judging_ms = 1e3 * np.array(judging_s)
    return PipelineRow(
        scenario=name, seed=seed, strategy=strategy, clean=True, simulated_s=duration_s,
        records=records, paths=localizer.paths, seconds=round(time.process_time() - began, 3),
        judging_ms=(round(float(np.median(judging_ms)), 1), round(float(judging_ms.max()), 1)),
        every_s=max(simulation.every_s), burst=simulation.burst,
        false=[
            FalseRow(component=each.component, symptom=each.symptom,
                     at_s=round(seconds_of(each.detected_at) - start_s, 3))
            for each in newest.values() if not each.parent
        ],
        p_values=collector.histograms, error=error,
    )  # fmt: skip


def plan_of(healthy: Healthy) -> Scenario:
    """The scenario at this cadence."""
    plan = scenario.load(healthy.scenario)
    probing = replace(plan.probing, every_s=healthy.every_s, burst=healthy.burst)
    return replace(plan, probing=probing)


def observed(localizer: Localizer, messages: Iterable[Message]) -> dict[str, Incident]:
    """Give a localizer the messages of a second; the incidents that changed."""
    out: dict[str, Incident] = {}
    for header, chunk in messages:
        found = localizer.observe(header, chunk)
        out |= {each.incident_id: each for each in found.incidents}
    return out
