"""IP addresses as names: one spelling each, by which components are told apart. No I/O."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def canonical(text: str) -> str:
    """An IPv4 or IPv6 address in its one spelling (RFC 5952); raises ValueError when it is none
    that a packet can be sent to from anywhere."""
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"{text!r} is an address of one link only")
        if address.ipv4_mapped is not None:
            raise ValueError(f"{text!r} is an IPv4 address; write {address.ipv4_mapped}")
    return str(address)


def misspelt(name: str) -> str:
    """The canonical spelling of a name that is an IPv6 address in another one; else empty."""
    if ":" not in name:
        return ""
    try:
        spelling = canonical(name)
    except ValueError:  # no address: any other name
        return ""
    return spelling if spelling != name else ""
