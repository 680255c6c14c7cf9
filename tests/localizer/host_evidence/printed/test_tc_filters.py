"""Filters as `tc -s filter show dev DEVICE ingress` prints them, in place of a datapath's dump.

Shapes written after iproute2's printing: no rnic of the test machine offloads flows, and its kernel
has no flower filters (``builders.agents.host_evidence``)."""

from __future__ import annotations

import pytest
from builders.agents.host_evidence import tc_filters
from hypothesis import given
from hypothesis import strategies as st

from localizer.host_evidence.finding import Question
from localizer.host_evidence.flow_rules import about_forwarding, about_offloading
from localizer.host_evidence.printed.flow_dumps import NoDump, parse

VSWITCH = "vswitch:h1"
R1, R2 = "10.0.0.1", "10.0.0.2"
SLOW = Question(VSWITCH, (VSWITCH, "container:c1"), "high_latency")

INCOMING = """\
filter protocol ipv6 pref 3 flower chain 2 handle 0x1
  dst_mac 02:00:00:00:00:01
  eth_type ipv6
  enc_dst_ip 2001:db8::1
  enc_src_ip 2001:db8::2
  enc_key_id 100
  enc_dst_port 4789
  skip_sw
  in_hw in_hw_count 2
\taction order 1: tunnel_key  unset pipe
\tSent 980 bytes 10 pkt (dropped 0, overlimits 0 requeues 0)
\taction order 2: mirred (Egress Redirect to device pf0vf0) stolen
\tSent 980 bytes 10 pkt (dropped 0, overlimits 0 requeues 0)
"""


def decided(*texts: str, question: Question = SLOW) -> tuple[str, str] | None:
    readings = [(parse(text), True) for text in texts]
    found = about_offloading(question, "h1", {"h1": readings})
    return None if found is None else (found.component, str(found.issue_type))


def test_a_filter_is_a_flow_of_the_datapath_that_says_where_it_is() -> None:
    (dump,) = parse(tc_filters((1, R1, True), (2, R2, False)))
    assert (dump.of_datapath, dump.rules) == (True, [])
    first, second = dump.flows
    assert (first.offloaded, first.packets, first.own_ip) == (True, 200, R1)
    assert (second.offloaded, second.own_ip, second.may_be_offloaded) == (False, R2, True)
    assert first.key == "cookie:00000001111122223333444444444444", "Open vSwitch's id of the flow"
    assert first.match.startswith("dst_mac 02:00:00:01:00:01,src_mac 02:00:00:00:00:01,eth_type")


def test_an_incoming_tunnel_ends_at_the_own_address_and_may_be_of_ipv6() -> None:
    (dump,) = parse("$ tc -s filter show dev vxlan_sys_4789 ingress\n" + INCOMING)
    (flow,) = dump.flows
    assert (flow.own_ip, flow.offloaded, flow.packets) == ("2001:db8::1", True, 10)
    assert flow.key == "vxlan_sys_4789 pref 3 chain 2 handle 0x1", "without a cookie: its place"
    assert flow.may_be_offloaded


@pytest.mark.parametrize(
    ("texts", "issue_type"),
    [
        ([tc_filters((1, R1, False), (2, R2, False))], "not_using_rdma"),
        ([tc_filters((1, R1, True), (2, R2, False))], "suboptimal_flow_offloading"),
        (
            [tc_filters((1, R1, True)), tc_filters((1, R1, False), packets=300)],
            "repetitive_flow_offloading",
        ),
    ],
)
def test_filters_that_are_not_in_hardware_name_the_type(texts: list[str], issue_type: str) -> None:
    assert decided(*texts) == (VSWITCH, issue_type)


def test_a_tunnel_between_ipv6_addresses_leaves_by_the_rnic_that_has_the_source() -> None:
    r1, r2 = "2001:db8::1", "2001:db8::2"
    text = tc_filters((1, r1, True), (2, r2, False), (3, r2, False), peer="2001:db8::9")
    text = text.replace("protocol ip pref", "protocol ipv6 pref").replace("eth_type ipv4",
        "eth_type ipv6\n  ip_proto udp\n  dst_ip fd01:0:1::/64")  # fmt: skip
    (dump,) = parse(text)
    assert [flow.own_ip for flow in dump.flows] == [r1, r2, r2]
    assert all(flow.may_be_offloaded for flow in dump.flows)
    slow = Question(f"rnic:{r2}", (f"rnic:{r2}",), "high_latency")
    assert decided(text, question=slow) == (f"rnic:{r2}", "offloading_failure")


def test_filters_of_neighbor_discovery_are_not_expected_in_the_rnic() -> None:
    text = tc_filters((1, R1, False)).replace(
        "eth_type ipv4", "eth_type ipv6\n  ip_proto icmpv6\n  icmp_type 135"
    )
    (dump,) = parse(text)
    assert not dump.flows[0].may_be_offloaded
    assert decided(text) is None


def test_filters_of_several_devices_are_one_table() -> None:
    """Of one rnic nothing is offloaded; of the other all is."""
    text = tc_filters((1, R1, True)) + tc_filters((2, R2, False), (3, R2, False), device="pf1vf0")
    slow = Question(f"rnic:{R2}", (f"rnic:{R2}",), "high_latency")
    assert decided(text, question=slow) == (f"rnic:{R2}", "offloading_failure")


def test_filters_that_agree_decide_nothing() -> None:
    assert decided(tc_filters((1, R1, True), (2, R2, True))) is None


def test_other_filters_and_an_empty_list_hold_no_flows() -> None:
    other = "filter protocol all pref 1 bpf chain 0 handle 0x1 in_hw\n  not_in_hw\n"
    for text in ("$ /usr/sbin/tc -s filter show dev pf0vf0 ingress\n", other):
        (dump,) = parse(text)
        assert (dump.flows, dump.of_datapath) == ([], True)
    dropped = "filter protocol ip pref 1 flower chain 0 handle 0x1\n  eth_type ipv4\n  not_in_hw\n"
    (dump,) = parse(dropped + "\taction order 1: gact action drop\n")
    assert not dump.flows[0].may_be_offloaded


def test_a_list_of_filters_is_no_bridge_without_rules() -> None:
    """Its host's chain is not broken because it has no rule for a container."""
    tie = ("container:c1", VSWITCH)
    readings = {"h1": (parse(tc_filters((1, R1, True))), True)}
    assert about_forwarding(Question(tie[0], tie, "unconnectivity"), "h1", readings, {}) is None


LINES = [*tc_filters((1, R1, True)).splitlines(), *INCOMING.splitlines()]


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=20)), max_size=30), st.data())
def test_whatever_is_printed_is_read_or_refused(lines: list[str], data: st.DataObject) -> None:
    cut = [line[: data.draw(st.integers(1, 60))] for line in lines]
    try:
        dumps = parse("\n".join(["filter protocol ip pref 2 flower chain 0 handle 0x1", *cut]))
    except NoDump:
        return
    assert all(flow.packets >= 0 for dump in dumps for flow in dump.flows)
