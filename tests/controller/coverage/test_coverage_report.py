"""Which links lists cross: in expectation, and exactly where routes are traced."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from builders.controller.clusters import bonded, two_tiers
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.coverage.crossings import FiveTuple, Probed, crossings, entries
from controller.coverage.power import Naming
from controller.coverage.report import Coverage, report
from controller.coverage.routes import complete_routes
from controller.inventory.traced import routes as traced
from controller.inventory.traced.routes import Trace
from controller.ping_lists.lists import PingLists
from controller.ping_lists.same_rail import make_ready
from schemas.documents.topology import Rnic, Switch, Topology

RULE = Naming(
    level=1e-9, rest_level=1e-4, healthy=2e-4, dispersion=1.0, least_excess=0.004, hosts=3,
    window_s=30.0,
)  # fmt: skip
TOPOLOGY = two_tiers(8, rails=1, spines=4)


def every_entry(topology: Topology = TOPOLOGY) -> list[Probed]:
    lists = PingLists(topology)
    make_ready(lists, topology)
    return [each for node_sn in lists.hosts for each in entries(lists.document(node_sn))]


def probe(source: int, target: int, ports: int = 1) -> Probed:
    """Host to host of one rail, from port 1000 on, once a second."""
    a, b = f"10.0.{source}.1", f"10.0.{target}.1"
    used = range(1000, 1000 + ports)
    return Probed(f"h{source:03}", a, b, a, b, used, 99, "underlay", 1.0)


def state(found: Coverage, name: str) -> str:
    return next(each.state for each in found.links if each.link == name)


def uplink(tor: int, spine: int) -> str:
    return f"link:spine:spine-{spine}|tor:tor-{tor}-0"


@pytest.mark.parametrize("topology", [TOPOLOGY, bonded(16, spines=32)], ids=["tor", "bonded"])
def test_the_plan_covers_every_link_of_the_fabric(topology: Topology) -> None:
    found = report(topology, every_entry(topology), RULE)
    assert found.uncovered() == found.uncertain() == found.unnameable() == []
    assert [tier.tier for tier in found.tiers()] == ["rnic-tor", "tor-spine"]
    assert all(tier.covered == tier.links for tier in found.tiers())


def test_an_untraced_five_tuple_crosses_each_uplink_with_the_share_of_ecmp() -> None:
    found = crossings(TOPOLOGY, [probe(0, 4, ports=2)])
    at = found.links.index(uplink(0, 0))
    (row,) = np.flatnonzero(found.link == at)
    either = 1 - (3 / 4) ** 2  # request or reply
    assert found.five_tuples[row] == pytest.approx(2 * either)
    assert np.exp(found.unseen[row]) == pytest.approx((3 / 4) ** 4)
    assert found.twice[row] == pytest.approx(2 / 16)
    assert found.once[row] == pytest.approx(2 * either - 2 / 16)


def test_five_tuples_of_bonded_rnics_take_each_tor_as_probably() -> None:
    bonds = {f"10.0.{n}.1": [f"tor-{n // 4}-0", f"tor-{n // 4}-1"] for n in (0, 4)}
    tors = [*TOPOLOGY.switches, *(Switch(f"tor-{n}-1", "asw") for n in (0, 1))]
    above = [(f"tor-{n}-1", f"spine-{spine}") for n in (0, 1) for spine in range(4)]
    hosts = [
        msgspec.structs.replace(host, rnics=[
            Rnic(r.real_ip, r.rail, asws=bonds[r.real_ip]) if r.real_ip in bonds else r
            for r in host.rnics
        ])
        for host in TOPOLOGY.hosts
    ]  # fmt: skip
    bonded = msgspec.structs.replace(
        TOPOLOGY, hosts=hosts, switches=tors, links=[*TOPOLOGY.links, *above]
    )
    found = crossings(bonded, [probe(0, 4, ports=4)])
    either = 1 - (3 / 4) ** 2  # of four spines, by request or reply
    for tor in (0, 1):
        (row,) = np.flatnonzero(found.link == found.links.index(
            f"link:spine:spine-0|tor:tor-0-{tor}"
        ))  # fmt: skip
        assert found.five_tuples[row] == pytest.approx(4 / 2 * either)
        (row,) = np.flatnonzero(found.link == found.links.index(
            f"link:rnic:10.0.0.1|tor:tor-0-{tor}"
        ))  # fmt: skip
        assert found.five_tuples[row] == pytest.approx(4 * 3 / 4)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=6))
def test_expected_crossings_add_up_to_the_links_of_all_routes(
    pairs: list[tuple[int, int]],
) -> None:
    probes = [probe(a, b) for a, b in pairs]
    found = crossings(TOPOLOGY, probes)
    hops = sum(0 if a == b else 2 if a // 4 == b // 4 else 4 for a, b in pairs)
    hops += sum(a == b for a, b in pairs)  # to itself: its own link, as the records say
    assert (found.once / 2 + found.twice).sum() == pytest.approx(hops)


def test_traced_five_tuples_cross_the_links_of_their_routes_and_no_others() -> None:
    request: FiveTuple = ("10.0.0.1", "10.0.4.1", 1000, 99)
    reply: FiveTuple = ("10.0.4.1", "10.0.0.1", 99, 1000)
    routes = {
        request: ["tor-0-0", "spine-1", "tor-1-0"],
        reply: ["tor-1-0", "spine-2", "tor-0-0"],
    }
    found = report(TOPOLOGY, [probe(0, 4)], RULE, routes)
    states = {(tor, spine): state(found, uplink(tor, spine)) for tor in (0, 1) for spine in range(4)}  # fmt: skip  # noqa: E501
    crossed = {where for where, found_state in states.items() if found_state == "known"}
    assert crossed == {(0, 1), (1, 1), (0, 2), (1, 2)}
    assert set(states.values()) == {"known", "uncovered"}


def test_routes_of_other_five_tuples_than_those_of_the_lists_leave_expectations() -> None:
    other: FiveTuple = ("10.0.0.1", "10.0.4.1", 2000, 99)
    routes = {other: ["tor-0-0", "spine-1", "tor-1-0"]}
    expected = report(TOPOLOGY, [probe(0, 4, 16)], RULE)
    found = report(TOPOLOGY, [probe(0, 4, 16)], RULE, routes)
    assert (found.routes, found.other_routes) == (0, 1)
    assert found.links == expected.links
    assert found.untraced() == []
    assert found.tiers() == expected.tiers()
    reply: FiveTuple = ("10.0.4.1", "10.0.0.1", 99, 1003)
    routes[reply] = ["tor-1-0", "spine-1", "tor-0-0"]
    found = report(TOPOLOGY, [probe(0, 4, 16)], RULE, routes)
    assert (found.routes, found.other_routes) == (1, 1)
    assert state(found, uplink(0, 1)) == "known"


def test_hashes_that_polarize_show_as_links_that_no_probe_crosses() -> None:
    #  every five-tuple of tor-0 and tor-1, in both directions, goes by spine-0
    probes = [each for each in every_entry() if each.layer == "underlay"]
    tor = {r.real_ip: r.asw for host in TOPOLOGY.hosts for r in host.rnics}
    routes: dict[FiveTuple, list[str]] = {}
    for each in probes:
        for port in each.src_ports:
            ends = [tor[each.src_rnic], tor[each.dst_rnic]]
            if ends[0] != ends[1]:
                routes[each.src_ip, each.dst_ip, port, each.dst_port] = [ends[0], "spine-0", ends[1]]  # fmt: skip  # noqa: E501
                routes[each.dst_ip, each.src_ip, each.dst_port, port] = [ends[1], "spine-0", ends[0]]  # fmt: skip  # noqa: E501
    assert report(TOPOLOGY, probes, RULE).uncovered() == []
    dark = report(TOPOLOGY, probes, RULE, routes).uncovered()
    assert sorted(dark) == [uplink(t, s) for s in (1, 2, 3) for t in (0, 1)]


def test_a_link_that_too_few_five_tuples_may_cross_is_uncertain() -> None:
    found = report(TOPOLOGY, [probe(0, 4)], RULE)
    assert uplink(0, 0) in found.uncertain()
    assert "link:rnic:10.0.1.1|tor:tor-0-0" in found.uncovered()
    assert "link:rnic:10.0.0.1|tor:tor-0-0" in found.unnameable(), "one source host"


def test_a_switch_without_rnics_below_it_is_uncovered() -> None:
    spare = msgspec.structs.replace(
        TOPOLOGY,
        switches=[*TOPOLOGY.switches, Switch("tor-9-0", "asw")],
        links=[*TOPOLOGY.links, ("tor-9-0", "spine-0")],
    )
    assert report(spare, every_entry(), RULE).uncovered() == [uplink(9, 0)]


def test_only_whole_routes_over_links_of_the_topology_count_and_the_last_wins() -> None:
    five_tuple = traced.FiveTuple("10.0.0.1", "10.0.4.1", 1000, 99)
    addressed = msgspec.structs.replace(
        TOPOLOGY,
        switches=[
            msgspec.structs.replace(each, addresses=[f"192.168.0.{number}"])
            for number, each in enumerate(TOPOLOGY.switches)
        ],
    )

    def trace(*hops: str | None, complete: bool = True) -> Trace:
        return Trace(five_tuple, "", "", hops, complete)

    found = complete_routes(addressed, [
        trace("tor-0-0", "spine-3", "tor-1-0"),
        trace("tor-0-0", "192.168.0.1", "tor-1-0"),
        trace("tor-0-0", None, "tor-1-0"),
        trace("tor-0-0", "spine-0"),
        trace("tor-0-0", "tor-1-0"),
        trace("tor-0-0", "spine-2", "tor-1-0", complete=False),
    ])  # fmt: skip
    assert found == {tuple(five_tuple): ["tor-0-0", "spine-1", "tor-1-0"]}


def test_probes_of_the_overlay_cross_links_and_name_none_above_the_tors() -> None:
    probes = [probe(a, b, ports=40)._replace(layer="overlay") for a in range(4) for b in (4, 5, 6)]
    found = {each.link: each for each in report(TOPOLOGY, probes, RULE).links}
    assert found[uplink(0, 0)].state == "expected"
    assert found[uplink(0, 0)].smallest_loss is None, "its routes are never traced"
    assert found["link:rnic:10.0.4.1|tor:tor-1-0"].smallest_loss is not None
