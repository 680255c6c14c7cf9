"""Dumps of a real Open vSwitch as typed flows; whatever else it is, one clear error."""

from __future__ import annotations

import pytest
from builders.agents.host_evidence import HOSTS, datapath, dump
from hypothesis import given
from hypothesis import strategies as st

from localizer.host_evidence.printed.flow_dumps import NoDump, parse


@pytest.mark.parametrize("kind", ["healthy", "missing_flow", "loop"])
@pytest.mark.parametrize("host", HOSTS)
def test_every_line_of_a_real_dump_is_read(kind: str, host: str) -> None:
    text = dump(kind, host)
    found = parse(text)
    assert [each.command for each in found] == [
        line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")
    ]
    assert sum(len(each.rules) for each in found) == text.count(" actions=")
    assert sum(len(each.flows) for each in found) == text.count(", packets:")


def test_rules_have_bridge_table_priority_match_and_actions() -> None:
    first, second, flows, offloaded = parse(dump("healthy", "host-0"))
    assert (first.bridge, second.bridge) == ("br0n0", "br1n0")
    rule = next(each for each in first.rules if each.actions == ("output:c0n0",))
    assert (rule.table, rule.priority, rule.match) == (0, 10, {"dl_dst": "02:00:00:00:00:00"})
    assert (flows.of_datapath, flows.from_rnic, offloaded.from_rnic) == (True, False, True)
    assert offloaded.flows == []


def test_fields_and_actions_that_are_not_known_stay_as_they_are() -> None:
    text = (
        "NXST_FLOW reply (xid=0x4):\n"
        " cookie=0x1, duration=5.5s, table=3, n_packets=7, n_bytes=9, new_stat=1, "
        'ct_state=+trk+est,reg0=0x7,in_port="eth 0" actions=shiny(a,b(c,d)),goto_table:4\n'
    )
    ((rule,),) = [each.rules for each in parse(text)]
    assert (rule.table, rule.priority, rule.packets) == (3, 32_768, 7)
    assert rule.match == {
        "new_stat": "1", "ct_state": "+trk+est", "reg0": "0x7", "in_port": "eth 0"
    }  # fmt: skip
    assert rule.actions == ("shiny(a,b(c,d))", "goto_table:4")


def test_flows_of_a_datapath_know_their_tunnel_and_whether_they_are_offloaded() -> None:
    (found,) = parse(datapath((1, "10.0.0.1", True), (2, "10.0.0.2", False)))
    assert [(each.own_ip, each.offloaded) for each in found.flows] == [
        ("10.0.0.1", True), ("10.0.0.2", False)
    ]  # fmt: skip
    assert all(each.may_be_offloaded and each.packets == 200 for each in found.flows)
    assert "proto" not in found.flows[0].match, "its mask ignores it"


@pytest.mark.parametrize("number", [0, 1])
def test_every_line_of_a_real_dump_of_ipv6_is_read(number: int) -> None:
    text, ends = dump("ipv6", f"host-{number}"), ("fd00:1::1", "fd00:1::2")
    bridge, datapath_ = parse(text)
    assert len(bridge.rules) == text.count(" actions=") >= 7
    assert len(datapath_.flows) == text.count(", packets:") == 4
    assert "load:0xfd00000100000000->NXM_NX_TUN_IPV6_DST[64..127]" in {
        action for rule in bridge.rules for action in rule.actions
    }
    tunnelled = [flow for flow in datapath_.flows if "tunnel(" in flow.match + flow.actions]
    assert [flow.own_ip for flow in tunnelled] == [ends[number]] * 2, "in and out"
    assert "ipv6(dst=" in tunnelled[0].match, "its mask ignores the source"


@pytest.mark.parametrize(
    ("host", "shown"), [("host-0", "icmpv6(type=135)"), ("host-1", "dst=33:33:")]
)
def test_ipv6_flows_may_be_offloaded_and_those_of_neighbor_discovery_not(
    host: str, shown: str
) -> None:
    """They are told by their type, or by their group where the type is masked."""
    flows = parse(dump("ipv6", host))[1].flows
    assert [(shown in each.match, each.may_be_offloaded) for each in flows] == [
        (False, True), (True, False), (False, True), (False, True)
    ]  # fmt: skip


def test_the_end_of_a_tunnel_has_its_canonical_spelling() -> None:
    text = datapath((1, "2001:0DB8:0::7", True)).replace(",src=", ",ipv6_src=")
    assert parse(text)[0].flows[0].own_ip == "2001:db8::7"


def test_the_same_flow_has_the_same_key_whatever_it_carried() -> None:
    plain = datapath((1, "10.0.0.1", True)).replace(
        "ufid:00000001-1111-2222-3333-444444444444, ", ""
    )
    later = plain.replace("packets:200", "packets:900").replace("used:0.360s", "used:0.010s")
    assert parse(plain)[0].flows[0].key == parse(later)[0].flows[0].key


def test_a_table_without_rules_is_a_dump_too() -> None:
    assert parse("NXST_FLOW reply (xid=0x4):\n")[0].rules == []
    assert parse("$ /usr/bin/ovs-ofctl dump-flows br0\n")[0].rules == []


@pytest.mark.parametrize(
    "text", ["", "\n", "hello", "$ /bin/true\n", "Chain INPUT (policy ACCEPT)"]
)
def test_a_text_that_is_no_dump_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(NoDump, match="give ovs-ofctl dump-flows BRIDGE") as why:
        parse(text)
    assert "\n" not in str(why.value)


@given(
    st.text(
        alphabet=st.sampled_from("table=0,priority(5) actions=output:\n$ :/packets,recirc_"),
        max_size=300,
    )
)
def test_whatever_is_printed_is_a_dump_or_refused(text: str) -> None:
    try:
        parse(text)
    except NoDump:
        return
