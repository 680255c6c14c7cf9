"""The underlay plan: within ToRs, between ToRs over every link, and inside hosts."""

from __future__ import annotations

from collections import Counter

from builders.controller.clusters import bonded, two_tiers

from controller.ping_lists import endpoints, underlay
from controller.ping_lists.ecmp import SwitchPaths
from controller.ping_lists.parameters import DEFAULT, PingListParameters
from controller.ping_lists.ports import five_tuples_to_cover, missed
from controller.ping_lists.underlay import Pair
from schemas.documents.topology import Host, Rnic, Topology
from testbed.topologies.clos import ClosSpec, build


def planned(
    topology: Topology, parameters: PingListParameters = DEFAULT
) -> tuple[list[Pair], dict[str, endpoints.Endpoint]]:
    rnics = endpoints.underlay(topology)
    return underlay.plan(topology, rnics, parameters), rnics


def test_the_rnics_of_a_tor_probe_each_other_over_one_port() -> None:
    plan, rnics = planned(two_tiers(8, rails=1))
    inside = [pair for pair in plan if rnics[pair.a].asw == rnics[pair.b].asw]
    assert len(inside) == 2 * (4 * 3 // 2)
    assert {pair.ports for pair in inside} == {1}


def test_five_tuples_between_two_tors_cover_every_spine_with_the_wanted_probability() -> None:
    plan, rnics = planned(two_tiers(8, rails=1, spines=8))
    between = [pair for pair in plan if rnics[pair.a].asw != rnics[pair.b].asw]
    five_tuples = sum(pair.ports for pair in between)
    assert 51 <= five_tuples < 51 + len(between), "dealt evenly, so rounded up for each pair"
    assert len({rnics[pair.a].node_sn for pair in between}) == 4, "from every host of the ToR"


def test_neighbouring_rnics_of_a_host_probe_each_other() -> None:
    plan, rnics = planned(two_tiers(1, rails=4))
    assert {(pair.a, pair.b) for pair in plan} == {
        ("10.0.0.1", "10.1.0.1"), ("10.1.0.1", "10.2.0.1"), ("10.2.0.1", "10.3.0.1"),
        ("10.0.0.1", "10.3.0.1"),
    }  # fmt: skip
    assert len(rnics) == 4


def test_the_links_above_the_aggs_are_covered_by_all_pairs_of_tors_together() -> None:
    topology = build(
        ClosSpec(hosts=64, rails=2, hosts_per_segment=4, aggs=4, pods=4, spines=8), 3
    )  # fmt: skip
    plan, rnics = planned(topology)
    paths = SwitchPaths(topology)
    tors: Counter[frozenset[str]] = Counter()
    groups: Counter[frozenset[frozenset[str]]] = Counter()
    for pair in plan:
        a, b = rnics[pair.a], rnics[pair.b]
        if a.asw != b.asw and a.node_sn != b.node_sn:  # both ways: each end probes the other
            tors[frozenset((a.asw, b.asw))] += pair.ports
            groups[frozenset((paths.group(a.asw), paths.group(b.asw)))] += pair.ports
    assert min(tors.values()) >= five_tuples_to_cover(4, 0.99)
    pods = [count for ends, count in groups.items() if len(ends) == 2]
    assert len(pods) > 3
    assert all(missed(4 * 8, count) <= 0.01 for count in pods)


def test_a_tor_that_is_alone_on_its_rail_is_paired_with_those_of_other_rails() -> None:
    plan, rnics = planned(two_tiers(4, rails=2, hosts_per_tor=4))
    across = [pair for pair in plan if rnics[pair.a].rail != rnics[pair.b].rail]
    assert any(rnics[pair.a].node_sn != rnics[pair.b].node_sn for pair in across)


def test_the_tors_that_rnics_are_bonded_over_are_covered_as_one_tor_with_the_uplinks_of_both() -> (
    None
):
    plan, rnics = planned(bonded(8, spines=8))
    tors = {ip: int(rnic.node_sn[1:]) // 4 for ip, rnic in rnics.items()}
    within = [pair for pair in plan if tors[pair.a] == tors[pair.b]]
    assert {pair.ports for pair in within} == {1}
    between = [pair for pair in plan if tors[pair.a] != tors[pair.b]]
    wanted = five_tuples_to_cover(2 * 8, 0.99)
    assert wanted <= sum(pair.ports for pair in between) < wanted + len(between)


def test_rnics_without_a_known_tor_are_spread_over_their_rail() -> None:
    topology = two_tiers(6, rails=1)
    bare = [Host(host.node_sn, [Rnic(host.rnics[0].real_ip)]) for host in topology.hosts]
    unknown = Topology(hosts=bare)
    plan, _ = planned(unknown)
    assert len(plan) == 6 * 5 // 2


def test_rnics_of_tors_without_known_links_are_spread_over_their_rail_too() -> None:
    topology = two_tiers(6, rails=1)
    unlinked = Topology(hosts=topology.hosts, switches=topology.switches)
    plan, rnics = planned(unlinked)
    assert len(plan) == 6 * 5 // 2
    assert any(rnics[pair.a].asw != rnics[pair.b].asw for pair in plan)
