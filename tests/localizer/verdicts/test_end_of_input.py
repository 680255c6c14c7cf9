"""A file holds one burst of each five-tuple, within five seconds, and several components lose.

Live, a verdict on several culprits waits until the first round of probes is over, since a few
switches explain what of tens of bad links has been met so far. After a file nothing comes.
"""

from __future__ import annotations

import pytest
from builders.simulated_fabrics import START_NS, last_versions

from schemas.documents.incident import Incident
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build

ROUND_S, BURST = 5, 20
THREE_TIERS = ClosSpec(
    hosts=16, rails=2, hosts_per_segment=4, aggs=2, pods=2, spines=2, hosts_per_job=16
)
KINDS = (
    ("rnic_port_down", "any rnic", 1.0), ("crc_error", "any tor-agg link", 0.3),
    ("tor_loss", "any tor", 0.3), ("crc_error", "any agg-spine link", 0.4),
)  # fmt: skip


def simulated(seed: int, faults: int) -> Simulation:
    quiet = Simulation(
        build(THREE_TIERS, seed), seed=seed, start_ns=START_NS, targets=7, ports_per_pair=1,
        every_s=(ROUND_S,), burst=BURST,
    )  # fmt: skip
    chosen = []
    for number, (kind, where, loss) in enumerate(KINDS[:faults]):
        places = candidates(quiet.network, quiet.paths, where)
        place = places[(seed * 7 + number * 3) % len(places)]
        chosen.append(Fault(kind=kind, component=place, start_s=0, end_s=60, magnitude=loss))
    return quiet.with_faults(chosen)


def judged(simulation: Simulation, *, ends: bool) -> list[Incident]:
    judge, found = Replay(topology=simulation.topology), []
    for second in simulation.seconds(ROUND_S):
        found += judge.feed(second.pings, second.heartbeats, second.start_ns + 10**9).incidents
    return last_versions(found + (judge.finish().incidents if ends else []))


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("faults", [2, 4])
def test_all_of_several_faults_are_named_as_the_input_ends(seed: int, faults: int) -> None:
    simulation = simulated(seed, faults)
    named = {each.component for each in judged(simulation, ends=True)}
    assert named == {each.component for each in simulation.faults}


def test_while_more_may_come_none_is_named() -> None:
    assert judged(simulated(2, 4), ends=False) == []


def test_nothing_is_named_where_nothing_is_broken() -> None:
    assert judged(simulated(2, 0), ends=True) == []


def test_incidents_of_the_end_have_their_bad_paths_as_all_others() -> None:
    simulation = simulated(2, 2)
    judge = Replay(topology=simulation.topology)
    for second in simulation.seconds(ROUND_S):
        judge.feed(second.pings, second.heartbeats, second.start_ns + 10**9)
    end = judge.finish()
    opened = {each.incident_id for each in end.incidents}
    assert opened
    assert {each.incident_id for each in end.anomalies} == opened
