"""Addresses of a fabric: IPv4, or IPv6 in their place. No I/O.

underlay   10.KIND.GROUP.n     fd00:KIND:GROUP::n     n + 16: no subnet-router anycast address
overlay    172.16+RAIL.HOST.n  fd01:RAIL:HOST::n
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network
from typing import Final, NamedTuple

_FIRST: Final = 16
RNICS: Final = 1  # the kind of networks between ToRs and NICs


class Lengths(NamedTuple):
    """Prefixes: of a cable, of a rail of the overlay."""

    cable: int
    rail: int


def lengths(ipv6: bool) -> Lengths:
    """Those of addresses on interfaces."""
    return Lengths(127, 32) if ipv6 else Lengths(31, 16)


def underlay(ipv6: bool, kind: int, group: int, number: int) -> str:
    """An address on a cable; numbers 2n and 2n + 1 are its two ends."""
    if ipv6:
        return str(IPv6Address(f"fd00:{kind:x}:{group:x}::{number + _FIRST:x}"))
    return f"10.{kind}.{group}.{number}"


def overlay(ipv6: bool, rail: int, host: int, number: int) -> str:
    """A container's address."""
    if ipv6:
        return str(IPv6Address(f"fd01:{rail:x}:{host:x}::{number:x}"))
    return f"172.{16 + rail}.{host}.{number}"


def rnics_of(ipv6: bool, tor: int) -> str:
    """The network of a ToR's NICs."""
    if ipv6:
        return str(IPv6Network(f"fd00:{RNICS:x}:{tor:x}::/48"))
    return f"10.{RNICS}.{tor}.0/24"


def everything(ipv6: bool) -> str:
    """The network of all underlay addresses."""
    return "fd00::/16" if ipv6 else "10.0.0.0/8"
