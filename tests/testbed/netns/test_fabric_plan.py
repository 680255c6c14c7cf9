"""The fabric on paper: names, addresses, routes and entries are right before anything is built."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv6Address
from typing import Any

import msgspec
import pytest

from schemas.component_ids import link_ends
from schemas.documents import topology
from testbed.netns.plan import component_ports, overlay
from testbed.netns.plan import document as plan_document
from testbed.netns.plan.component_ports import UnknownComponent
from testbed.netns.plan.plan import Plan
from testbed.netns.plan.routes import routes

TWO_TIERS = Plan(hosts=8, nics=2, hosts_per_tor=4, spines=2, containers=2)
THREE_TIERS = Plan(hosts=8, nics=2, hosts_per_tor=2, spines=2, aggs=2, pods=2, containers=1)
IPV6 = Plan(hosts=8, nics=2, hosts_per_tor=2, spines=2, aggs=2, pods=2, containers=1, ipv6=True)
BOTH = pytest.mark.parametrize(
    "plan", [TWO_TIERS, THREE_TIERS, IPV6], ids=["two tiers", "three tiers", "IPv6"]
)


@BOTH
def test_no_two_interfaces_have_the_same_address(plan: Plan) -> None:
    addresses = [address for cable in plan.cables() for _, _, address in cable.ends()]
    assert max(Counter(addresses).values()) == 1


@BOTH
def test_no_node_has_two_interfaces_of_one_name(plan: Plan) -> None:
    ports = [(node, port) for cable in plan.cables() for node, port, _ in cable.ends()]
    assert max(Counter(ports).values()) == 1
    assert all(len(port) <= 15 for _, port in ports), "Linux takes no longer names"


@BOTH
def test_the_topology_document_is_one_that_the_localizer_reads(plan: Plan) -> None:
    document = topology.parse(msgspec.json.encode(plan_document.topology(plan)))
    assert len(document.links) == len(plan.switch_cables())
    assert {switch.id for switch in document.switches} == set(plan.routers())


def test_an_ipv6_fabric_has_ipv6_addresses_only_in_their_one_spelling() -> None:
    found = [address for cable in IPV6.cables() for _, _, address in cable.ends()]
    found += [IPV6.container_address(7, 0, 1)]
    assert all(str(IPv6Address(each)) == each for each in found)
    for cable in IPV6.cables():
        lower, upper = (int(IPv6Address(end[2])) for end in (cable.lower, cable.upper))
        assert lower == upper + 1, "both ends of a /127"
        assert upper % 2 == 0
    lines = [line for node in IPV6.nodes() for line in routes(IPV6, node)]
    assert not any("10." in line for line in lines)
    assert "link:rnic:fd00:1:4::11|tor:tor-4" in {IPV6.link_id(each) for each in IPV6.cables()}


def test_a_tor_of_three_tiers_is_linked_to_the_aggs_of_its_pod_and_no_spine() -> None:
    links = [link for link in plan_document.topology(THREE_TIERS).links if "tor-5" in link]
    assert sorted(links) == [("tor-5", "agg-2"), ("tor-5", "agg-3")]


def test_a_spine_of_three_tiers_reaches_a_tor_by_every_agg_of_its_pod() -> None:
    (route,) = [line for line in routes(THREE_TIERS, "spine-0") if "10.1.5.0/24" in line]
    assert route.count("nexthop via") == 2


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ({"hosts": 0}, "at least 1"),
        ({"hosts": 8, "pods": 2}, "pods need aggs"),
        ({"hosts": 12, "aggs": 1, "pods": 2}, "share evenly"),
        ({"hosts": 1000, "hosts_per_tor": 4}, "at most 120 ToRs"),
        ({"containers": -1}, "with containers"),
    ],
)
def test_a_shape_that_cannot_be_built_is_refused(shape: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Plan(**shape)


def test_tenants_have_network_numbers_of_their_own_on_every_rail() -> None:
    numbers = [segment.vni for segment in overlay.segments(TWO_TIERS, 0)]
    assert len(set(numbers)) == len(numbers) == 2 * 2


def test_a_vswitch_knows_every_container_of_its_tenant_elsewhere_and_no_other() -> None:
    segment = overlay.segments(TWO_TIERS, 0)[0]
    known = [mac for mac, _ in overlay.entries(TWO_TIERS, segment) if mac != overlay.FLOOD]
    assert known == [TWO_TIERS.container_mac(host, 0, 0) for host in range(1, 8)]


@BOTH
def test_every_component_but_agents_has_ports(plan: Plan) -> None:
    for where in component_ports.components(plan):
        assert bool(component_ports.ports(plan, where)) != where.startswith("agent:"), where


def test_a_packet_enters_a_switch_through_one_port_only() -> None:
    ports = component_ports.ports(TWO_TIERS, "tor:tor-0")
    assert {port.node for port in ports} == {"tor-0"}
    assert len(ports) == 4 + 2


def test_one_way_over_a_link_is_left_at_its_first_end_and_entered_at_its_second() -> None:
    where = TWO_TIERS.link_id(TWO_TIERS.switch_cable(1, 2))
    first, second = (end.partition(":")[2] for end in link_ends(where))
    left, entered = component_ports.exits_and_entries(TWO_TIERS, where, "a>b")
    assert [port.node for port in left] == [first]
    assert [port.node for port in entered] == [second]
    assert component_ports.exits_and_entries(TWO_TIERS, where, "b>a")[0] == entered


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ("tor:tor-9", "no component 'tor:tor-9' here; there are tor:tor-0 … tor:tor-3"),
        ("tor-1", "an id begins with one of"),
        ("agg:agg-0", "an id begins with one of"),
    ],
)
def test_a_component_that_is_not_there_is_refused_with_those_that_are(
    where: str, complaint: str
) -> None:
    with pytest.raises(UnknownComponent, match=complaint):
        component_ports.ports(TWO_TIERS, where)
