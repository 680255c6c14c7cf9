"""Random arrivals, and plans that become faults."""

from __future__ import annotations

import json
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from schemas.component_ids import kind_of, link_ends
from testbed.faults import arrivals
from testbed.faults.arrivals import Arrivals
from testbed.faults.fault_plans import FaultPlan, PlanError, arrival_plan, place
from testbed.faults.kinds import KINDS, NETWORK_KINDS
from testbed.simulator.simulator import Simulation
from testbed.topologies import clos, fat_tree
from testbed.topologies.clos import ClosSpec
from testbed.topologies.fat_tree import FatTreeSpec

CLOS = Simulation(
    clos.build(ClosSpec(hosts=32, rails=4, hosts_per_segment=8, hosts_per_job=16), 1),
    seed=1,
    start_ns=0,
)
TREE = Simulation(fat_tree.build(FatTreeSpec(k=8), 1), seed=1, start_ns=0, layers=("underlay",))
BANDS = [(0.2, 1.0, 11), (0.1, 0.2, 13), (0.05, 0.1, 9), (0.01, 0.05, 9), (0.001, 0.01, 10)]


def test_faults_come_as_often_as_asked_and_in_clumps() -> None:
    plan = Arrivals(per_hour=60, start_s=0, gap_s=0, lasting_s=(1, 1))
    many = [arrivals.draw(plan, 36_000, seed) for seed in range(40)]
    assert np.mean([len(one) for one in many]) == pytest.approx(600, rel=0.1)
    gaps = np.concatenate([np.diff([fault.start_s for fault in one]) for one in many])
    assert gaps.std() > 1.3 * gaps.mean(), "a steady rate would have them equal"


def test_faults_keep_to_their_time_and_the_seed() -> None:
    plan = Arrivals(per_hour=100, start_s=75, lasting_s=(20, 60), gap_s=15)
    drawn = arrivals.draw(plan, 600, 3)
    assert drawn == arrivals.draw(plan, 600, 3) != arrivals.draw(plan, 600, 4)
    for fault in drawn:
        assert fault.start_s >= 75
        assert 20 <= fault.end_s - fault.start_s <= 60
        assert fault.end_s <= 585
    assert all(a.start_s <= b.start_s for a, b in pairwise(drawn))


def test_the_observable_mix_holds_all_types_that_probes_can_show() -> None:
    plan = Arrivals(per_hour=600)
    kinds = {fault.kind for seed in range(20) for fault in arrivals.draw(plan, 600, seed)}
    assert kinds == set(NETWORK_KINDS)
    assert "gpu_direct_rdma_error" not in kinds


def test_the_shipped_table_is_what_the_module_derives_from_a_trace() -> None:
    assert set(arrivals.table().kinds) <= set(KINDS)
    events = [
        {"node_id": "n", "event_time": at, "event_type": f"fault_{what}",
         "fault_type": {"Level": "", "Class": "NIC", "Desc": "NIC Lost"}}
        for at, what in ((1.0, "start"), (1.5, "end"), (2.0, "start"), (4.0, "end"))
    ]  # fmt: skip
    made = arrivals.derive(json.dumps(events).encode())
    assert (made.faults, made.kinds) == (2, {"rnic_hardware_failure": 2})
    assert (made.gap_hours[0], made.lasting_hours[0], made.lasting_hours[-1]) == (24.0, 12.0, 48.0)


@pytest.mark.parametrize(
    "wrong", [{"per_hour": 0}, {"per_hour": 1, "mix": "all"}, {"per_hour": 1, "lasting_s": (9, 2)}]
)
def test_invalid_arrivals_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError, match="arrivals: "):
        msgspec.convert(wrong, Arrivals)


