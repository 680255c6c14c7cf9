"""The forwarding chain of the overlay: what walks find in dumps of a real Open vSwitch, and not."""

from __future__ import annotations

import pytest
from builders.agents.host_evidence import HOSTS, dump

from localizer.host_evidence.flow_match import Lookup, lookup
from localizer.host_evidence.forwarding import Overlay, VSwitch
from localizer.host_evidence.printed.flow_dumps import Rule, parse

M0, M1, M2 = (f"02:00:00:0{n}:00:00" for n in range(3))


def vswitch(host: str, text: str, *, bridge: str = "br0", whole: bool = True) -> VSwitch:
    tables: dict[int, list[Rule]] = {}
    for rule in (rule for each in parse(text) for rule in each.rules):
        tables.setdefault(rule.table, []).append(rule)
    return VSwitch(host, bridge, tables, whole)


def real(kind: str, hosts: tuple[str, ...] = HOSTS) -> Overlay:
    made = []
    for host in hosts:
        for each in parse(dump(kind, host)):
            if each.bridge:
                tables: dict[int, list[Rule]] = {}
                for rule in each.rules:
                    tables.setdefault(rule.table, []).append(rule)
                made.append(VSwitch(host, each.bridge, tables))
    return Overlay(made)


def rules(*lines: str) -> str:
    return "".join(f" cookie=0x0, duration=1s, {line}\n" for line in lines)


def to(mac: str, port: str) -> str:
    return f"table=0, priority=10,dl_dst={mac} actions=output:{port}"


def test_healthy_tables_are_whole() -> None:
    assert [real("healthy").broken(host) for host in HOSTS] == [[], [], []]


def test_flows_that_are_missing_are_named_where_they_are_missing() -> None:
    found = real("missing_flow")
    assert sorted(map(str, found.broken("host-0"))) == [
        f"vswitch host-0, bridge br{tenant}n0, table 0: no rule for "
        f"dl_dst=02:00:00:0{host}:00:0{tenant}"
        for tenant in (0, 1)
        for host in (1, 2)
    ]
    assert found.broken("host-1") + found.broken("host-2") == []


def test_one_peer_s_table_is_enough_to_miss_the_way_to_it() -> None:
    found = real("missing_flow", ("host-0", "host-2")).broken("host-0")
    assert {each.address[1] for each in found} == {M2, "02:00:00:02:00:01"}
    assert real("missing_flow", ("host-0",)).broken("host-0") == [], "nothing says what is missing"


def test_flows_that_send_packets_back_into_the_tunnel_are_a_loop() -> None:
    found = real("loop")
    assert {each.outcome for each in found.broken("host-0")} == {"loop"}
    assert "in_port=vx0n0" in str(found.broken("host-0")[0])
    assert "sends packets back in a loop" in str(found.broken("host-0")[0])
    assert found.broken("host-1") + found.broken("host-2") == []
    assert [each.outcome for each in real("loop", ("host-0",)).broken("host-0")] == ["loop"] * 4


def test_a_cut_dump_misses_no_rule() -> None:
    there = vswitch("b", rules(to(M1, "c1"), to(M0, "vxlan0")))
    here = rules(to(M0, "c0"))
    assert len(Overlay([vswitch("a", here), there]).broken("a")) == 1
    assert Overlay([vswitch("a", here, whole=False), there]).broken("a") == []


def test_vswitches_that_send_to_each_other_are_a_loop_where_the_packet_turns() -> None:
    def away(end: str, port: str) -> str:
        return f"table=0, priority=9,dl_dst={M2} actions=set_field:{end}->tun_dst,output:{port}"

    a = vswitch("a", rules(to(M0, "c0"), away("10.0.0.2", "vx-b"), to(M1, "vx-b")))
    b = vswitch("b", rules(to(M1, "c1"), away("10.0.0.1", "vx-a"), to(M0, "vx-c")))
    c = vswitch("c", rules(to(M2, "c2"), to(M0, "vxlan0"), to(M1, "vxlan0")))
    hosts = {"10.0.0.1": "a", "10.0.0.2": "b", "10.0.0.3": "c"}
    found = Overlay([a, b, c], hosts)
    assert found.walk(a, "c0", ("dl_dst", M2)).outcome == "loop"
    assert ["->tun_dst" in str(each) for each in found.broken("b")] == [True]
    assert ["->tun_dst" in str(each) for each in found.broken("a")] == [True], "of packets from b"
    assert found.broken("c") == []


