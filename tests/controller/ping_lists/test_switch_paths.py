"""ECMP shares between ToRs, as the localizer computes them too."""

from __future__ import annotations

import pytest

from controller.ping_lists.ecmp import SwitchPaths
from localizer.fabric.ecmp import EcmpPaths
from localizer.fabric.switch_graph import SwitchGraph
from schemas.documents.topology import Host, Rnic, Switch, Topology
from testbed.topologies.clos import ClosSpec, build

#   t1 - p1 - s1 - t2      p1 has two spines, p2 one
#     \    \- s2 -/
#      p2 - s3 --/
UNEVEN = Topology(
    hosts=[Host("h1", [Rnic("10.0.0.1", 0, "t1"), Rnic("10.0.0.2", 1, "t2")])],
    switches=[
        *(Switch(name, "asw") for name in ("t1", "t2")),
        *(Switch(name, "psw") for name in ("p1", "p2")),
        *(Switch(name, "dsw") for name in ("s1", "s2", "s3")),
    ],
    links=[
        ("t1", "p1"), ("t1", "p2"), ("p1", "s1"), ("p1", "s2"), ("p2", "s3"),
        ("s1", "t2"), ("s2", "t2"), ("s3", "t2"),
    ],
)  # fmt: skip


def test_each_switch_splits_evenly_over_its_next_hops() -> None:
    assert SwitchPaths(UNEVEN).hops("t1", "t2") == {
        ("t1", "p1"): 0.5, ("t1", "p2"): 0.5,
        ("p1", "s1"): 0.25, ("p1", "s2"): 0.25, ("p2", "s3"): 0.5,
        ("s1", "t2"): 0.25, ("s2", "t2"): 0.25, ("s3", "t2"): 0.5,
    }  # fmt: skip


def test_neighbouring_tors_have_one_hop_and_unreachable_ones_none() -> None:
    direct = Topology(hosts=UNEVEN.hosts, switches=UNEVEN.switches, links=[("t1", "t2")])
    assert SwitchPaths(direct).hops("t1", "t2") == {("t1", "t2"): 1.0}
    assert SwitchPaths(direct).hops("t1", "p1") == {}
    assert SwitchPaths(direct).hops("t1", "t1") == {}


@pytest.mark.parametrize("aggs", [0, 3])
def test_the_shares_are_those_of_the_localizer(aggs: int) -> None:
    topology = build(ClosSpec(hosts=16, rails=2, hosts_per_segment=4, aggs=aggs, spines=3), 1)
    graph = SwitchGraph(topology)
    paths, theirs = SwitchPaths(topology), EcmpPaths(graph)
    tors = [switch.id for switch in topology.switches if switch.tier == "asw"]
    for a in tors:
        for b in tors:
            mine = paths.between(a, b)
            known = theirs.between(graph.tor(a), graph.tor(b), "", "")
            assert sorted(mine.up.values()) == pytest.approx(sorted(known.up.values()))
            assert sorted(mine.down.values()) == pytest.approx(sorted(known.down.values()))
            assert sorted(mine.middle.values()) == pytest.approx(sorted(known.links.values()))