def test_random_faults_share_neither_host_nor_switch() -> None:
    drawn = arrivals.draw(Arrivals(per_hour=60), 600, 0)
    faults = place([arrival_plan(one) for one in drawn], CLOS, 0)
    assert [(f.kind, f.start_s, f.end_s) for f in faults] == [
        (one.kind, one.start_s, one.end_s) for one in drawn
    ]
    touched = [end for f in faults if kind_of(f.component) == "link"
               for end in link_ends(f.component)]  # fmt: skip
    whole = [f.component for f in faults if kind_of(f.component) != "link"]
    assert len(touched + whole) == len(set(touched + whole))
    for fault in faults:
        low, high = {"crc_error": (0.05, 0.3)}.get(fault.kind, (0.0, 1e9))
        assert fault.magnitude is None or low <= fault.magnitude <= high


def test_an_rnic_below_a_tor_that_breaks_is_left_alone() -> None:
    tors = [f"tor:{switch.id}" for switch in CLOS.topology.switches if switch.tier == "asw"]
    plans = [FaultPlan(kind="switch_offline", component=tor, at=1) for tor in tors[1:]]
    plans.append(FaultPlan(kind="rnic_port_down", component="any rnic", at=1))
    chosen = place(plans, CLOS, 1)[-1].component.removeprefix("rnic:")
    above = {r.real_ip: r.asw for host in CLOS.topology.hosts for r in host.rnics}
    assert f"tor:{above[chosen]}" == tors[0]


def test_published_bands_are_dealt_to_both_directions_of_every_bad_link() -> None:
    plan = FaultPlan(
        kind="crc_error", component="any link", at=1, count=26, bands=BANDS, apart=False
    )
    faults = place([plan], TREE, 1)
    assert len({fault.component for fault in faults}) == 26
    sizes = [size for fault in faults for _, size in fault.ways]
    for low, high, many in BANDS:
        assert sum(low <= size < high for size in sizes) == many


@pytest.mark.parametrize("seed", range(5))
def test_a_fault_beside_another_shares_its_switch(seed: int) -> None:
    plans = [
        FaultPlan(kind="tor_loss", component="any tor", at=1, magnitude=0.1),
        FaultPlan(kind="rnic_port_down", component="any rnic", at=1, beside=1, apart=False),
        FaultPlan(kind="crc_error", component="any tor-agg link", at=1, magnitude=0.1),
        FaultPlan(
            kind="crc_error", component="any tor-agg link", at=1, magnitude=0.1, beside=3,
            apart=False,
        ),
    ]  # fmt: skip
    tor, rnic, one, two = (fault.component for fault in place(plans, CLOS, seed))
    above = {f"rnic:{r.real_ip}": r.asw for host in CLOS.topology.hosts for r in host.rnics}
    assert f"tor:{above[rnic]}" == tor
    assert one != two
    (shared,) = set(link_ends(one)) & set(link_ends(two))
    assert kind_of(shared) == "tor"


def test_a_fault_beside_none_is_refused() -> None:
    plan = FaultPlan(kind="crc_error", component="any link", at=1, beside=1, apart=False)
    with pytest.raises(PlanError, match="beside = 1 is no earlier fault's number"):
        place([plan], CLOS, 1)


def test_one_way_faults_go_either_way_by_the_seed() -> None:
    plan = FaultPlan(kind="crc_error", component="any link", at=1, direction="one")
    assert {place([plan], CLOS, seed)[0].direction for seed in range(12)} == {"a>b", "b>a"}


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"count": 0}, "give at least 1"),
        ({"bands": BANDS}, "bands hold 52 magnitudes; 1 links have 2"),
        ({"magnitude": [0.5, 0.1]}, "give 0 < low <= high"),
        ({"beside": 1}, "beside = 1 needs apart = false"),
    ],
)
def test_an_invalid_fault_plan_is_refused(plan: dict[str, object], reason: str) -> None:
    whole = {"kind": "crc_error", "component": "any link", "at": 1, **plan}
    with pytest.raises(msgspec.ValidationError, match=reason):
        msgspec.convert(whole, FaultPlan)


def test_more_faults_than_places_are_refused() -> None:
    plan = FaultPlan(kind="switch_offline", component="any spine", at=1, count=99)
    with pytest.raises(PlanError, match="nothing is left for 'any spine'"):
        place([plan], CLOS, 1)