def test_tables_that_send_to_each_other_are_a_loop() -> None:
    a = vswitch("a", rules(
        "table=0, priority=1 actions=resubmit(,1)", "table=1, priority=1 actions=resubmit(,0)"
    ))  # fmt: skip
    assert Overlay([a]).walk(a, "c0", ("dl_dst", M1)).outcome == "loop"


def test_a_packet_is_followed_through_tables_and_by_the_tunnel_s_end_that_a_rule_names() -> None:
    a = vswitch("a", rules(
        to(M0, "c0"),
        "table=0, priority=5,ip,in_port=c0 actions=load:0x1->NXM_NX_REG0[],resubmit(,20)",
        f"table=20, priority=9,dl_dst={M1} actions=load:0xa000002->NXM_NX_TUN_IPV4_DST[],output:7",
    ))  # fmt: skip
    b = vswitch("b", rules(to(M1, "c1"), to(M0, "vxlan0")))
    walk = Overlay([a, b], {"10.0.0.2": "b"}).walk(a, "c0", ("dl_dst", M1))
    assert walk.outcome == "delivered"
    assert [(hop.vswitch.host, hop.table) for hop in walk.hops] == [("a", 0), ("a", 20), ("b", 0)]


@pytest.mark.parametrize(
    "action", ["NORMAL", "group:3", "ct(table=4)", "learn(table=1)", "output:1,output:2"]
)
def test_what_the_tables_do_not_say_is_no_finding(action: str) -> None:
    a = vswitch("a", rules(to(M0, "c0"), f"table=0, priority=1 actions={action}"))
    b = vswitch("b", rules(to(M1, "c1"), to(M0, "vxlan0")))
    assert Overlay([a, b]).broken("a") == []


def test_a_rule_that_drops_what_must_arrive_is_named() -> None:
    a = vswitch("a", rules(to(M0, "c0"), "table=0, priority=0 actions=drop"))
    b = vswitch("b", rules(to(M1, "c1"), to(M0, "vxlan0")))
    (found,) = Overlay([a, b]).broken("a")
    assert str(found) == (
        "vswitch a, bridge br0, table 0: the rule 'table=0,priority=0 actions=drop' drops packets"
    )


def test_the_first_rule_by_priority_counts_unless_it_depends_on_what_is_not_known() -> None:
    (dump_,) = parse(rules(
        f"table=0, priority=10,dl_dst={M1} actions=output:a",
        f"table=0, priority=20,dl_dst={M1},arp actions=output:b",
        "table=0, priority=1 actions=output:c",
    ))  # fmt: skip
    packet = {"dl_dst": M1, "in_port": "p"}
    found = lookup(dump_.rules, packet)
    assert isinstance(found, Rule)
    assert found.actions == ("output:a",)
    (tracked,) = parse(rules(f"table=0, priority=30,ct_state=+new,dl_dst={M1} actions=drop"))
    assert lookup([*dump_.rules, *tracked.rules], packet) is Lookup.UNKNOWN
    masked = parse(rules("table=0, dl_dst=02:00:00:00:00:00/ff:00:00:00:00:00 actions=output:d"))
    assert isinstance(lookup(masked[0].rules, packet), Rule)
    assert lookup(masked[0].rules, {"dl_dst": "04:00:00:00:00:01"}) is Lookup.MISS


# --- IPv6 ----------------------------------------------------------------------------------------

ENDS = {"fd00:1::1": "host-0", "fd00:1::2": "host-1"}


def ipv6(replaced: str = "", by: str = "") -> Overlay:
    """Two vSwitches with IPv6 in container and tunnel addresses, recorded (``record_ipv6.sh``)."""
    made = []
    for host in ("host-0", "host-1"):
        text = dump("ipv6", host)
        made.append(vswitch(host, text.replace(replaced, by) if replaced else text))
    return Overlay(made, ENDS)


