"""Open vSwitch as a host's vSwitch, with its user-space datapath: flow tables that can be read.

    skeletonhunter fabric exec host-0 -- ovs-ofctl dump-flows br0n0
    skeletonhunter fabric exec host-0 -- ovs-appctl dpctl/dump-flows -m

No kernel module is needed. Tunnels are the kernel's: each bridge has a VXLAN port, as with Linux
bridges. Each host's namespace has a database and a daemon of its own, which end with it. No flow is
offloaded, since there is no hardware to offload to.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Final

from testbed.netns import machine
from testbed.netns.plan import overlay
from testbed.netns.plan.overlay import FLOOD, Segment
from testbed.netns.plan.plan import Plan

_SCHEMA: Final = Path("/usr/share/openvswitch/vswitch.ovsschema")
#: ARP, and neighbor discovery: IPv6 asks a group of hosts.
_BROADCAST: Final = "priority=5,dl_dst=ff:ff:ff:ff:ff:ff,actions=FLOOD"
_MULTICAST: Final = "priority=5,dl_dst=33:33:00:00:00:00/ff:ff:00:00:00:00,actions=FLOOD"
_START: Final = """\
set -e
export OVS_RUNDIR={at} OVS_LOGDIR={at} OVS_DBDIR={at}
cd {at}
ovsdb-tool create conf.db {schema}
ovsdb-server conf.db --remote=punix:db.sock --pidfile --detach --no-chdir --log-file=db.log
ovs-vsctl --db=unix:db.sock --no-wait init
ovs-vswitchd unix:{at}/db.sock --pidfile --detach --no-chdir --log-file=vswitchd.log
ovs-vsctl --db=unix:db.sock {bridges}
"""


def missing() -> list[str]:
    """The tools that this machine lacks for Open vSwitch."""
    tools = {
        "ovs-vsctl": "openvswitch-switch", "ovs-vswitchd": "openvswitch-switch",
        "ethtool": "ethtool",
    }  # fmt: skip
    return [f"{tool} (apt install {package})" for tool, package in tools.items()
            if shutil.which(tool) is None]  # fmt: skip


def run_directory(space: str) -> Path:
    """Directory of the sockets of the daemons in a host's namespace."""
    return machine.RUNTIME / space


def flows(plan: Plan, here: Segment) -> list[str]:
    """The flow table of a vSwitch: the tenant's containers by hardware address, and broadcasts."""
    local = [
        (plan.container_mac(here.host, c, here.nic), f"c{c}n{here.nic}")
        for c in overlay.containers(plan, here.tenant)
    ]
    flooded = [_BROADCAST, *([_MULTICAST] if plan.ipv6 else [])]
    return flooded + [_flow(mac, port) for mac, port in local + _remote(plan, here)]


def looped(plan: Plan, here: Segment) -> list[str]:
    """The flow table that sends frames for other hosts back into the tunnel they come from."""
    return flows(plan, here) + [
        f"priority=20,in_port={port},dl_dst={mac},actions=IN_PORT"
        for mac, port in _remote(plan, here)
    ]


def local_only(plan: Plan, here: Segment) -> list[str]:
    """The flow table without the flows that leave the host."""
    away = {_flow(mac, port) for mac, port in _remote(plan, here)} | {_BROADCAST, _MULTICAST}
    return [flow for flow in flows(plan, here) if flow not in away]


def start(plan: Plan, host: int, space: str) -> None:
    """Start database, daemon, bridges, ports and flows of one host, whose links exist."""
    bridges = []
    for here in overlay.segments(plan, host):
        ports = [f"c{c}n{here.nic}" for c in overlay.containers(plan, here.tenant)]
        bridges.append(
            f"-- add-br {here.bridge} "
            f"-- set bridge {here.bridge} datapath_type=netdev fail_mode=secure"
        )
        bridges += [f"-- add-port {here.bridge} {port}" for port in [*ports, here.tunnel]]
    at = run_directory(space)
    at.mkdir(parents=True)
    script = _START.format(at=at, schema=_SCHEMA, bridges=" ".join(bridges))
    # Not into our pipes, which the daemons would keep open.
    quietly = (
        f"({script}) </dev/null >{at}/start.log 2>&1 || {{ tail -n 1 {at}/start.log; exit 1; }}"
    )
    machine.call(machine.inside(space, ["sh", "-c", quietly]))
    for here in overlay.segments(plan, host):
        write(space, here, flows(plan, here))


def write(space: str, here: Segment, wanted: list[str]) -> None:
    """Replace a vSwitch's whole table."""
    machine.call(
        ["ovs-ofctl", "--names", "replace-flows", _socket(space, here), "-"],
        "\n".join(wanted) + "\n",
    )


def wrong(space: str, here: Segment, wanted: list[str]) -> int:
    """Number of flows that a vSwitch has too many or too few, compared with ``wanted``."""
    shown = machine.call(["ovs-ofctl", "--names", "--no-stats", "dump-flows", _socket(space, here)])
    have = Counter(_normal(line) for line in shown.splitlines() if "actions=" in line)
    want = Counter(_normal(flow) for flow in wanted)
    return sum(((have - want) + (want - have)).values())


def _remote(plan: Plan, here: Segment) -> list[tuple[str, str]]:
    return [(mac, here.tunnel) for mac, _ in overlay.entries(plan, here) if mac != FLOOD]


def _flow(mac: str, port: str) -> str:
    return f"priority=10,dl_dst={mac},actions=output:{port}"


def _normal(flow: str) -> frozenset[str]:
    text = flow.strip().replace(" actions=", ",actions=").replace('"', "")
    return frozenset(text.replace("output:", "").split(","))


def _socket(space: str, here: Segment) -> str:
    return f"unix:{run_directory(space)}/{here.bridge}.mgmt"
