"""One source host, whatever it reports, neither hides nor invents trouble of the network."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from builders.clusters import newest

from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Second, Simulation
from testbed.topologies.clos import ClosSpec, build

LIAR = "host-02"
START_NS = 1_780_000_000 * 10**9
SPEC = ClosSpec(hosts=8, rails=2, hosts_per_segment=4, aggs=0, spines=2, hosts_per_job=8)

Columns = dict[str, np.ndarray]
Attack = Callable[[Columns, np.ndarray], None]
Beats = Callable[[Heartbeat], Heartbeat]


def _rewritten(second: Second, attack: Attack | None) -> pa.RecordBatch:
    """The records of a second, those of the liar changed; traceroutes stay."""
    batch = second.pings
    if attack is None:
        return batch
    text = {name: np.array(batch.column(name).to_pylist()) for name in ("src_node_sn", "task_type")}
    mine = (text["src_node_sn"] == LIAR) & (text["task_type"] != "TRACEROUTE")
    columns: Columns = {
        name: np.array(batch.column(name).to_pylist()) for name in ("sent", "lost", "dial")
    }
    columns["latency"] = np.array(
        [np.nan if each is None else each for each in batch.column("latency").to_pylist()]
    )
    attack(columns, mine)
    for name, values in columns.items():
        known = batch.schema.field(name)
        made = pa.array(values, mask=np.isnan(values) if name == "latency" else None)
        coded = pa.types.is_dictionary(known.type)
        batch = batch.set_column(
            batch.schema.get_field_index(name), name,
            made.dictionary_encode() if coded else made.cast(known.type),
        )  # fmt: skip
    return batch


@cache
def _simulated(kind: str, where: str, magnitude: float, begin: int, end: int) -> Simulation:
    quiet = Simulation(build(SPEC, 3), seed=3, start_ns=START_NS, targets=7)
    place = candidates(quiet.network, quiet.paths, where)[0]
    return quiet.with_faults(
        [Fault(kind=kind, component=place, start_s=begin, end_s=end, magnitude=magnitude)]
    )


def story(
    simulation: Simulation, upto: int, attack: Attack | None = None, beats: Beats | None = None
) -> list[Incident]:
    judge = Replay(topology=simulation.topology)
    found: list[Incident] = []
    for second in simulation.seconds(upto):
        said = [
            beats(beat) if beats is not None and beat.node_sn == LIAR else beat
            for beat in second.heartbeats
        ]
        pings = _rewritten(second, attack)
        found += judge.feed(pings, said, second.start_ns + 10**9).incidents
    return newest(found + judge.finish().incidents)


def about_others(simulation: Simulation, found: list[Incident]) -> dict[str, Incident]:
    """Incidents by component, without those about the liar's host and what is in it."""
    host = next(each for each in simulation.topology.hosts if each.node_sn == LIAR)
    own = {LIAR, *(rnic.real_ip for rnic in host.rnics)}
    own |= {box.node_id for box in simulation.topology.containers if box.node_sn == LIAR}
    return {
        each.component: each
        for each in found
        if not {name.partition("|")[0].rpartition(":")[2] for name in each.tie_set} & own
    }


def same(simulation: Simulation, lied: list[Incident], honest: list[Incident]) -> None:
    reported, expected = (about_others(simulation, each) for each in (lied, honest))
    assert reported.keys() == expected.keys()
    for name, one in expected.items():
        other = reported[name]
        for what in ("kind", "symptom", "severity", "direction", "tie_set", "parent"):
            assert getattr(other, what) == getattr(one, what), (name, what)
        assert abs(seconds_of(other.opened_at) - seconds_of(one.opened_at)) <= 2, name
        assert abs(seconds_of(other.detected_at) - seconds_of(one.detected_at)) <= 3, name


def all_is_well(times: int) -> Attack:
    def attack(columns: Columns, mine: np.ndarray) -> None:
        columns["latency"][mine & np.isnan(columns["latency"])] = 20.0
        columns["sent"][mine], columns["lost"][mine] = times, 0
        columns["dial"][mine] = "success"

    return attack


def all_is_lost(times: int) -> Attack:
    def attack(columns: Columns, mine: np.ndarray) -> None:
        columns["sent"][mine], columns["lost"][mine] = times, times
        columns["dial"][mine], columns["latency"][mine] = "timeout", np.nan

    return attack


def a_little_is_lost(columns: Columns, mine: np.ndarray) -> None:
    """Below what is material, so that it would be learnt as the fabric's healthy loss."""
    columns["latency"][mine & np.isnan(columns["latency"])] = 20.0
    columns["sent"][mine], columns["lost"][mine] = 1_000_000, 3_900
    columns["dial"][mine] = "success"


FAULTS = [
    ("switch_offline", "any tor", 1.0), ("tor_loss", "any tor", 0.1),
    ("link_loss", "any tor-spine link", 0.2),
]  # fmt: skip
ATTACKS: dict[str, Attack] = {
    "a hundred answers a record": all_is_well(100),
    "a million answers a record": all_is_well(1_000_000),
    "one answer a record": all_is_well(1),
    "time-outs to everybody": all_is_lost(1),
    "a million time-outs to everybody": all_is_lost(1_000_000),
    "an immaterial loss of a million": a_little_is_lost,
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
@pytest.mark.parametrize(("kind", "where", "magnitude"), FAULTS)
def test_false_reports_of_one_host_change_no_incident_about_others(
    kind: str, where: str, magnitude: float, attack: Attack
) -> None:
    simulation = _simulated(kind, where, magnitude, 20, 45)
    honest = _honest(kind, where, magnitude)
    assert len(about_others(simulation, honest)) == 1
    same(simulation, story(simulation, 60, attack), honest)


@cache
def _honest(kind: str, where: str, magnitude: float) -> list[Incident]:
    return story(_simulated(kind, where, magnitude, 20, 45), 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "said", [{"cpu_steal": 1.0}, {"alive": False}, {"scheduling_delay_us": 1e9}], ids=str
)
def test_false_reports_of_one_host_about_itself_change_no_incident_about_others(
    said: dict[str, object],
) -> None:
    simulation = _simulated("switch_offline", "any tor", 1.0, 20, 45)

    def beats(beat: Heartbeat) -> Heartbeat:
        return msgspec.structs.replace(beat, **said)

    honest = _honest("switch_offline", "any tor", 1.0)
    same(simulation, story(simulation, 60, beats=beats), honest)


@pytest.mark.slow
def test_one_host_cannot_keep_a_dead_host_alive() -> None:
    quiet = Simulation(build(SPEC, 3), seed=3, start_ns=START_NS, targets=7)
    simulation = quiet.with_faults(
        [Fault(kind="host_down", component="host:host-06", start_s=20, end_s=50, magnitude=1.0)]
    )
    (incident,) = about_others(simulation, story(simulation, 45, all_is_well(1))).values()
    assert (incident.component, incident.symptom) == ("host:host-06", "host_down")


@pytest.mark.slow
@pytest.mark.parametrize("latency_us", [0.01, 1e7], ids=["tiny", "huge"])
def test_round_trips_of_one_host_change_no_incident_about_others(latency_us: float) -> None:
    simulation = _simulated("switch_latency", "any tor", 40.0, 110, 160)
    honest = story(simulation, 165)
    assert [each.kind for each in honest] == ["tor"]

    def attack(columns: Columns, mine: np.ndarray) -> None:
        columns["latency"][mine] = latency_us

    same(simulation, story(simulation, 165, attack), honest)
