"""Steps of latency in a simulated cluster that is never still: found in time, and nothing else."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from schemas.documents.incident import Incident
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.baseline import Noise
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build

START_S = 1_780_000_000
FAULT_S = 310  # ten windows are known by then
RESTLESS = Noise(burst_excess=(0.5, 3.0), burst_paths=1.0, burst_length_s=(4.0, 12.0))


def simulation(
    seed: int, noise: Noise | None = None, traced: float = 1.0, hosts: int = 12, ports: int = 2
) -> Simulation:
    spec = ClosSpec(hosts=hosts, rails=2, hosts_per_segment=6, hosts_per_job=6)
    return Simulation(
        build(spec, seed), seed=seed, start_ns=START_S * 10**9, noise=noise, traced=traced,
        ports_per_pair=ports,
    )  # fmt: skip


def without_replies(pings: pa.RecordBatch) -> pa.RecordBatch:
    """The records of agents that trace requests only: no traceroute begins at a responder."""
    sent = pc.equal(pings.column("task_type"), "RDMA_PING")
    ports = pc.unique(pings.filter(sent).column("dst_port"))
    return pings.filter(pc.or_(sent, pc.is_in(pings.column("dst_port"), ports)))


def found(simulated: Simulation, seconds: int, *, replies: bool = True) -> list[Incident]:
    judge = Replay(topology=simulated.topology)
    opened: dict[str, Incident] = {}
    for second in simulated.seconds(seconds):
        pings = second.pings if replies else without_replies(second.pings)
        said = judge.feed(pings, second.heartbeats, second.start_ns + 10**9)
        for incident in said.incidents:
            opened.setdefault(incident.incident_id, incident)
    return list(opened.values())


@pytest.mark.parametrize(
    ("kind", "where", "added_us", "within_s"),
    [
        ("rnic_latency", "any rnic", 10.0, 35),  # on a path of about 15 us: two windows
        ("vswitch_latency", "any vswitch", 40.0, 15),  # a large step does not wait for a window
        ("offloading_failure", "any rnic", 30.0, 15),  # nor if it hits the overlay alone
    ],
)
def test_the_component_of_a_latency_step_is_named_in_time(
    kind: str, where: str, added_us: float, within_s: int
) -> None:
    quiet = simulation(5)
    place = candidates(quiet.network, quiet.paths, where)[3]
    fault = Fault(kind=kind, component=place, start_s=FAULT_S, magnitude=added_us)
    (incident,) = found(quiet.with_faults([fault]), FAULT_S + within_s)
    assert place in incident.tie_set
    assert incident.symptom == "high_latency"
    onset = datetime.fromisoformat(incident.opened_at).timestamp() - START_S
    assert abs(onset - FAULT_S) <= 2
    detected = datetime.fromisoformat(incident.detected_at).timestamp() - START_S
    assert detected <= FAULT_S + within_s


@pytest.mark.parametrize("number", range(4))
def test_a_link_that_is_slow_in_one_direction_is_named_with_it(number: int) -> None:
    quiet = simulation(7 + number, traced=0.8, hosts=24)
    places = [each for each in candidates(quiet.network, quiet.paths, "any link") if "agg:" in each]
    place, direction = places[number], ("a>b", "b>a")[number % 2]
    fault = Fault(kind="link_latency", component=place, start_s=FAULT_S, direction=direction)
    (incident,) = found(quiet.with_faults([fault]), FAULT_S + 60)
    assert place in incident.tie_set
    assert (incident.symptom, incident.direction) == ("high_latency", direction)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    ("kind", "where"), [("link_latency", "any link"), ("switch_latency", "any agg")]
)
def test_slow_links_and_switches_are_named_where_only_requests_are_traced(
    kind: str, where: str, number: int
) -> None:
    quiet = simulation(21 + number, hosts=24)
    places = [each for each in candidates(quiet.network, quiet.paths, where) if "agg:" in each]
    fault = Fault(kind=kind, component=places[number], start_s=FAULT_S, magnitude=10.0)
    (incident,) = found(quiet.with_faults([fault]), FAULT_S + 60, replies=False)
    assert (incident.component, incident.symptom) == (places[number], "high_latency")


@pytest.mark.parametrize("number", range(3))
def test_a_slow_switch_is_named_where_few_requests_are_traced(number: int) -> None:
    quiet = simulation(31 + number, hosts=24, traced=0.25, ports=4)
    place = candidates(quiet.network, quiet.paths, "any agg")[number]
    fault = Fault(kind="switch_latency", component=place, start_s=FAULT_S, magnitude=20.0)
    (incident,) = found(quiet.with_faults([fault]), FAULT_S + 60, replies=False)
    assert (incident.component, incident.symptom) == (place, "high_latency")


@pytest.mark.parametrize("traced", [0.0, 0.5, 1.0])
def test_bursts_of_training_that_quadruple_the_round_trip_are_no_incident(traced: float) -> None:
    assert found(simulation(6, RESTLESS, traced), 420) == []
