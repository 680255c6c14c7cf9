"""IP addresses in the matches of rules: masks, and the IP versions that probes may have. Pure.

Open vSwitch prints a mask that is no prefix as an address: 10.0.0.1/255.0.255.0, or
fd01::2/ffff:ffff:ffff::ffff.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from localizer.host_evidence.printed.flow_dumps import Rule

#: Values of ``dl_type``.
IPV4: Final = "0x0800"
IPV6: Final = "0x86dd"
#: Flags of matches that a probe's packet has, which is UDP.
FLAGS: Final = {IPV4: frozenset({"ip", "udp"}), IPV6: frozenset({"ipv6", "udp6"})}
#: Fields that are addresses, and the version in whose packets they are.
FIELDS: Final = {"nw_src": IPV4, "nw_dst": IPV4, "ipv6_src": IPV6, "ipv6_dst": IPV6}


def agrees(value: str, own: str) -> bool | None:
    """Whether an address is that of a match, which may have a mask; None: it cannot be read."""
    wanted, slash, mask = value.partition("/")
    try:
        here, there = ip_address(own), ip_address(wanted)
        bits = _mask(mask, here) if slash else -1
    except ValueError:
        return None
    return here.version == there.version and int(here) & bits == int(there) & bits


def one_address(value: str) -> str:
    """The address of a match in its canonical spelling; empty where the match is for many, or for
    a group."""
    plain, slash, mask = value.partition("/")
    try:
        address = ip_address(plain)
        whole = not slash or _mask(mask, address) == (1 << address.max_prefixlen) - 1
    except ValueError:
        return ""
    return str(address) if whole and not address.is_multicast else ""


def versions(rules: Iterable[Rule]) -> tuple[str, ...]:
    """The IP versions that a probe between hardware addresses may have, as ``dl_type``.

    Those that rules tell apart; where no rule does, packets of both go the same way.
    """
    seen = {field for rule in rules for field, value in rule.match.items() if not value}
    return tuple(version for version, flags in FLAGS.items() if seen & flags) or (IPV4,)


def _mask(text: str, of: IPv4Address | IPv6Address) -> int:
    """A mask as a number; raises ValueError."""
    bits = of.max_prefixlen
    if not text.isdecimal():
        mask = ip_address(text)
        if mask.version != of.version:
            raise ValueError(f"{text!r} is no mask of {of}")
        return int(mask)
    if len(text) > 3 or int(text) > bits:
        raise ValueError(f"{text!r} is no length of a prefix")
    return (1 << bits) - (1 << bits - int(text))
