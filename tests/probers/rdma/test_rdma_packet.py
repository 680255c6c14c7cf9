"""RDMA probes: the six stamps, addresses, the layout of a receive buffer."""

from __future__ import annotations

import struct
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.rdma.packet import (
    GRH_BYTES,
    QpAddress,
    RdmaRoundTrip,
    Stamps,
    flow_label,
    ip_of_gid,
    parse_address,
    round_trip,
    source_ip,
    source_port,
)

TIMES = st.integers(min_value=0, max_value=10**9)


def test_the_round_trip_is_what_neither_host_spent() -> None:
    #       t1   t2     t3      t4      t5      t6
    seen = Stamps(0, 4_000, 70_000, 79_000, 24_000, 30_000)
    assert seen.rtt == (24_000 - 4_000) - (79_000 - 70_000) == 11_000
    assert round_trip(seen) == RdmaRoundTrip(
        rtt_us=11.0, prober_us=10.0, responder_us=9.0, consistent=True
    )


@given(st.lists(TIMES, min_size=5, max_size=5), st.integers(-(10**15), 10**15))
def test_the_three_shares_add_up_to_the_elapsed_time_whatever_the_clocks_difference(
    steps: list[int], skew: int
) -> None:
    """The prober's and the responder's share and the network's make up all the time that passed."""
    posting, out, answering, back, noticing = steps
    t2, t3 = posting, posting + out
    t4, t5 = t3 + answering, t3 + answering + back
    seen = Stamps(0, t2, t3 + skew, t4 + skew, t5, t5 + noticing)
    assert seen.rtt == out + back
    assert seen.rtt + seen.prober_delay + seen.responder_delay == seen.t6 - seen.t1


@pytest.mark.parametrize(
    "contradicting",
    [
        Stamps(0, 25_000, 70_000, 79_000, 24_000, 30_000),  # asked after the answer
        Stamps(0, 4_000, 70_000, 99_000, 24_000, 30_000),  # answering took longer than everything
        Stamps(0, 4_000, 79_000, 70_000, 24_000, 30_000),  # answered before it arrived
    ],
)
def test_inconsistent_stamps_give_the_elapsed_time_as_round_trip(
    contradicting: Stamps,
) -> None:
    assert round_trip(contradicting) == RdmaRoundTrip(30.0, None, None, consistent=False)


def test_an_address_is_parsed_printed_and_mapped_to_its_gid_and_back() -> None:
    address = parse_address("10.0.0.2/17")
    assert address == QpAddress("10.0.0.2", 17)
    assert str(address) == "10.0.0.2/17"
    assert address.gid == "0000:0000:0000:0000:0000:ffff:0a00:0002"
    assert ip_of_gid(address.gid) == "10.0.0.2"


@pytest.mark.parametrize(
    ("text", "gid"),
    [
        ("2001:db8::7", "2001:0db8:0000:0000:0000:0000:0000:0007"),
        ("fd00:1:2::a00:5", "fd00:0001:0002:0000:0000:0000:0a00:0005"),
    ],
)
def test_a_global_or_unique_local_ipv6_address_is_its_own_gid(text: str, gid: str) -> None:
    address = parse_address(f"{text}/17")
    assert (address, str(address), address.ipv6) == (QpAddress(text, 17), f"{text}/17", True)
    assert address.gid == gid
    assert ip_of_gid(gid) == text
    assert parse_address(f"{gid}/17") == address, "one spelling: packets are authenticated for it"


def test_a_link_local_gid_has_no_address_unless_it_is_asked_for() -> None:
    gid = "fe80:0000:0000:0000:5054:00ff:fe12:3456"
    assert ip_of_gid(gid) is None
    assert ip_of_gid(gid, link_local=True) == "fe80::5054:ff:fe12:3456"


@pytest.mark.parametrize("gid", ["::", "::1", "ff02::1"])
def test_a_gid_that_no_host_has_is_no_address(gid: str) -> None:
    assert ip_of_gid(gid, link_local=True) is None


@pytest.mark.parametrize("text", ["10.0.0.2", "10.0.0.2/", "10.0.0.2/0", "host/17", "10.0.0.2/1x",
                                  f"10.0.0.2/{2**24}", "fd00::2", "fe80::2%eth0/17",
                                  "::ffff:10.0.0.2/17"])  # fmt: skip
def test_an_invalid_address_is_an_error_that_shows_a_valid_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"give ADDRESS/QPN such as 10\.0\.0\.2/17") as caught:
        parse_address(text)
    assert repr(text) in str(caught.value)


IPV4_HEADER = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 132, 0, 0, 64, 17, 0,
                          bytes([10, 1, 0, 1]), bytes([10, 1, 1, 1]))  # fmt: skip


def ipv6_header(source: str) -> bytes:
    words = 6 << 28 | 104 << 20 | 0x12345, 112, 17, 64
    ends = IPv6Address(source).packed, IPv6Address("fd00::2").packed
    return struct.pack("!IHBB16s16s", *words, *ends)


def test_the_sender_is_read_from_the_ipv4_header_in_the_last_20_bytes() -> None:
    assert source_ip(bytes(20) + IPV4_HEADER + b"payload") == "10.1.0.1"
    assert source_ip(bytes([0x60]) + bytes(GRH_BYTES - 1)) is None, "an IPv6 header fills all 40"
    assert source_ip(b"") is None


@pytest.mark.parametrize("source", ["2001:db8::7", "fd00:0:1::1", "fe80::5054:ff:fe12:3456"])
def test_the_sender_is_read_from_the_ipv6_header_in_all_40_bytes(source: str) -> None:
    header = ipv6_header(source)
    assert len(header) == GRH_BYTES
    assert source_ip(header + b"payload", ipv6=True) == source
    assert source_ip(header[:-1], ipv6=True) is None


def test_a_message_of_the_other_ip_version_has_no_sender() -> None:
    """What is before a header of IPv4 is undefined: it may be the rest of one of IPv6."""
    assert source_ip(ipv6_header("fd00::1") + b"payload") is None
    assert source_ip(bytes(20) + IPV4_HEADER + b"payload", ipv6=True) is None
    rest = ipv6_header("fd00::1")[:20]
    assert source_ip(rest + IPV4_HEADER + b"payload") == "10.1.0.1"


def test_every_queue_pair_has_a_source_port_of_its_own_above_49151() -> None:
    ports = [source_port(qpn) for qpn in range(17, 117)]
    assert len(set(ports)) == len(ports)
    assert all(49152 <= port <= 65535 for port in ports)
    assert source_port(1) == 49152 + (0x61C88647 >> 18)


def linux_source_port(label: int) -> int:
    """rdma_flow_label_to_udp_sport in include/rdma/ib_verbs.h."""
    return (label & 0x3FFF ^ (label & 0xFC000) >> 14) | 0xC000


@given(st.integers(49152, 65535))
def test_a_device_makes_the_same_source_port_of_the_flow_label(port: int) -> None:
    assert 0 < flow_label(port) < 2**20
    assert linux_source_port(flow_label(port)) == port