def test_ipv6_rules_with_a_prefix_and_tunnels_between_ipv6_addresses_are_followed() -> None:
    found = ipv6()
    start, far = found.vswitches
    walk = found.walk(start, "c0", ("ipv6_dst", "fd01:0:1::1"))
    assert walk.outcome == "delivered"
    assert [(hop.vswitch.host, hop.table) for hop in walk.hops] == [
        ("host-0", 0), ("host-0", 10), ("host-1", 0), ("host-1", 10)
    ]  # fmt: skip
    assert found.walk(far, "c1", ("ipv6_dst", "fd01::1")).outcome == "delivered"
    assert found.broken("host-0") == []


def test_an_ipv6_rule_with_a_mask_that_drops_what_must_arrive_is_named() -> None:
    """It is for one address of every /64 of the site, and has the higher priority."""
    (found,) = ipv6().broken("host-1")
    assert found.address == ("ipv6_dst", "fd01::2")
    assert str(found) == (
        "vswitch host-1, bridge br0, table 10: the rule 'table=10,priority=14,ipv6,"
        "ipv6_dst=fd01::2/ffff:ffff:ffff::ffff actions=drop' drops packets"
    )


def test_an_ipv6_prefix_that_is_not_the_peer_s_is_a_missing_rule() -> None:
    wrong = ipv6("ipv6_dst=fd01:0:1::/48", "ipv6_dst=fd01:0:2::/48")
    assert [str(each) for each in wrong.broken("host-0")] == [
        "vswitch host-0, bridge br0, table 10: no rule for ipv6_dst=fd01:0:1::1"
    ]


@pytest.mark.parametrize(
    "action",
    [
        "set_field:fd00:1::2->tun_ipv6_dst",
        "set_field:FD00:1:0::2->tun_ipv6_dst",
        "load:0x2->NXM_NX_TUN_IPV6_DST[0..63],load:0xfd00000100000000->NXM_NX_TUN_IPV6_DST[64..127]",
    ],
)
def test_a_tunnel_to_an_ipv6_address_ends_at_the_host_that_has_it(action: str) -> None:
    m = "table=0, priority=10,ipv6,ipv6_dst=fd01:0:1::1 actions="
    a = vswitch("host-0", rules(f"{m}{action},output:vx0"))
    b = vswitch("host-1", rules(f"{m}output:c0"))
    c = vswitch("host-2", rules(f"{m}output:c7"))
    walk = Overlay([a, b, c], ENDS).walk(a, "c0", ("ipv6_dst", "fd01:0:1::1"))
    assert [hop.vswitch.host for hop in walk.hops] == ["host-0", "host-1"]
    elsewhere = Overlay([a, b, c], {"fd00:1::3": "host-1"})
    assert elsewhere.walk(a, "c0", ("ipv6_dst", "fd01:0:1::1")).outcome == "unknown"


def flagged(*flags: str) -> str:
    """A table that sends each IP version to the container of M0 by a rule of its own."""
    return rules(*(f"table=0, priority=10,{flag}dl_dst={M0} actions=output:c0" for flag in flags))


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        ((f"ipv6,dl_dst={M1} actions=output:vx0",), "delivered"),
        ((f"udp6,dl_dst={M1} actions=output:vx0",), "delivered"),
        ((f"ipv6,dl_dst={M1} actions=drop",), "dropped"),
        ((f"ip,dl_dst={M1} actions=output:vx0", f"ipv6,dl_dst={M1} actions=drop"), "unknown"),
        ((f"ip,dl_dst={M1} actions=drop", f"ipv6,dl_dst={M1} actions=drop"), "dropped"),
        ((f"ip,dl_dst={M1} actions=output:vx0", f"ipv6,dl_dst={M1} actions=output:vx0"),
         "delivered"),
    ],
)  # fmt: skip
def test_between_hardware_addresses_what_holds_for_every_ip_version_of_the_tables_is_found(
    lines: tuple[str, ...], outcome: str
) -> None:
    a = vswitch("a", flagged("") + rules(*(f"table=0, priority=9,{line}" for line in lines)))
    b = vswitch("b", rules(to(M1, "c1"), to(M0, "vxlan0")))
    found = Overlay([a, b])
    assert found.walk(a, "c0", ("dl_dst", M1)).outcome == outcome
    assert len(found.broken("a")) == (outcome == "dropped")
