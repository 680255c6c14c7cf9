"""Ways through hand-drawn fabrics: ECMP shares, exact routes, and what must not be believed."""

from __future__ import annotations

import numpy as np
import pytest
from drawings import THREE_TIER, TWO_TIER

from localizer.fabric.switch_graph import SwitchGraph
from schemas.documents.topology import Switch, Topology


def test_two_spines_share_the_traffic_between_two_tors() -> None:
    assert SwitchGraph(TWO_TIER).between("asw1", "asw2", "", "") == {
        "tor:asw1": 1.0, "tor:asw2": 1.0, "spine:dsw1": 0.5, "spine:dsw2": 0.5,
        "link:spine:dsw1|tor:asw1": 0.5, "link:spine:dsw1|tor:asw2": 0.5,
        "link:spine:dsw2|tor:asw1": 0.5, "link:spine:dsw2|tor:asw2": 0.5,
    }  # fmt: skip


def test_three_tiers_split_at_every_switch() -> None:
    shares = SwitchGraph(THREE_TIER).between("asw1", "asw2", "", "")
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
    shares = SwitchGraph(Topology(switches=switches, links=links)).between("t1", "t2", "", "")
    assert [shares[f"spine:{s}"] for s in ("s1", "s2", "s3")] == [0.25, 0.25, 0.5]


def test_shares_are_probabilities_and_every_tier_is_crossed_once() -> None:
    shares = SwitchGraph(THREE_TIER).between("asw1", "asw2", "", "")
    for kind, times in (("tor", 2.0), ("agg", 2.0), ("spine", 1.0), ("link:agg", 4.0)):
        assert sum(v for k, v in shares.items() if k.startswith(kind)) == pytest.approx(times)


def test_pods_that_share_an_aggregation_switch_need_no_spine() -> None:
    topology = Topology(
        switches=[*THREE_TIER.switches, Switch("asw3", "asw")],
        links=[*THREE_TIER.links, ("asw3", "psw1"), ("asw3", "psw2")],
    )
    shares = SwitchGraph(topology).between("asw1", "asw3", "", "")
    assert not [name for name in shares if "spine" in name]
    assert shares["agg:psw1"] == 0.5


def test_neighbours_behind_one_tor_cross_only_that_tor() -> None:
    assert SwitchGraph(TWO_TIER).between("asw1", "asw1", "", "") == {"tor:asw1": 1.0}


@pytest.mark.parametrize("topology", [None, Topology(), TWO_TIER])
def test_tors_without_a_known_way_between_them_are_all_that_is_known(
    topology: Topology | None,
) -> None:
    assert SwitchGraph(topology).between("asw8", "asw9", "", "") == {
        "tor:asw8": 1.0,
        "tor:asw9": 1.0,
    }


def test_without_a_topology_the_spine_that_both_records_name_is_on_the_way() -> None:
    shares = SwitchGraph(None).between("asw1", "asw2", "dsw1", "dsw1")
    assert shares == {
        "tor:asw1": 1.0, "tor:asw2": 1.0, "spine:dsw1": 1.0,
        "link:spine:dsw1|tor:asw1": 1.0, "link:spine:dsw1|tor:asw2": 1.0,
    }  # fmt: skip


def test_an_endpoint_without_a_tor_says_nothing_about_the_way() -> None:
    assert SwitchGraph(TWO_TIER).between("asw1", "", "", "") == {"tor:asw1": 1.0}
    assert SwitchGraph(TWO_TIER).between("", "", "", "") == {}


# --- traceroutes ------------------------------------------------------------------------------


def read(routes: SwitchGraph, hops: list[str | None], first: str = "", last: str = "") -> list[str]:
    """The switches of a traceroute by name; none if it is not believed."""
    return [routes.switches[number] for number in routes.read(hops, first, last) or ()]


def test_a_traceroute_names_the_switches_on_the_way() -> None:
    names = read(SwitchGraph(TWO_TIER), ["asw1", "dsw2", "asw2"], "asw1", "asw2")
    assert names == ["tor:asw1", "spine:dsw2", "tor:asw2"]


def test_addresses_of_interfaces_are_their_switches() -> None:
    names = read(SwitchGraph(TWO_TIER), ["10.9.1.1", "10.9.3.2", "10.9.2.1"], "asw1", "asw2")
    assert names == ["tor:asw1", "spine:dsw1", "tor:asw2"]


def test_a_silent_hop_is_named_where_the_fabric_leaves_one_choice() -> None:
    hops = ["asw1", "psw1", None, "psw3", "asw2"]
    assert not read(SwitchGraph(THREE_TIER), hops, "asw1", "asw2"), "two spines could"
    topology = Topology(
        switches=TWO_TIER.switches,
        links=[("asw1", "dsw1"), ("asw2", "dsw1"), ("asw2", "dsw2")],
    )
    names = read(SwitchGraph(topology), ["asw1", None, "asw2"], "asw1", "asw2")
    assert names == ["tor:asw1", "spine:dsw1", "tor:asw2"]


