"""ECMP shares between two ToRs of hand-drawn fabrics."""

from __future__ import annotations

import numpy as np
import pytest
from builders.clusters import THREE_TIER, TWO_TIER
from builders.incidences import ecmp_shares

from localizer.fabric.ecmp import EcmpPaths
from localizer.fabric.switch_graph import SwitchGraph
from schemas.documents.topology import Switch, Topology


def test_two_spines_share_the_traffic_between_two_tors() -> None:
    assert ecmp_shares(SwitchGraph(TWO_TIER), "asw1", "asw2") == {
        "tor:asw1": 1.0, "tor:asw2": 1.0, "spine:dsw1": 0.5, "spine:dsw2": 0.5,
        "link:spine:dsw1|tor:asw1": 0.5, "link:spine:dsw1|tor:asw2": 0.5,
        "link:spine:dsw2|tor:asw1": 0.5, "link:spine:dsw2|tor:asw2": 0.5,
    }  # fmt: skip


def test_three_tiers_split_at_every_switch() -> None:
    shares = ecmp_shares(SwitchGraph(THREE_TIER), "asw1", "asw2")
    assert {k: v for k, v in shares.items() if not k.startswith("link")} == {
        "tor:asw1": 1.0, "tor:asw2": 1.0,
        **{f"agg:psw{n}": 0.5 for n in (1, 2, 3, 4)},
        "spine:dsw1": 0.5, "spine:dsw2": 0.5,
    }  # fmt: skip
    links = {k: v for k, v in shares.items() if k.startswith("link")}
    assert sorted(links.values()) == [0.25] * 8 + [0.5] * 4
    assert links["link:agg:psw1|spine:dsw2"] == 0.25
    assert links["link:agg:psw1|tor:asw1"] == 0.5


def test_the_split_is_by_next_hops_not_by_paths() -> None:
    #      t1 -> p1 -> s1, s2 -> t2
    #      t1 -> p2 -> s3     -> t2
    switches = [Switch(t, "asw") for t in ("t1", "t2")]
    switches += [Switch(p, "psw") for p in ("p1", "p2")]
    switches += [Switch(s, "dsw") for s in ("s1", "s2", "s3")]
    links = [("t1", "p1"), ("t1", "p2"), ("p1", "s1"), ("p1", "s2"), ("p2", "s3")]
    links += [(s, "t2") for s in ("s1", "s2", "s3")]
    shares = ecmp_shares(SwitchGraph(Topology(switches=switches, links=links)), "t1", "t2")
    assert [shares[f"spine:{s}"] for s in ("s1", "s2", "s3")] == [0.25, 0.25, 0.5]


def test_shares_are_probabilities_and_every_tier_is_crossed_once() -> None:
    shares = ecmp_shares(SwitchGraph(THREE_TIER), "asw1", "asw2")
    for kind, times in (("tor", 2.0), ("agg", 2.0), ("spine", 1.0), ("link:agg", 4.0)):
        assert sum(v for k, v in shares.items() if k.startswith(kind)) == pytest.approx(times)


def test_pods_that_share_an_aggregation_switch_need_no_spine() -> None:
    topology = Topology(
        switches=[*THREE_TIER.switches, Switch("asw3", "asw")],
        links=[*THREE_TIER.links, ("asw3", "psw1"), ("asw3", "psw2")],
    )
    shares = ecmp_shares(SwitchGraph(topology), "asw1", "asw3")
    assert not [name for name in shares if "spine" in name]
    assert shares["agg:psw1"] == 0.5


def test_neighbours_behind_one_tor_cross_only_that_tor() -> None:
    assert ecmp_shares(SwitchGraph(TWO_TIER), "asw1", "asw1") == {"tor:asw1": 1.0}


@pytest.mark.parametrize("topology", [None, Topology(), TWO_TIER])
def test_a_path_crosses_only_its_tors_where_the_graph_has_no_path_between_them(
    topology: Topology | None,
) -> None:
    assert ecmp_shares(SwitchGraph(topology), "asw8", "asw9") == {
        "tor:asw8": 1.0,
        "tor:asw9": 1.0,
    }


def test_without_a_topology_the_spine_that_both_records_name_is_on_the_way() -> None:
    shares = ecmp_shares(SwitchGraph(None), "asw1", "asw2", "dsw1", "dsw1")
    assert shares == {
        "tor:asw1": 1.0, "tor:asw2": 1.0, "spine:dsw1": 1.0,
        "link:spine:dsw1|tor:asw1": 1.0, "link:spine:dsw1|tor:asw2": 1.0,
    }  # fmt: skip


