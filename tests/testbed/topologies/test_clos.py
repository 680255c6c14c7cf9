"""Fabrics and the routes through them."""

from __future__ import annotations

import json
from collections import Counter

import msgspec
import numpy as np
import pytest

from schemas.component_ids import kind_of, link
from schemas.documents import topology as topology_document
from testbed.simulator import network
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec
from testbed.workload import skeleton

SMALL = ClosSpec(
    name="t", hosts=16, rails=2, hosts_per_segment=4, aggs=2, pods=2, spines=2, hosts_per_job=8
)
TWO_TIER = ClosSpec(hosts=8, rails=2, hosts_per_segment=4, aggs=0, spines=2, hosts_per_job=8)
BONDED = msgspec.structs.replace(SMALL, tors_per_rail=2)


@pytest.mark.parametrize("spec", [SMALL, TWO_TIER, BONDED, ClosSpec()])
def test_a_fabric_is_a_valid_topology_document(spec: ClosSpec) -> None:
    document = clos.build(spec, seed=3)
    assert topology_document.parse(msgspec.json.encode(document)) == document
    assert len(document.hosts) == len(document.containers) == spec.hosts
    tiers = Counter(switch.tier for switch in document.switches)
    tors = spec.hosts // spec.hosts_per_segment * spec.rails * spec.tors_per_rail
    assert tiers["asw"] == tors
    assert tiers["psw"] == spec.aggs * spec.pods


def test_the_same_seed_draws_the_same_fabric_and_another_seed_other_names() -> None:
    first, again, other = (msgspec.json.encode(clos.build(SMALL, seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize("spec", [SMALL, TWO_TIER, BONDED])
def test_routes_follow_links_of_the_topology_there_and_back(spec: ClosSpec) -> None:
    fabric = network.build(clos.build(spec, seed=1))
    drawn = skeleton.paths(fabric, targets=4, ports_per_pair=2, seed=1)
    names = np.array([*fabric.components, ""])
    known = set(fabric.components)
    for routes, starts in ((drawn.forward, drawn.src_rnic), (drawn.reply, drawn.dst_rnic)):
        for route, rnic in zip(routes, starts, strict=True):
            hops = [str(name) for name in names[route] if name]
            inner = [name for name in hops if kind_of(name) not in ("container", "vswitch")]
            assert inner[0] == f"rnic:{fabric.rnic_names[rnic]}"
            for a, between, b in zip(inner[::2], inner[1::2], inner[2::2], strict=False):
                assert between == link(a, b)
                assert between in known


def test_paths_stay_on_their_rail_and_job_and_cross_each_switch_once() -> None:
    fabric = network.build(clos.build(SMALL, seed=2))
    drawn = skeleton.paths(fabric, targets=3, ports_per_pair=2, seed=2)
    above = drawn.layer == skeleton.OVERLAY
    rail = fabric.rnic_rail
    assert (rail[drawn.src_rnic] == rail[drawn.dst_rnic])[above].all()
    job = fabric.container_job[fabric.endpoint_container]
    assert (job[drawn.src_endpoint] == job[drawn.dst_endpoint])[above].all()
    for route in drawn.forward_switches:
        seen = route[route >= 0]
        assert len(seen) == len(set(seen.tolist())) <= 5


def test_every_endpoint_has_its_targets_in_both_layers_and_hosts_a_ring() -> None:
    fabric = network.build(clos.build(SMALL, seed=2))
    drawn = skeleton.paths(fabric, targets=3, ports_per_pair=2, seed=2)
    above = drawn.layer == skeleton.OVERLAY
    assert (np.bincount(drawn.src_endpoint[above]) == 3 * 2).all()
    inside = fabric.rnic_host[drawn.src_rnic] == fabric.rnic_host[drawn.dst_rnic]
    assert not (inside & above).any()
    assert inside.sum() == 16 * 2 * 2, "rnic ring of every host, two five-tuples each"


def test_five_tuples_spread_over_all_equal_cost_ways() -> None:
    fabric = network.build(clos.build(SMALL, seed=4))
    drawn = skeleton.paths(fabric, targets=7, ports_per_pair=8, seed=4)
    used = np.unique(drawn.forward[drawn.forward >= 0])
    unused = set(range(len(fabric.components))) - set(used.tolist())
    assert {kind_of(fabric.components[i]) for i in unused} <= {"host", "agent"}


def test_five_tuples_of_bonded_rnics_spread_over_their_tors_at_both_ends() -> None:
    fabric = network.build(clos.build(BONDED, seed=1))
    drawn = skeleton.paths(fabric, targets=7, ports_per_pair=40, seed=1)
    routes = drawn.forward_switches
    last = routes[np.arange(len(routes)), (routes >= 0).sum(axis=1) - 1]
    for rnics, tors in ((drawn.src_rnic, routes[:, 0]), (drawn.dst_rnic, last)):
        homes = fabric.rnic_switches[rnics]
        assert ((homes == tors[:, None]).sum(axis=1) == 1).all()
        assert np.mean(homes[:, 0] == tors) == pytest.approx(0.5, abs=0.03)
    both_home = fabric.rnic_switches[drawn.dst_rnic] == routes[:, :1]
    assert (last == routes[:, 0])[both_home.any(axis=1)].all(), "a ToR that both have is the way"


def test_an_overlay_probe_takes_another_five_tuple_than_the_underlay_probe_below_it() -> None:
    fabric = network.build(clos.build(SMALL, seed=4))
    drawn = skeleton.paths(fabric, targets=7, ports_per_pair=2, seed=4)
    assert len(np.unique(drawn.forward_flow)) == len(drawn)


def test_source_ports_change_with_the_hour() -> None:
    fabric = network.build(clos.build(TWO_TIER, seed=4))
    first, second = (
        skeleton.paths(fabric, targets=2, ports_per_pair=2, seed=4, hour=hour) for hour in (0, 1)
    )
    assert (first.pair == second.pair).all()
    assert (first.src_port != second.src_port).mean() > 0.99


@pytest.mark.parametrize(("size", "count"), [(1, 0), (2, 1), (3, 2), (16, 8)])
def test_ring_offsets_never_point_at_the_source(size: int, count: int) -> None:
    offsets = skeleton.ring_offsets(size, 8)
    assert len(offsets) == len(set(offsets)) == min(count, 8)
    assert 0 not in offsets


def test_an_island_and_an_rnic_without_switch_are_named() -> None:
    document = clos.build(TWO_TIER, seed=1)
    alone = network.build(msgspec.structs.replace(document, links=[]))
    with pytest.raises(network.NetworkError, match="no way from switch 'asw-"):
        skeleton.paths(alone, targets=2, ports_per_pair=1, seed=1)
    raw = json.loads(msgspec.json.encode(document))
    raw["hosts"][0]["rnics"][0]["asw"] = ""
    with pytest.raises(network.NetworkError, match="has no asw"):
        network.build(topology_document.parse(json.dumps(raw).encode()))
