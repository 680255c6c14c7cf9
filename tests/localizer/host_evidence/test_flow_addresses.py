"""IPv4 and IPv6 addresses of rules: masks, one spelling, the versions of a table."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network

import pytest
from builders.agents.host_evidence import dump
from hypothesis import given
from hypothesis import strategies as st

from localizer.host_evidence.flow_addresses import IPV4, IPV6, agrees, one_address, versions
from localizer.host_evidence.flow_match import destination, matches
from localizer.host_evidence.printed.flow_dumps import Rule, parse

ADDRESSES = st.integers(0, 2**128 - 1)


@pytest.mark.parametrize(
    ("value", "own", "expected"),
    [
        ("2001:db8::7", "2001:db8::7", True),
        ("2001:0DB8:0::7", "2001:db8::7", True),
        ("2001:db8::7", "2001:db8::8", False),
        ("fd01:0:1::/48", "fd01:0:1::9", True),
        ("fd01:0:1::/48", "fd01:0:2::9", False),
        ("::/0", "fd01::1", True),
        ("fd01::2/ffff:ffff:ffff::ffff", "fd01:0:0:7::2", True),
        ("fd01::2/ffff:ffff:ffff::ffff", "fd01:0:0:7::3", False),
        ("10.0.0.0/8", "10.9.9.9", True),
        ("172.16.0.1/255.255.0.255", "172.16.9.1", True),
        ("172.16.0.1/255.255.0.255", "172.16.9.2", False),
        ("0.0.9.9/0.0.255.255", "10.0.9.9", True),  # no mask of a host's part: bits that count
        ("10.0.0.1", "fd01::1", False),
        ("fd01::/129", "fd01::1", None),
        ("fd01::/255.0.0.0", "fd01::1", None),
        ("NXM_NX_REG0[]", "fd01::1", None),
    ],
)
def test_an_address_agrees_with_a_masked_one(value: str, own: str, expected: bool | None) -> None:
    assert agrees(value, own) is expected


@given(ADDRESSES, ADDRESSES, st.integers(0, 128))
def test_a_prefix_agrees_as_a_network_contains(one: int, other: int, length: int) -> None:
    network = IPv6Network((one, length), strict=False)
    for number in (other, int(network[0]), int(network[-1])):
        address = IPv6Address(number)
        assert agrees(f"{IPv6Address(one)}/{length}", str(address)) is (address in network)
        assert agrees(f"{IPv6Address(one)}/{network.netmask}", str(address)) is (address in network)


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("2001:DB8::0:7", "2001:db8::7"),
        ("fd01::1/128", "fd01::1"),
        ("10.0.0.1/32", "10.0.0.1"),
        ("10.0.0.1/255.255.255.255", "10.0.0.1"),
        ("fd01::/64", ""),
        ("ff02::1", ""),
        ("224.0.0.1", ""),
        ("?", ""),
    ],
)
def test_a_rule_for_one_address_is_not_one_for_many(value: str, address: str) -> None:
    field = "ipv6_dst" if ":" in value else "nw_dst"
    assert one_address(value) == address
    rule = Rule(0, 1, {"ip": "", field: value}, ())
    assert destination(rule) == ((field, address) if address else None)


def test_rules_match_packets_of_their_ip_version_only() -> None:
    (rules,) = [each.rules for each in parse(dump("ipv6", "host-0")) if each.rules]
    packet = {"dl_type": IPV6, "ipv6_dst": "fd01:0:1::9"}
    found = {str(rule): matches(rule, packet) for rule in rules}
    known = {text.partition(" actions=")[0]: each for text, each in found.items()}
    assert known == {
        "table=0,priority=20,icmp6,icmp_type=135": False,
        "table=0,priority=10,udp6": True,
        "table=0,priority=1,tcp6": False,
        "table=10,priority=20,ipv6,ipv6_dst=fd01::1": False,
        "table=10,priority=20,ipv6,ipv6_dst=fd01::2": False,
        "table=10,priority=20,ipv6,ipv6_dst=fd01:0:1::2": False,
        "table=10,priority=15,ipv6,ipv6_dst=fd01:0:1::/48": True,
        "table=20,priority=6,ipv6,ipv6_src=fd02::/16": None,
        "table=10,priority=5,ip,nw_dst=172.16.0.0/255.255.0.255": False,
    }
    by_number = Rule(0, 1, {"dl_type": "0x86dd", "nw_proto": "17"}, ())
    assert matches(by_number, packet) is True
    assert matches(by_number, {"nw_dst": "10.0.0.1"}) is False
    assert matches(Rule(0, 1, {"ipv6_dst": "::/0"}, ()), {"nw_dst": "10.0.0.1"}) is False
    assert matches(Rule(0, 1, {"nw_dst": "0.0.0.0/0"}, ()), packet) is False


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], (IPV4,)),
        (["arp", "icmp6"], (IPV4,)),
        (["ip", "icmp6"], (IPV4,)),
        (["udp6", "tcp"], (IPV6,)),
        (["ipv6", "udp"], (IPV4, IPV6)),
    ],
)
def test_the_versions_of_probes_are_those_that_rules_tell_apart(
    flags: list[str], expected: tuple[str, ...]
) -> None:
    assert versions(Rule(0, 1, {flag: ""}, ()) for flag in flags) == expected
