"""What hops of a traceroute mean, and which traceroutes are not believed."""

from __future__ import annotations

import pytest
from builders.clusters import THREE_TIER, TWO_TIER
from builders.incidences import ecmp_shares

from localizer.fabric.switch_graph import SwitchGraph
from schemas.documents.topology import Topology


def resolve(
    graph: SwitchGraph, hops: list[str | None], first: str = "", last: str = ""
) -> list[str]:
    """The switches of a traceroute by name; none if it is not believed."""
    return [graph.switches[number] for number in graph.resolve(hops, first, last) or ()]


def test_a_traceroute_names_the_switches_on_the_way() -> None:
    names = resolve(SwitchGraph(TWO_TIER), ["asw1", "dsw2", "asw2"], "asw1", "asw2")
    assert names == ["tor:asw1", "spine:dsw2", "tor:asw2"]


def test_addresses_of_interfaces_are_their_switches() -> None:
    names = resolve(SwitchGraph(TWO_TIER), ["10.9.1.1", "10.9.3.2", "10.9.2.1"], "asw1", "asw2")
    assert names == ["tor:asw1", "spine:dsw1", "tor:asw2"]


def test_a_silent_hop_is_named_where_the_fabric_leaves_one_choice() -> None:
    hops = ["asw1", "psw1", None, "psw3", "asw2"]
    assert not resolve(SwitchGraph(THREE_TIER), hops, "asw1", "asw2"), "two spines could"
    topology = Topology(
        switches=TWO_TIER.switches,
        links=[("asw1", "dsw1"), ("asw2", "dsw1"), ("asw2", "dsw2")],
    )
    names = resolve(SwitchGraph(topology), ["asw1", None, "asw2"], "asw1", "asw2")
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
    assert SwitchGraph(TWO_TIER).resolve(hops, "asw1", "asw2") is None


# --- without a topology -----------------------------------------------------------------------


def test_links_are_learnt_from_traceroutes_and_then_shared_by_all() -> None:
    graph = SwitchGraph(None)
    for port, dsw in ((1, "dsw1"), (2, "dsw2")):
        assert resolve(graph, ["asw1", f"psw{port}", dsw, f"psw{port + 2}", "asw2"], "asw1", "asw2")
    assert graph.learnt_links == 8
    shares = ecmp_shares(graph, "asw1", "asw2")
    assert shares["agg:psw1"] == shares["spine:dsw2"] == 0.5
    assert shares["link:agg:psw1|tor:asw1"] == 0.5


@pytest.mark.parametrize(
    "hops", [["10.9.1.1", "10.9.3.2", "asw2"], ["asw1", "10.9.3.2", "10.9.2.1"]]
)
def test_a_route_that_does_not_end_at_the_known_access_switches_adds_no_switch(
    hops: list[str | None],
) -> None:
    graph = SwitchGraph(None)
    assert graph.tor("asw1") != graph.tor("asw2")
    assert graph.resolve(hops, "asw1", "asw2") is None
    assert graph.switches == ["tor:asw1", "tor:asw2"]
    assert not graph.above_tors


def test_the_middle_of_five_hops_is_a_spine_and_keeps_its_name() -> None:
    graph = SwitchGraph(None)
    resolve(graph, ["asw1", "psw1", "x", "psw3", "asw2"], "asw1", "asw2")
    assert "spine:x" in resolve(graph, ["asw1", "x", "asw3"], "asw1", "asw3")


def test_traceroutes_add_no_link_to_a_given_graph() -> None:
    graph = SwitchGraph(TWO_TIER)
    resolve(graph, ["asw1", "dsw2", "asw2"], "asw1", "asw2")
    assert graph.learnt_links == 0
