"""Where the actions of a rule send a packet, as far as they say so. Pure.

Format: ovs-actions(7), as ``ovs-ofctl dump-flows`` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from localizer.host_evidence.printed.flow_dumps import Rule, spelled

_TUNNEL_PORT: Final = re.compile(
    r"(vx|gnv|genev|gre|erspan|tun|stt|gtpu|ovn-|br-tun|patch-tun)", re.IGNORECASE
)
_OPAQUE: Final = re.compile(
    r"(NORMAL|FLOOD|ALL|CONTROLLER|controller|group|ct\(|bundle|multipath|learn|clone|"
    r"output:NXM|output\(|enqueue|patch)"
)
_TO_TABLE: Final = re.compile(r"(?:goto_table:|resubmit\([^,()]*,)(\d+)")
_TUN_DST: Final = re.compile(
    r"set_field:([0-9A-Fa-f.:]+)->tun_(?:ipv6_)?dst|load:(0x[0-9a-f]+)->NXM_NX_TUN_IPV4_DST"
)
#: An IPv6 address is loaded in two halves.
_TUN_IPV6_PART: Final = re.compile(
    r"load:(0x[0-9a-f]{1,16}|0)->NXM_NX_TUN_IPV6_DST\[(0|64)\.\.\d+\]"
)
_OUTPUT: Final = re.compile(r'(?:output:)?"?([A-Za-z0-9_.@-]+)"?')
_BARE: Final = ("IN_PORT", "LOCAL")  # ports that are printed without "output:"


def is_tunnel(port: str) -> bool:
    """Whether a port's name is one of a tunnel, as operators and Open vSwitch give them."""
    return _TUNNEL_PORT.match(port) is not None


def is_opaque(rule: Rule) -> bool:
    """Whether a rule sends packets where its text alone does not say."""
    return any(_OPAQUE.match(each) for each in rule.actions)


def ports_of(rule: Rule) -> Iterator[str]:
    """Ports that a rule sends to."""
    for action in rule.actions:
        found = _OUTPUT.fullmatch(action)
        if found is None or _OPAQUE.match(found[1]) is not None:
            continue
        if action.startswith("output:") or found[1] in _BARE:
            yield found[1]


def tables_of(rule: Rule) -> list[int]:
    """Tables that a rule goes on in."""
    return [int(each) for action in rule.actions for each in _TO_TABLE.findall(action)]


def tunnel_to(rule: Rule) -> str:
    """Address of the tunnel's end that a rule names, in its canonical spelling; empty: none."""
    ipv6: int | None = None
    for action in rule.actions:
        if (found := _TUN_DST.search(action)) is not None:
            if found[1]:
                return spelled(found[1])
            return str(IPv4Address(int(found[2], 16) & 0xFFFFFFFF))
        if (part := _TUN_IPV6_PART.search(action)) is not None:
            ipv6 = (ipv6 or 0) | int(part[1], 16) << int(part[2])
    return "" if ipv6 is None else str(IPv6Address(ipv6))
