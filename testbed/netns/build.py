"""Builds a plan: namespaces, cables, addresses, routes, vSwitches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Final
from zlib import crc32

from testbed.netns import machine, openvswitch
from testbed.netns.plan import addresses, overlay
from testbed.netns.plan.plan import Cable, Plan
from testbed.netns.plan.routes import routes

#: ECMP by the five-tuple as it is in the packet. Policy 1 takes the sending socket's own hash where
#: a packet still has it, which is another for each TCP connection; a real switch cannot see that.
#: Linux before 5.14 has no policy 3 and stays at 1.
_ECMP: Final = (
    ("fib_multipath_hash_policy", "1"),
    ("fib_multipath_hash_fields", "55"),
    ("fib_multipath_hash_policy", "3"),
)
_SETTINGS: Final = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv4/icmp_msgs_per_sec": "100000",
    "net/ipv4/icmp_errors_use_inbound_ifaddr": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/conf/all/accept_local": "1",
    "net/bridge/bridge-nf-call-iptables": "0",
}
_NO_IPV6: Final = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}
_IPV6: Final = {
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv6/icmp/ratelimit": "0",
    # Addresses are at hand at once, and stay while a link is down, as those of IPv4 do.
    **{f"net/ipv6/conf/{which}/{name}": value
       for which in ("all", "default")
       for name, value in (("accept_dad", "0"), ("keep_addr_on_down", "1"))},
}  # fmt: skip
_HASH_SEED: Final = "net/ipv4/fib_multipath_hash_seed"


def has_hash_seeds() -> bool:
    """Whether this kernel hashes five-tuples with a seed of each namespace (Linux 6.11 and newer).

    Without, every switch takes the same decision for a five-tuple: of an agg's links to the spines,
    only those are used that the ToR's decision leaves (hash polarization).
    """
    return Path("/proc/sys", _HASH_SEED).exists()


def hash_seed(node: str) -> int:
    """The seed of a switch: the same in each fabric of the same names, never 0 (the kernel's)."""
    return crc32(node.encode()) or 1


def build(plan: Plan, space_of: Callable[[str], str]) -> None:
    """Build everything; raises FabricError. space_of: node -> name of its namespace."""
    nodes = plan.nodes()
    spaces = {node: space_of(node) for node in nodes}
    machine.ip(None, [f"netns add {space}" for space in spaces.values()])
    # One shell for all settings of a namespace; settings that this kernel lacks are skipped.
    settings = _SETTINGS | (_IPV6 if plan.ipv6 else _NO_IPV6)
    ecmp = [(f"net/ipv{version}/{name}", value) for version in "46" for name, value in _ECMP]
    script = "; ".join(
        f"echo {value} > /proc/sys/{name}" for name, value in (*settings.items(), *ecmp)
    )
    for node, space in spaces.items():
        own = f"{script}; echo {hash_seed(node)} > /proc/sys/{_HASH_SEED}"
        machine.call(machine.inside(space, ["sh", "-c", f"{{ {own}; }} 2>/dev/null; true"]))
    lines: dict[str, list[str]] = {node: ["link set lo up"] for node in nodes}
    length = addresses.lengths(plan.ipv6)
    flags = " nodad" if plan.ipv6 else ""
    pairs = []
    for cable in plan.cables():
        pairs.append(_veth(cable, spaces))
        for node, port, address in cable.ends():
            lines[node] += [
                f"addr add {address}/{length.cable} dev {port}{flags}", f"link set {port} up",
            ]  # fmt: skip
    for node in (*plan.routers(), *plan.host_names()):
        lines[node] += routes(plan, node)
    for host, box, nic in product(range(plan.hosts), range(plan.containers), range(plan.nics)):
        cable = plan.container_cable(host, box, nic)
        node, port, address = cable.lower
        pairs.append(_veth(cable, spaces, plan.container_mac(host, box, nic)))
        lines[node] += [
            f"addr add {address}/{length.rail} dev {port}{flags}",
            f"link set {port} mtu {plan.overlay_mtu} up",
        ]
    machine.ip(None, pairs)
    for host in range(plan.hosts):
        lines[f"host-{host}"] += overlay.links(plan, host)
    for node in nodes:
        machine.ip(spaces[node], lines[node], *(["-6"] if plan.ipv6 else []))
    for host in range(plan.hosts):
        machine.bridge(spaces[f"host-{host}"], overlay.forwarding(plan, host))
    if plan.vswitch == "ovs" and plan.containers:
        for host, box, nic in product(range(plan.hosts), range(plan.containers), range(plan.nics)):
            # The user-space datapath forwards checksums that were left to hardware, unfilled.
            node, port, _ = plan.container_cable(host, box, nic).lower
            machine.call(machine.inside(spaces[node], ["ethtool", "-K", port, "tx", "off"]))
        for host in range(plan.hosts):
            openvswitch.start(plan, host, spaces[f"host-{host}"])


def _veth(cable: Cable, spaces: dict[str, str], mac: str = "") -> str:
    (above, upper, _), (below, lower, _) = cable.ends()
    own = f" address {mac}" if mac else ""
    return (
        f"link add name {lower} netns {spaces[below]}{own} "
        f"type veth peer name {upper} netns {spaces[above]}"
    )
