"""Per-tenant overlays: one VXLAN per tenant and rail, between the hosts' vSwitches. No I/O.

A vSwitch is a Linux bridge with a VXLAN port whose tunnel end is the NIC of its rail. Learning is
off: each vSwitch is configured with the tunnel end of every container of the tenant, as a cluster's
control plane does it, so a missing entry is a fault that can be injected. Tenants have their own
network identifiers (VNI) and bridges, so they cannot reach each other, not even on one host.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

from testbed.netns.plan.plan import Plan

_FIRST_VNI: Final = 100
VXLAN_PORT: Final = 4789
_MOST_RAILS: Final = 16
FLOOD: Final = "00:00:00:00:00:00"  # broadcasts: each other tunnel end gets a copy


@dataclass(frozen=True, slots=True)
class Segment:
    """A tenant's network on one rail, as one host sees it."""

    host: int
    tenant: int
    nic: int

    @property
    def vni(self) -> int:
        """VXLAN network identifier."""
        return _FIRST_VNI + self.tenant * _MOST_RAILS + self.nic

    @property
    def bridge(self) -> str:
        """Name of the vSwitch's bridge."""
        return f"br{self.tenant}n{self.nic}"

    @property
    def tunnel(self) -> str:
        """Name of the bridge's VXLAN port."""
        return f"vx{self.tenant}n{self.nic}"


def segments(plan: Plan, host: int) -> list[Segment]:
    """Every vSwitch of a host: one per tenant that has containers, and rail."""
    tenants = min(plan.tenants, plan.containers)
    return [Segment(host, t, n) for t, n in product(range(tenants), range(plan.nics))]


def links(plan: Plan, host: int) -> list[str]:
    """Lines for ``ip -batch`` that build a host's vSwitches."""
    lines: list[str] = []
    for here in segments(plan, host):
        ports = [f"c{c}n{here.nic}" for c in containers(plan, here.tenant)]
        linux = plan.vswitch == "bridge"  # Open vSwitch adds the ports when it starts
        master = f"master {here.bridge} " if linux else ""
        lines += [
            f"link add {here.tunnel} type vxlan id {here.vni} dstport {VXLAN_PORT} nolearning "
            f"local {plan.nic_address(host, here.nic)}",
            *([f"link add {here.bridge} type bridge", f"link set {here.bridge} up"] * linux),
            f"link set {here.tunnel} mtu {plan.overlay_mtu} {master}up",
            *(f"link set {port} {master}up" for port in ports),
        ]
        if linux:
            off = "type bridge_slave learning off"
            lines += [f"link set {port} {off}" for port in (*ports, here.tunnel)]
    return lines


def entries(plan: Plan, here: Segment) -> list[tuple[str, str]]:
    """(hardware address, tunnel end) of the containers on other hosts; FLOOD once per host."""
    ends = [(h, plan.nic_address(h, here.nic)) for h in range(plan.hosts) if h != here.host]
    return [(FLOOD, end) for _, end in ends] + [
        (plan.container_mac(h, c, here.nic), end)
        for h, end in ends
        for c in containers(plan, here.tenant)
    ]


def forwarding(plan: Plan, host: int) -> list[str]:
    """Lines for ``bridge -batch`` that configure a host's vSwitches with all containers."""
    lines: list[str] = []
    for here in segments(plan, host):
        known = entries(plan, here)
        lines += [f"fdb append {mac} dev {here.tunnel} dst {end} self permanent"
                  for mac, end in known]  # fmt: skip
        if plan.vswitch != "bridge":
            continue
        lines += [f"fdb replace {mac} dev {here.tunnel} master static"
                  for mac, _ in known if mac != FLOOD]  # fmt: skip
        for c in containers(plan, here.tenant):
            mac = plan.container_mac(host, c, here.nic)
            lines.append(f"fdb replace {mac} dev c{c}n{here.nic} master static")
    return lines


def containers(plan: Plan, tenant: int) -> list[int]:
    """Numbers of a tenant's containers on every host."""
    return [c for c in range(plan.containers) if plan.tenant_of(c) == tenant]