def test_a_path_without_a_tor_at_one_end_crosses_only_the_other_tor() -> None:
    assert ecmp_shares(SwitchGraph(TWO_TIER), "asw1", "") == {"tor:asw1": 1.0}
    assert ecmp_shares(SwitchGraph(TWO_TIER), "", "") == {}


def test_pairs_of_tors_with_the_same_neighbours_share_what_lies_between() -> None:
    pods = Topology(
        switches=[*THREE_TIER.switches, Switch("asw3", "asw")],
        links=[*THREE_TIER.links, ("asw3", "psw3"), ("asw3", "psw4")],
    )
    graph = SwitchGraph(pods)
    ecmp = EcmpPaths(graph)
    one, two, three = (graph.tor(f"asw{n}") for n in (1, 2, 3))
    assert ecmp.between(one, two, "", "") is ecmp.between(one, three, "", "")
    assert ecmp.between(one, two, "", "").number != ecmp.between(two, one, "", "").number
    assert ecmp.between(two, three, "", "").up == ecmp.between(two, three, "", "").down


def test_an_answer_takes_each_tor_of_a_bonded_rnic_as_probably_and_the_nearest_beyond() -> None:
    #      t1, t2: one rnic's; t3, t4: the other's; planes t1 - s1 - t3 and t2 - s2 - t4
    switches = [*(Switch(f"t{n}", "asw") for n in (1, 2, 3, 4)), Switch("s1", "dsw"),
                Switch("s2", "dsw")]  # fmt: skip
    links = [("t1", "s1"), ("s1", "t3"), ("t2", "s2"), ("s2", "t4")]
    graph = SwitchGraph(Topology(switches=switches, links=links))
    t1, t2, t3, t4, s1, s2 = (graph.listed(name) for name in ("t1", "t2", "t3", "t4", "s1", "s2"))
    graph.join((t1, t2))
    graph.join((t3, t4))
    nodes, ways = EcmpPaths(graph).between_any(*map(graph.homes, (t3, t1)), "", "")
    assert nodes == dict.fromkeys((t1, t2, t3, t4, s1, s2), 0.5)
    assert ways == dict.fromkeys(((t3, s1), (s1, t1), (t4, s2), (s2, t2)), 0.5)
    within, _ = EcmpPaths(graph).between_any(*map(graph.homes, (t1, t2)), "", "")
    assert within == {t1: 0.5, t2: 0.5}, "there and back over one of the two"


def test_ecmp_links_have_the_direction_of_the_traversal() -> None:
    graph = SwitchGraph(THREE_TIER)
    ecmp = EcmpPaths(graph)
    psw1, psw3, dsw1 = (graph.listed(name) for name in ("psw1", "psw3", "dsw1"))
    way = ecmp.between(graph.tor("asw1"), graph.tor("asw2"), "", "")
    assert way.up[psw1] == way.down[psw3] == 0.5
    assert (way.links[psw1, dsw1], way.links[dsw1, psw3]) == (0.25, 0.25)
    assert (dsw1, psw1) not in way.links


def test_neighbouring_tors_have_only_their_link_between_them() -> None:
    ring = Topology(
        switches=[Switch(f"t{n}", "asw") for n in range(3)],
        links=[("t0", "t1"), ("t1", "t2")],
    )
    assert ecmp_shares(SwitchGraph(ring), "t0", "t1") == {
        "tor:t0": 1.0, "tor:t1": 1.0, "link:tor:t0|tor:t1": 1.0,
    }  # fmt: skip
    assert ecmp_shares(SwitchGraph(ring), "t0", "t2")["tor:t1"] == 1.0


def test_pairs_of_tors_with_equal_keys_have_one_interior() -> None:
    #  t0 - t1 are neighbours, and so are t1 - t2; t3 and t4 are twins below s0
    drawn = Topology(
        switches=[*(Switch(f"t{n}", "asw") for n in range(5)), Switch("s0", "dsw")],
        links=[("t0", "t1"), ("t1", "t2"), *((f"t{n}", "s0") for n in (0, 2, 3, 4))],
    )
    graph = SwitchGraph(drawn)
    ecmp = EcmpPaths(graph)
    tors = np.array([-1, *(graph.tor(f"t{n}") for n in range(5))], np.int32)
    a, b = (axis.ravel() for axis in np.meshgrid(tors, tors))
    numbers: dict[int, set[int]] = {}
    for key, u, v in zip(ecmp.interior_keys(a, b).tolist(), a.tolist(), b.tolist(), strict=True):
        numbers.setdefault(key, set()).add(ecmp.between(u, v, "", "").number)
    assert all(len(each) == 1 for each in numbers.values())
    t0, t3, t4 = tors[[1, 4, 5]]
    ways = ecmp.interior_keys(np.array([t0, t0], np.int32), np.array([t3, t4], np.int32))
    assert ways[0] == ways[1], "twins"
