"""Which interface has which address, as the kernel lists it."""

from __future__ import annotations

from probers.throughput.interfaces import by_address, interfaces_6

LISTED = """\
20010db8000000000000000000000007 02 40 00 80     eth0
00000000000000000000000000000001 01 80 10 80       lo
a line that is cut
"""


def test_ipv6_addresses_are_in_their_one_spelling() -> None:
    assert interfaces_6(LISTED) == {"2001:db8::7": "eth0", "::1": "lo"}


def test_loopback_has_its_addresses_of_both_versions() -> None:
    found = by_address()
    assert found["127.0.0.1"] == found["::1"] == "lo"
