"""loss, drop, blackhole: nft rules that drop packets at the ports where a component is entered."""

from __future__ import annotations

import re

from schemas.component_ids import kind_of
from testbed.netns import machine
from testbed.netns.faults.fault import Fault
from testbed.netns.namespaces import Namespaces
from testbed.netns.plan import component_ports, overlay

_CHAIN = """\
  chain {hook}{number} {{
    type filter hook {hook} device "{device}" priority 0; policy accept;
{rules}
  }}"""


#: IPv4's neighbours are found by ARP, which no rule hits; with IPv6 they are found by IPv6.
_NEIGHBOURS = "    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"


def make(fabric: Namespaces, fault: Fault) -> None:
    """Load the rules."""
    left, entered = component_ports.exits_and_entries(fabric.plan, fault.at, fault.direction)
    ports, hook = entered, "ingress"
    if fabric.plan.vswitch == "ovs" and kind_of(fault.at) in ("vswitch", "container"):
        ports, hook = left, "egress"  # Open vSwitch receives frames before ingress rules do
    version, hit = "ip6" if fabric.plan.ipv6 else "ip", matching(fault, fabric.plan.ipv6)
    matches = [f"{hit} "]
    if fault.destination:
        ways = ("saddr", "daddr")
        matches = [f"{version} {way} {fault.destination} {hit} " for way in ways]
    rules = [f"    meta protocol {version} {match}counter drop" for match in matches]
    if fabric.plan.ipv6:
        rules.insert(0, _NEIGHBOURS)
    for node, devices in component_ports.by_node(ports).items():
        load(fabric, fault, node, hook, [(device, rules) for device in devices])


def load(
    fabric: Namespaces, fault: Fault, node: str, hook: str, chains: list[tuple[str, list[str]]]
) -> None:
    """Load one nft table of this fault in a node's namespace, with rules for each device."""
    text = "\n".join(
        _CHAIN.format(hook=hook, number=number, device=device, rules="\n".join(rules))
        for number, (device, rules) in enumerate(chains)
    )
    fault.tables.append(node)
    machine.nft(fabric.namespace(node), f"table netdev {fault.table} {{\n{text}\n}}")


def matching(fault: Fault, ipv6: bool = False) -> str:
    """The nft expression for the packets that are hit."""
    parts = []
    if fault.layer == "overlay":
        parts.append(f"udp dport {overlay.VXLAN_PORT}")
    if fault.share is not None and fault.share < 1:
        seed = int.from_bytes(fault.fault_id.encode()[-4:].rjust(4, b"\0"))
        version = "ip6" if ipv6 else "ip"
        five_tuple = f"{version} saddr . {version} daddr . th sport . th dport"
        parts.append("meta l4proto { tcp, udp }")
        parts.append(f"jhash {five_tuple} mod 10000 seed {seed:#x} {_below(fault.share)}")
    if fault.percent is not None and fault.percent < 100:
        parts.append(f"numgen random mod 10000 {_below(fault.percent / 100)}")
    return " ".join(parts)


def _below(share: float) -> str:
    return f"<= {max(1, round(share * 10_000)) - 1}"


def undo(fabric: Namespaces, fault: Fault) -> None:
    """Remove the tables."""
    for node in list(fault.tables):
        if fault.table in machine.nft(fabric.namespace(node), "list tables"):
            machine.nft(fabric.namespace(node), f"delete table netdev {fault.table}")


def in_kernel(fabric: Namespaces, fault: Fault) -> list[str]:
    """The nft tables of this fault that the kernel has."""
    return [
        f"nft table {fault.table} in {node}"
        for node in fault.tables
        if fault.table in machine.nft(fabric.namespace(node), "list tables")
    ]


def dropped(fabric: Namespaces, fault: Fault) -> int:
    """Packets that the rules of this fault have dropped so far."""
    total = 0
    for node in fault.tables:
        text = machine.nft(fabric.namespace(node), f"list table netdev {fault.table}")
        total += sum(int(number) for number in re.findall(r"counter packets (\d+)", text))
    return total