@pytest.mark.parametrize(
    "hops",
    [
        [],
        [None],
        [None, None, None],
        ["asw1", None, "asw2"],  # either spine
        [None, "dsw1", "asw2"],
        ["asw1", "dsw1", None],
        ["asw1", None, None],
        ["asw1", "nowhere", "asw2"],  # an unlisted name is no switch of a known fabric
        ["asw1"],  # cut short by the fault that is looked for
        ["asw1", "dsw1"],
        ["dsw1", "asw2"],
        ["asw2", "dsw1", "asw1"],  # the way back
        ["asw1", "dsw1", "asw1", "dsw2", "asw2"],  # round in a circle
    ],
)
def test_a_route_that_is_cut_short_or_unclear_is_not_believed(hops: list[str | None]) -> None:
    assert SwitchGraph(TWO_TIER).read(hops, "asw1", "asw2") is None


# --- fabrics that nobody described ------------------------------------------------------------


def test_links_are_learnt_from_traceroutes_and_then_shared_by_all() -> None:
    routes = SwitchGraph(None)
    for port, dsw in ((1, "dsw1"), (2, "dsw2")):
        assert read(routes, ["asw1", f"psw{port}", dsw, f"psw{port + 2}", "asw2"], "asw1", "asw2")
    assert routes.edges == 8
    shares = routes.between("asw1", "asw2", "", "")
    assert shares["agg:psw1"] == shares["spine:dsw2"] == 0.5
    assert shares["link:agg:psw1|tor:asw1"] == 0.5


def test_the_middle_of_five_hops_is_a_spine_and_keeps_its_name() -> None:
    routes = SwitchGraph(None)
    read(routes, ["asw1", "psw1", "x", "psw3", "asw2"], "asw1", "asw2")
    assert "spine:x" in read(routes, ["asw1", "x", "asw3"], "asw1", "asw3")


def test_a_given_fabric_is_not_rewritten_by_traceroutes() -> None:
    routes = SwitchGraph(TWO_TIER)
    read(routes, ["asw1", "dsw2", "asw2"], "asw1", "asw2")
    assert routes.edges == 0


# --- ways -------------------------------------------------------------------------------------


def test_pairs_of_tors_with_the_same_neighbours_share_what_lies_between() -> None:
    pods = Topology(
        switches=[*THREE_TIER.switches, Switch("asw3", "asw")],
        links=[*THREE_TIER.links, ("asw3", "psw3"), ("asw3", "psw4")],
    )
    routes = SwitchGraph(pods)
    one, two, three = (routes.tor(f"asw{n}") for n in (1, 2, 3))
    assert routes.way(one, two, "", "") is routes.way(one, three, "", "")
    assert routes.way(one, two, "", "").number != routes.way(two, one, "", "").number
    assert routes.way(two, three, "", "").up == routes.way(two, three, "", "").down


def test_a_way_knows_in_which_direction_it_is_travelled() -> None:
    routes = SwitchGraph(THREE_TIER)
    psw1, psw3, dsw1 = (routes.listed(name) for name in ("psw1", "psw3", "dsw1"))
    way = routes.way(routes.tor("asw1"), routes.tor("asw2"), "", "")
    assert way.up[psw1] == way.down[psw3] == 0.5
    assert (way.links[psw1, dsw1], way.links[dsw1, psw3]) == (0.25, 0.25)
    assert (dsw1, psw1) not in way.links


def test_neighbouring_tors_need_nothing_in_between() -> None:
    ring = Topology(
        switches=[Switch(f"t{n}", "asw") for n in range(3)],
        links=[("t0", "t1"), ("t1", "t2")],
    )
    assert SwitchGraph(ring).between("t0", "t1", "", "") == {
        "tor:t0": 1.0, "tor:t1": 1.0, "link:tor:t0|tor:t1": 1.0,
    }  # fmt: skip
    assert SwitchGraph(ring).between("t0", "t2", "", "")["tor:t1"] == 1.0


def test_ways_that_are_alike_are_one_way() -> None:
    #  t0 - t1 are neighbours, and so are t1 - t2; t3 and t4 are twins below s0
    drawn = Topology(
        switches=[*(Switch(f"t{n}", "asw") for n in range(5)), Switch("s0", "dsw")],
        links=[("t0", "t1"), ("t1", "t2"), *((f"t{n}", "s0") for n in (0, 2, 3, 4))],
    )
    routes = SwitchGraph(drawn)
    tors = np.array([-1, *(routes.tor(f"t{n}") for n in range(5))], np.int32)
    a, b = (axis.ravel() for axis in np.meshgrid(tors, tors))
    numbers: dict[int, set[int]] = {}
    for key, u, v in zip(routes.alike(a, b).tolist(), a.tolist(), b.tolist(), strict=True):
        numbers.setdefault(key, set()).add(routes.way(u, v, "", "").number)
    assert all(len(each) == 1 for each in numbers.values())
    t0, t3, t4 = tors[[1, 4, 5]]
    ways = routes.alike(np.array([t0, t0], np.int32), np.array([t3, t4], np.int32))
    assert ways[0] == ways[1], "twins"
