"""Simulated fabrics of eight hosts, with and without a document, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builders.clusters import newest
from schemas.documents.incident import Incident
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Second, Simulation
from testbed.topologies.clos import ClosSpec, build

START_NS = 1_780_000_000 * 10**9
TWO_TIERS = ClosSpec(
    hosts=8, rails=2, hosts_per_segment=4, aggs=0, spines=2, hosts_per_job=8
)  # 4 ToRs, 2 spines
THREE_TIERS = ClosSpec(
    hosts=8, rails=2, hosts_per_segment=2, aggs=2, pods=2, spines=2, hosts_per_job=8
)  # 8 ToRs, 4 aggs, 2 spines
SHAPES = {"two tiers": TWO_TIERS, "three tiers": THREE_TIERS}
#: Whether a traceroute arrives: by its second and a number of its five-tuple in 0..99.
Tracing = Callable[[int, np.ndarray], np.ndarray]
Plan = tuple[str, str, int, int, float]  # kind, where, start, end, magnitude


def never(at: int, number: np.ndarray) -> np.ndarray:
    return np.zeros(len(number), bool)


def always(at: int, number: np.ndarray) -> np.ndarray:
    return np.ones(len(number), bool)


def sparsely(at: int, number: np.ndarray) -> np.ndarray:
    """Of every fourth five-tuple."""
    return number < 25


def from_second(first: int) -> Tracing:
    return lambda at, number: np.full(len(number), at >= first)


def broken(spec: ClosSpec, seed: int, plans: Sequence[Plan]) -> Simulation:
    """A simulation with faults at places that the seed chooses."""
    quiet = Simulation(build(spec, seed), seed=seed, start_ns=START_NS, targets=7)
    faults = []
    for kind, where, start_s, end_s, magnitude in plans:
        places = candidates(quiet.network, quiet.paths, where)
        faults.append(
            Fault(kind=kind, component=places[seed % len(places)], start_s=start_s, end_s=end_s,
                  magnitude=magnitude)
        )  # fmt: skip
    return quiet.with_faults(faults)


def every_version(
    simulation: Simulation, upto: int, tracing: Tracing = always, *, document: bool = True
) -> list[Incident]:
    judge = Replay(topology=simulation.topology if document else None)
    found: list[Incident] = []
    for second in simulation.seconds(upto):
        pings = _traced(second, tracing)
        found += judge.feed(pings, second.heartbeats, second.start_ns + 10**9).incidents
    return found + judge.finish().incidents


def last_versions(found: list[Incident]) -> list[Incident]:
    return [each for each in newest(found) if each.parent is None]


def _traced(second: Second, tracing: Tracing) -> pa.RecordBatch:
    if tracing is always:
        return second.pings
    batch = second.pings
    trace = pc.equal(batch["task_type"].cast(pa.string()), "TRACEROUTE")
    of_ping = ~trace.to_numpy(zero_copy_only=False)
    ports = (batch[f"{side}_port"].to_numpy().astype(np.int64) for side in ("src", "dst"))
    return batch.filter(pa.array(of_ping | tracing(second.index, sum(ports) * 7919 % 100)))
