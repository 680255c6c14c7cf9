"""A topology with IPv6 addresses in place of its IPv4 ones. No I/O."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Final

from msgspec.structs import replace

from schemas.documents.topology import Topology

_PREFIX: Final = int(IPv6Address("2001:db8::"))  # for documentation (RFC 3849)


def ipv6_of(address: str) -> str:
    """The IPv6 address that stands for an IPv4 one."""
    return str(IPv6Address(_PREFIX | int(IPv4Address(address))))


def with_ipv6(topology: Topology) -> Topology:
    """The same fabric with other addresses of rnics, endpoints and switches."""
    return replace(
        topology,
        hosts=[
            replace(
                host, rnics=[replace(each, real_ip=ipv6_of(each.real_ip)) for each in host.rnics]
            )
            for host in topology.hosts
        ],
        switches=[
            replace(each, addresses=[ipv6_of(address) for address in each.addresses])
            for each in topology.switches
        ],
        containers=[
            replace(
                box,
                endpoints=[
                    replace(each, ip=ipv6_of(each.ip), real_ip=ipv6_of(each.real_ip))
                    for each in box.endpoints
                ],
            )
            for box in topology.containers
        ],
    )
