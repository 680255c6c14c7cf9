"""Simulated agents that probe ping lists: exactly these five-tuples, at their interval."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from controller.ping_lists.same_rail import planned
from probers.ping_list.document import PingList, parse
from schemas.documents.topology import Topology
from testbed.scenarios.scenario import load
from testbed.simulator.records import plain
from testbed.workload.listed import listed

SIMULATION = load("small").simulation(seed=3, start_ns=1_767_225_600_000_000_000)
EVERY_S = 3


def lists_of(topology: Topology, interval_s: float) -> list[PingList]:
    made = planned(topology, interval_s=interval_s)
    return [parse(msgspec.json.encode(made.document(host)), host) for host in made.hosts]


LISTS = lists_of(SIMULATION.topology, EVERY_S)
FIVE_TUPLES = {
    (target.layer, target.src_ip, target.ip, port)
    for each in LISTS
    for target in each.targets
    for port in target.src_ports
}


def test_each_five_tuple_of_the_lists_is_pinged_once_an_interval_and_nothing_else() -> None:
    simulation = SIMULATION.probing(listed(SIMULATION.network, LISTS))
    pinged: Counter[tuple[str, str, str, int]] = Counter()
    for second in simulation.seconds(2 * EVERY_S):
        for row in plain(second.pings).to_pylist():
            if row["task_type"] != "TRACEROUTE":
                pinged[row["agent_type"], row["src_ip"], row["dst_ip"], row["src_port"]] += 1
    assert pinged == Counter(dict.fromkeys(FIVE_TUPLES, 2))


def test_traceroutes_take_the_five_tuples_of_the_underlay_there_and_back() -> None:
    simulation = SIMULATION.probing(listed(SIMULATION.network, LISTS))
    below = {each[1:] for each in FIVE_TUPLES if each[0] == "underlay"}
    for row in plain(simulation.second(0).pings).to_pylist():
        if row["task_type"] == "TRACEROUTE":
            along = (row["src_ip"], row["dst_ip"], row["src_port"])
            back = (row["dst_ip"], row["src_ip"], row["dst_port"])
            assert {along, back} & below


def test_the_network_of_a_five_tuple_stays_when_other_ones_leave_the_lists() -> None:
    whole = SIMULATION.probing(listed(SIMULATION.network, LISTS))
    half = SIMULATION.probing(listed(SIMULATION.network, LISTS[::2]))
    medians = {
        (int(flow), layer): median
        for flow, layer, median in zip(
            whole.paths.forward_flow, whole.paths.layer, whole.baseline.log_median_us, strict=True
        )
    }
    assert 0 < len(half.paths) < len(whole.paths)
    for flow, layer, median in zip(
        half.paths.forward_flow, half.paths.layer, half.baseline.log_median_us, strict=True
    ):
        assert medians[int(flow), layer] == median


def test_a_container_that_is_dead_neither_probes_nor_answers_although_it_is_listed() -> None:
    churn = load("churn").simulation(seed=1, start_ns=SIMULATION.start_ns)
    lives = churn.schedule.lives
    index, life = min(
        ((i, each) for i, each in enumerate(lives) if 0 < each.dies_s < 10**6),
        key=lambda each: each[1].dies_s,
    )
    if life.ready_s > 0:
        pytest.skip("the first container that dies was not there from the beginning")
    name = churn.topology.containers[index].node_id
    lists = lists_of(churn.topology, 1.0)
    simulation = churn.probing(listed(churn.network, lists))
    rows = plain(simulation.second(life.dies_s).pings).to_pylist()
    assert not [row for row in rows if row["src_node_id"] == name]
    towards = [row for row in rows if row["dst_node_id"] == name]
    assert towards
    assert {row["dial"] for row in towards} == {"timeout"}


def test_an_address_that_is_not_in_the_fabric_is_an_error() -> None:
    target = msgspec.structs.replace(LISTS[0].targets[0], real_ip="192.0.2.1")
    with pytest.raises(KeyError):
        listed(SIMULATION.network, [msgspec.structs.replace(LISTS[0], targets=[target])])
