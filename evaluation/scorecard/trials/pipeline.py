"""One scenario through the whole pipeline, with the code of the stream workers, scored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from evaluation.scorecard.records import FalseRow, FaultRow, PipelineRow
from evaluation.scorecard.trials.calibration import Collector
from localizer.options import Options
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from schemas.wire import codecs
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.scenarios import scenario
from testbed.scoring.reported_incidents import likeliest_type
from testbed.scoring.score import GRACE_S, Score, score
from testbed.scoring.truth import NOT_NETWORK, Truth
from testbed.simulator.fault_effects import effects_of
from testbed.simulator.simulator import Simulation

START_NS: Final = 1_780_000_000 * 10**9
_SECOND_NS: Final = 10**9


def run(name: str, seed: int, strategy: str, duration_s: int | None = None) -> PipelineRow:
    """Simulate, judge and score a scenario; duration_s: instead of the scenario's own [s]."""
    began = time.process_time()
    plan = scenario.load(name)
    length = duration_s or plan.duration_s
    simulation = plan.simulation(seed=seed, start_ns=START_NS)
    truths = simulation.truths(length)
    collector = Collector(seed)
    # A container that ends loses probes, so p-values are uniform only without placement changes.
    at_rest = plan.clean and len(simulation.placements(0)) == len(simulation.placements())
    options = Options(strategy=strategy, on_p=collector.add if at_rest else None)
    replay = Replay(topology=simulation.topology, options=options)
    newest: dict[str, Incident] = {}
    error = None
    try:
        for second in simulation.seconds(length):
            batch = codecs.conform(second.pings).batch
            arrival_ns = second.start_ns + _SECOND_NS
            placed = simulation.placements(second.index)
            found = replay.feed(batch, second.heartbeats, arrival_ns, placed).incidents
            newest |= {incident.incident_id: incident for incident in found}
        newest |= {each.incident_id: each for each in replay.finish().incidents}
    except Exception as why:  # an error is the trial's result; the other trials still run
        error, newest = f"{type(why).__name__}: {why}", {}
    incidents = list(newest.values())
    result = score(truths, incidents)
    judging_ms = 1e3 * np.array(replay.judging_s or [0.0])
    return PipelineRow(
        scenario=name, seed=seed, strategy=strategy, clean=plan.clean,
        simulated_s=length, every_s=max(simulation.every_s), burst=simulation.burst,
        records=replay.counts.records, paths=replay.paths,
        seconds=round(time.process_time() - began, 3),
        judging_ms=(round(float(np.median(judging_ms)), 1), round(float(judging_ms.max()), 1)),
        faults=_faults(simulation, truths, incidents, result), false=_false(result, newest),
        p_values=collector.histograms, error=error,
    )  # fmt: skip


def class_sizes(simulation: Simulation, components: Sequence[str]) -> list[int]:
    """Size of each component's class: the components that no probe distinguishes from it, itself
    included; 1 for agents and hosts.

    Classes are computed from the true routes of all five-tuples, independently of the localizer.
    Columns are compared by a random projection: unequal ones collide with a probability near 2^-50.
    """
    network, paths = simulation.network, simulation.paths
    weight = np.random.default_rng(0).random(len(paths)) + 0.5
    prints = np.zeros(len(network.components) + 1)
    for route in (paths.forward, paths.reply):
        for hop in route.T:  # -1, no component, is counted in the spare last element
            prints += np.bincount(
                np.where(hop < 0, len(prints) - 1, hop), weights=weight, minlength=len(prints)
            )
    prints = np.round(prints[:-1], 6)
    sizes = []
    for name in components:
        mine = prints[network.index[name]] if name in network.index else 0.0
        sizes.append(int((prints == mine).sum()) if mine > 0 else 1)
    return sizes


def five_sigma_s(simulation: Simulation, fault: Fault) -> float | None:
    """Time after which the losses that a fault adds exceed five standard deviations [s].

    Of the probes whose route crosses the component, with the true routes and healthy losses: they
    lose k + x in a second, k healthy and x added, and after t seconds x t > 5 sqrt((k + x) t).
    None for faults without loss, or that no probe crosses.
    """
    if fault.signature.effect != "loss":
        return None
    epoch = simulation.epoch(0)
    healthy = np.exp(epoch.baseline.log_keep)
    broken = effects_of(simulation.network, epoch.paths, epoch.baseline.log_keep, [fault]).keep
    probes = simulation.burst / epoch.cadence.cycles(len(healthy)) * (broken < healthy)
    added, lost = float((probes * (healthy - broken)).sum()), float((probes * (1 - broken)).sum())
    return round(25 * lost / added**2, 1) if added > 0 else None


def misnamed(truths: Sequence[Truth], incidents: Sequence[Incident]) -> dict[int, int]:
    """Match missed faults with false incidents of the same family and the right time, one to one.

    truths, incidents  those without a match; returns index of a truth -> index of an incident
    """
    fits = np.zeros((len(truths), len(incidents)))
    for i, truth in enumerate(truths):
        for j, incident in enumerate(incidents):
            same = (truth.symptom in NOT_NETWORK) == (incident.symptom in NOT_NETWORK)
            detected = seconds_of(incident.detected_at)
            fits[i, j] = same and (
                seconds_of(truth.start)
                <= detected
                <= (float("inf") if truth.end is None else seconds_of(truth.end) + GRACE_S)
            )
    rows, columns = linear_sum_assignment(fits, maximize=True)
    return {int(i): int(j) for i, j in zip(rows, columns, strict=True) if fits[i, j]}


def _faults(
    simulation: Simulation, truths: Sequence[Truth], incidents: Sequence[Incident], result: Score
) -> list[FaultRow]:
    known = {incident.incident_id: incident for incident in incidents}
    matched = {match.truth: match for match in result.matched}
    false = [known[name] for name, _, _ in result.false]
    instead = {
        result.missed[i]: false[j] for i, j in misnamed(result.missed, false).items()
    }  # no two faults share component and time, so a truth can be a key
    injected = {(fault.component, float(fault.start_s)): fault for fault in simulation.faults}
    rows = []
    for truth, size in zip(
        truths, class_sizes(simulation, [truth.component for truth in truths]), strict=True
    ):
        match = matched.get(truth)
        incident = known[match.incident_id] if match else instead.get(truth)
        fault = injected[truth.component, _since(truth.start)]
        rows.append(
            FaultRow(
                label=truth.issue_type or fault.kind, effect=fault.signature.effect,
                component=truth.component, issue_type=truth.issue_type, symptom=truth.symptom,
                layer=truth.layer, direction=truth.direction, magnitude=truth.magnitude,
                start_s=_since(truth.start),
                end_s=None if truth.end is None else _since(truth.end),
                class_size=size, found=match is not None, top1=match is not None and match.top1,
                noticed=incident is not None, seconds=match.seconds if match else None,
                named=incident.component if incident else None,
                said_type=likeliest_type(incident) if incident else None,
                said_direction=incident.direction if incident else None,
                five_sigma_s=five_sigma_s(simulation, fault),
            )
        )  # fmt: skip
    return rows


def _false(result: Score, newest: dict[str, Incident]) -> list[FalseRow]:
    false = [newest[name] for name, _, _ in result.false]
    taken = set(misnamed(result.missed, false).values())
    rows = [
        FalseRow(
            component=each.component, symptom=each.symptom, at_s=_since(each.detected_at),
            misnamed=number in taken,
        )
        for number, each in enumerate(false)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row.at_s, row.component))


def _since(time: str) -> float:
    return round(seconds_of(time) - START_NS / _SECOND_NS, 3)
