"""Many bad links through panes: F1 over time, of the pipeline and of strategies on pooled panes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from evaluation.scorecard import tuned_baselines
from evaluation.scorecard.records import CurvePoint, CurveRow
from evaluation.scorecard.trials.pooled_panes import PooledPanes
from localizer.localizer import Localizer
from localizer.options import Options
from localizer.strategies import Strategy
from schemas import topics
from schemas.documents.incident import Incident
from schemas.wire import codecs, window_chunks
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.partition import PartitionWorker
from testbed.scenarios import published, scenario
from testbed.scenarios.scenario import Probing, Scenario
from testbed.scoring.reported_incidents import ScoredIncident
from testbed.scoring.score import MAX_TIE_SET

START_S: Final = 1_780_000_000
#: Time since the first record at which F1 is computed [s].
TIMES_S: Final = (30, 60, 120)
#: Records of a second may come so much later [s].
_DRAIN_S: Final = 12
#: The row of the whole pipeline among the strategies.
PIPELINE: Final = "whole pipeline"
_BURST: Final = 100
_BURST_S: Final = 30


class Curve(NamedTuple):
    """A fat-tree of the published settings, probed by single probes or by bursts.

    setting   whose tuned baselines run; scenario: its simulation
    """

    setting: str
    scenario: str
    bursts: bool


CURVES: Final = {
    "sparse-bursts": Curve("fat_tree_sparse", "fat-tree-sparse", bursts=True),
    "sparse-probes": Curve("fat_tree_sparse", "fat-tree-sparse", bursts=False),
    "noisy-bursts": Curve("fat_tree_noisy", "fat-tree-noisy", bursts=True),
    "noisy-probes": Curve("fat_tree_noisy", "fat-tree-noisy", bursts=False),
}


def run(
    name: str,
    seed: int,
    names: Sequence[str],
    get: Callable[[str, str], Strategy] = tuned_baselines.get,
    times_s: Sequence[int] = TIMES_S,
) -> list[CurveRow]:
    """One network, whose links are bad from the first second, and every strategy on its panes.

    names  PIPELINE, and strategies; they get the pooled counts of the panes that the pipeline had
    """
    curve = CURVES[name]
    simulation = plan_of(curve).simulation(seed=seed, start_ns=START_S * 10**9)
    bad = frozenset(fault.component for fault in simulation.faults)
    worker, options = PartitionWorker(0, 0), Options()
    localizer = Localizer(topology=simulation.topology, options=options)
    localizer.place(simulation.placements())
    pool = PooledPanes(simulation.topology)
    points: dict[str, list[CurvePoint]] = {each: [] for each in names}
    cpu: dict[str, float] = dict.fromkeys(names, 0.0)
    newest: dict[str, Incident] = {}
    left = list(times_s)
    for second in simulation.seconds(max(times_s) + _DRAIN_S):
        if not left:
            break
        batch = codecs.conform(second.pings).batch
        messages = heartbeat_chunks(0, simulation.topology.fabric, second.heartbeats)
        messages += worker.feed(batch, second.index, second.start_ns + 10**9)
        for message in messages:
            if message.topic != topics.WINDOWS.name:
                continue
            header = window_chunks.Header.from_kafka(dict(message.headers))
            chunk = None
            if header.kind != "punctuation":
                chunk = window_chunks.decode(header.kind, message.value)
                if header.kind == "pane":
                    pool.add_pane(chunk)
                elif header.kind == "routes":
                    pool.add_routes(chunk)
            began = time.process_time()
            found = localizer.observe(header, chunk, message.value if chunk is None else b"")
            newest |= {each.incident_id: each for each in found.incidents}
            if PIPELINE in cpu:
                cpu[PIPELINE] += time.process_time() - began
            if left and (localizer.judged_s or 0) >= START_S + left[0] - 1:
                at_s = left.pop(0)
                drawn = pool.trial(bad)
                for each in names:
                    began = time.process_time()
                    if each == PIPELINE:
                        scores = pipeline_score(newest.values(), bad)
                    else:
                        blames = get(each, curve.setting)(drawn.evidence)
                        scores = published.score(drawn, blames)
                        cpu[each] += time.process_time() - began
                    points[each].append(CurvePoint(at_s, *scores))
    return [
        CurveRow(
            curve=name, seed=seed, strategy=each, bad=len(bad), points=points[each],
            seconds=round(cpu[each], 3),
        )
        for each in names
    ]  # fmt: skip


def plan_of(curve: Curve) -> Scenario:
    """The scenario with its links bad from the start, and probed in bursts where that is asked.

    A five-tuple gets a burst of 100 probes within 30 s; single probes come one a second and pair.
    """
    plan = scenario.load(curve.scenario)
    probing: Probing = plan.probing
    if curve.bursts:
        every_s = _BURST_S // probing.ports_per_pair
        probing = replace(probing, every_s=every_s, burst=_BURST)
    faults = [replace(fault, at=0, lasting=None) for fault in plan.faults]
    return replace(plan, probing=probing, faults=faults)


def pipeline_score(
    incidents: Iterable[ScoredIncident], bad: frozenset[str]
) -> tuple[float, float, float]:
    """Precision, recall and F1 of the components that incidents named so far.

    As ``check score``: an incident is right if it names a faulty component or has one in its tie
    set of at most four, consequences of others do not count, and nor do repetitions; precision is 1
    without incidents.
    """
    named = {}
    for each in incidents:
        if not each.parent:
            ties = each.tie_set if len(each.tie_set) <= MAX_TIE_SET else []
            named[each.component] = bad.intersection({each.component, *ties})
    right = sum(bool(found) for found in named.values())
    precision = right / len(named) if named else 1.0
    recall = len(frozenset().union(*named.values())) / len(bad) if bad else 1.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0
