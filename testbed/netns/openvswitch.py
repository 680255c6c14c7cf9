"""Open vSwitch as a host's vSwitch, with its user-space datapath: flow tables that can be read.

    skeletonhunter fabric exec host-0 -- ovs-ofctl dump-flows br0n0
    skeletonhunter fabric exec host-0 -- ovs-appctl dpctl/dump-flows -m

No kernel module is needed. Tunnels stay the kernel's: a VXLAN port of each bridge, as with Linux
bridges. One database and one daemon live in each host's namespace and are gone with it. Nothing is
offloaded: there is no hardware here to take the flows.
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
_BROADCAST: Final = "priority=5,dl_dst=ff:ff:ff:ff:ff:ff,actions=FLOOD"
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
    """What this machine lacks for it."""
    tools = {
        "ovs-vsctl": "openvswitch-switch", "ovs-vswitchd": "openvswitch-switch",
        "ethtool": "ethtool",
    }  # fmt: skip
    return [f"{tool} (apt install {package})" for tool, package in tools.items()
            if shutil.which(tool) is None]  # fmt: skip


def run_directory(space: str) -> Path:
    """Where the daemons of a host's namespace have their sockets."""
    return machine.RUNTIME / space


def flows(plan: Plan, here: Segment) -> list[str]:
    """A vSwitch's table: each container of the tenant by hardware address, broadcasts to all."""
    local = [
        (plan.container_mac(here.host, c, here.nic), f"c{c}n{here.nic}")
        for c in overlay.containers(plan, here.tenant)
    ]
    return [_BROADCAST] + [_flow(mac, port) for mac, port in local + _remote(plan, here)]


def looped(plan: Plan, here: Segment) -> list[str]:
    """The same, with frames for other hosts sent back into the tunnel that they come from."""
    return flows(plan, here) + [
        f"priority=20,in_port={port},dl_dst={mac},actions=IN_PORT"
        for mac, port in _remote(plan, here)
    ]


def local_only(plan: Plan, here: Segment) -> list[str]:
    """The same without any flow that leaves the host."""
    away = {_flow(mac, port) for mac, port in _remote(plan, here)} | {_BROADCAST}
    return [flow for flow in flows(plan, here) if flow not in away]


def start(plan: Plan, host: int, space: str) -> None:
    """Database, daemon, bridges, ports and flows of one host; its links exist already."""
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
    # Not into our pipes: the daemons would keep them open for ever.
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
    """How many flows of a vSwitch are not as they should be."""
    said = machine.call(["ovs-ofctl", "--names", "--no-stats", "dump-flows", _socket(space, here)])
    have = Counter(_normal(line) for line in said.splitlines() if "actions=" in line)
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
