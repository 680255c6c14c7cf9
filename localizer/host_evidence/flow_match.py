"""Which rule of a table a packet meets, as far as the packet is known. Pure.

Probes are UDP over IPv4 or IPv6 (``dl_type`` of the packet, else IPv4), so rules about ARP, TCP or
the other version are none of theirs. A field that nothing is
known of (a register, a connection's state) may match or not: where that matters, the answer is
``UNKNOWN``, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from localizer.host_evidence import flow_addresses
from localizer.host_evidence.flow_addresses import FIELDS, FLAGS, IPV4
from localizer.host_evidence.printed.flow_dumps import Rule

#: Field -> value; see ``ovs-fields(7)``.
Packet = Mapping[str, str]


class Lookup(Enum):
    """What there is besides a rule."""

    MISS = "no rule matches"
    UNKNOWN = "it depends on what is not known of the packet"


_OTHERS: Final = frozenset({
    "arp", "rarp", "icmp", "tcp", "sctp", "icmp6", "tcp6", "sctp6", *FLAGS[IPV4],
    *FLAGS[flow_addresses.IPV6],
})  # fmt: skip
_ALIAS: Final = {
    "eth_dst": "dl_dst", "eth_src": "dl_src", "ip_dst": "nw_dst", "ip_src": "nw_src",
    "eth_type": "dl_type", "ip_proto": "nw_proto", "tunnel_id": "tun_id",
}  # fmt: skip
_UDP: Final = 17


def lookup(rules: Sequence[Rule], packet: Packet) -> Rule | Lookup:
    """The rule of one table that a packet meets.

    rules  of the table, in any order; of equal priority the first one counts, as printed
    """
    doubted: Rule | None = None
    for rule in sorted(rules, key=lambda each: -each.priority):
        agrees = matches(rule, packet)
        if agrees is False:
            continue
        if doubted is not None and doubted.actions != rule.actions:
            return Lookup.UNKNOWN
        if agrees:
            return rule
        doubted = rule
    return Lookup.MISS if doubted is None else Lookup.UNKNOWN


def matches(rule: Rule, packet: Packet) -> bool | None:
    """Whether a rule matches a packet; None: that depends on what is not known."""
    certain = True
    for field, value in rule.match.items():
        agrees = _agrees(canonical(field), value, packet)
        if agrees is False:
            return False
        certain = certain and agrees is True
    return True if certain else None


def canonical(field: str) -> str:
    """A field by the name that ``ovs-ofctl dump-flows`` prints mostly."""
    return _ALIAS.get(field, field)


def destination(rule: Rule) -> tuple[str, str] | None:
    """Field and value of the one address that a rule is for; None where it is for many."""
    for field, value in rule.match.items():
        name = canonical(field)
        if name == "dl_dst" and "/" not in value and not _is_group(value):
            return name, value
        if name in ("nw_dst", "ipv6_dst") and (address := flow_addresses.one_address(value)):
            return name, address
    return None


def _agrees(field: str, value: str, packet: Packet) -> bool | None:
    version = packet.get("dl_type", IPV4)
    if not value:
        if field in FLAGS[version]:
            return True
        return False if field in _OTHERS else None
    if field in ("dl_type", "nw_proto"):
        try:
            return int(value, 0) == (_UDP if field == "nw_proto" else int(version, 16))
        except ValueError:
            return None
    if FIELDS.get(field, version) != version:
        return False
    if field not in packet:
        return None
    if field in FIELDS:
        return flow_addresses.agrees(value, packet[field])
    if value == packet[field]:
        return True
    if "/" not in value:
        return False
    return _masked_mac(value, packet[field]) if field.startswith("dl_") else None


def _masked_mac(value: str, mac: str) -> bool | None:
    wanted, _, mask = value.partition("/")
    try:
        bits, own, want = (int(each.replace(":", ""), 16) for each in (mask, mac, wanted))
    except ValueError:
        return None
    return own & bits == want & bits


def _is_group(mac: str) -> bool:
    """Whether a hardware address is a broadcast or multicast one, or none at all."""
    try:
        return bool(int(mac.partition(":")[0], 16) & 1)
    except ValueError:
        return True
