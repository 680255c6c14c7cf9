"""Latency where pairs are probed each 10 s, in a simulated cluster that is never still."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from zlib import crc32

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from schemas.documents.incident import Incident
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.baseline import Noise
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Second, Simulation
from testbed.topologies.clos import ClosSpec, build

START_S = 1_780_000_000
ROUND_S = 10
FAULT_S = 250  # each five-tuple, probed every 20 s, has been answered a dozen times
RESTLESS = Noise(burst_excess=(0.5, 3.0), burst_paths=1.0, burst_length_s=(4.0, 12.0))
Due = Callable[[Second], np.ndarray]


def simulation(seed: int, noise: Noise | None = None, **probing: object) -> Simulation:
    spec = ClosSpec(hosts=12, rails=2, hosts_per_segment=6, hosts_per_job=6)
    given = {"every_s": (ROUND_S,)} | probing
    return Simulation(build(spec, seed), seed=seed, start_ns=START_S * 10**9, noise=noise, **given)  # type: ignore[arg-type]  # a test's own cadence


def found(simulated: Simulation, seconds: int, due: Due | None = None) -> list[Incident]:
    """Incidents as they opened.

    due  (rows,) which records of a second arrive; None: all
    """
    judge = Replay(topology=simulated.topology)
    opened: dict[str, Incident] = {}
    for second in simulated.seconds(seconds):
        pings = second.pings
        if due is not None:
            pings = pings.filter(pa.array(due(second)))
        for incident in judge.feed(pings, second.heartbeats, second.start_ns + 10**9).incidents:
            opened.setdefault(incident.incident_id, incident)
    return list(opened.values())


def hosts_in_turn(second: Second) -> np.ndarray:
    """Each host probes all of its pairs in one second of ten, its own."""
    names = second.pings.column("src_node_sn").to_pylist()
    return np.array([int(name[-2:]) * 7 % ROUND_S == second.index % ROUND_S for name in names])


def rails_in_turn(second: Second) -> np.ndarray:
    """All hosts probe all pairs of a rail in the same second of thirty, which is the length of a
    training iteration too: a burst meets one ToR's paths for minutes, and then the other's."""
    names = second.pings.column("src_real_ip").to_pylist()
    rail = np.array([int(name.rpartition(".")[2]) % 2 for name in names])
    return np.asarray(rail * 15 == second.index % 30)


@pytest.mark.parametrize(
    ("kind", "where", "added_us", "share"),
    [
        ("rnic_latency", "any rnic", 20.0, None),
        ("vswitch_latency", "any vswitch", 40.0, None),
        ("offloading_failure", "any rnic", 40.0, None),
        ("rnic_firmware_not_responding", "any rnic", 40.0, 0.5),
    ],
)
def test_a_latency_step_is_named_within_eight_rounds(
    kind: str, where: str, added_us: float, share: float | None
) -> None:
    quiet = simulation(5)
    place = candidates(quiet.network, quiet.paths, where)[3]
    fault = Fault(kind=kind, component=place, start_s=FAULT_S, magnitude=added_us, share=share)
    (incident,) = found(quiet.with_faults([fault]), FAULT_S + 8 * ROUND_S)
    assert place in incident.tie_set
    assert incident.symptom == "high_latency"
    onset = datetime.fromisoformat(incident.opened_at).timestamp() - START_S
    assert abs(onset - FAULT_S) <= 2 * ROUND_S


def restless_rails(seed: int) -> Simulation:
    """Two jobs of eight hosts, each five-tuple probed every 40 s; training slows one answer in ten,
    more than the fault does."""
    spec = ClosSpec(hosts=16, rails=2, hosts_per_segment=8, hosts_per_job=8)
    noise = msgspec.structs.replace(RESTLESS, burst_length_s=(1.5, 4.0), burst_period_s=23.0)
    return Simulation(
        build(spec, seed), seed=seed, start_ns=START_S * 10**9, noise=noise, every_s=(ROUND_S,),
        ports_per_pair=4, targets=4,
    )  # fmt: skip


@pytest.mark.parametrize("seed", [5, 6, 9])
def test_a_third_of_an_rnics_five_tuples_is_named_although_bursts_are_larger(seed: int) -> None:
    quiet = restless_rails(seed)
    place = candidates(quiet.network, quiet.paths, "any rnic")[3]
    fault = Fault(
        kind="rnic_firmware_not_responding", component=place, start_s=450, magnitude=25.0,
        share=0.35,
    )  # fmt: skip
    (incident,) = found(quiet.with_faults([fault]), 450 + 9 * ROUND_S)
    assert place in incident.tie_set


def test_bursts_that_slow_one_answer_in_ten_are_no_incident() -> None:
    assert found(restless_rails(5), 900) == []


@pytest.mark.parametrize("iteration_s", [30.0, 20.0])
def test_bursts_of_training_are_no_incident_at_ten_seconds_a_pair(iteration_s: float) -> None:
    """Twenty seconds are the interval of a five-tuple: it meets every burst, or none."""
    noise = msgspec.structs.replace(RESTLESS, burst_period_s=iteration_s)
    assert found(simulation(6, noise), 600) == []


def test_hosts_that_probe_less_often_from_now_on_are_not_blind() -> None:
    simulated = simulation(5, every_s=(1,), ports_per_pair=1)
    place = candidates(simulated.network, simulated.paths, "any rnic")[3]
    fault = Fault(kind="rnic_latency", component=place, start_s=FAULT_S, magnitude=20.0)

    def due(second: Second) -> np.ndarray:
        columns = (second.pings.column(name).to_pylist() for name in ("src_ip", "dst_ip"))
        turn = [crc32(f"{pair}".encode()) % ROUND_S for pair in zip(*columns, strict=True)]
        return np.array([second.index < 160 or each == second.index % ROUND_S for each in turn])

    (incident,) = found(simulated.with_faults([fault]), FAULT_S + 8 * ROUND_S, due)
    assert place in incident.tie_set


@pytest.mark.parametrize("due", [hosts_in_turn, rails_in_turn])
def test_bursts_are_no_incident_where_probes_are_sent_in_the_same_seconds(due: Due) -> None:
    simulated = simulation(7, RESTLESS, every_s=(1,), ports_per_pair=1)
    assert found(simulated, 600, due) == []
