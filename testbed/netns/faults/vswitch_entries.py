"""missing-flow, loop: wrong forwarding entries in a vSwitch."""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

from testbed.netns import machine, openvswitch
from testbed.netns.faults import filters
from testbed.netns.faults.fault import Fault
from testbed.netns.namespaces import Namespaces
from testbed.netns.plan import overlay

#: One in so many frames is dropped in each round: a frame that loops without end takes a processor.
_ROUNDS: Final = 8


def host_of(fault: Fault) -> int:
    """Number of the host of the vSwitch."""
    return int(fault.at.rpartition("-")[2])


def remove_entries(fabric: Namespaces, fault: Fault) -> None:
    """Remove the tunnel ends (in Open vSwitch, the flows): frames for other hosts have no next
    hop."""
    plan, host = fabric.plan, host_of(fault)
    if plan.vswitch == "bridge":
        _flush(fabric, host)
        return
    for here in overlay.segments(plan, host):
        openvswitch.write(_space(fabric, host), here, openvswitch.local_only(plan, here))


def loop_entries(fabric: Namespaces, fault: Fault) -> None:
    """Point every container of other hosts to the host's own tunnel end, so that a frame for it
    returns to the same vSwitch again and again."""
    plan, host = fabric.plan, host_of(fault)
    space = _space(fabric, host)
    chains = []
    _flush(fabric, host)
    for here in overlay.segments(plan, host):
        own = plan.nic_address(host, here.nic)
        away = [mac for mac, _ in overlay.entries(plan, here) if mac != overlay.FLOOD]
        flood = [
            f"fdb append {overlay.FLOOD} dev {here.tunnel} dst {end} self permanent"
            for mac, end in overlay.entries(plan, here)
            if mac == overlay.FLOOD
        ]
        machine.bridge(
            space,
            [
                *flood,
                *(f"fdb append {mac} dev {here.tunnel} dst {own} self permanent" for mac in away),
            ],
        )
        if plan.vswitch == "ovs":
            openvswitch.write(space, here, openvswitch.looped(plan, here))
        else:
            machine.ip(space, [f"link set {here.tunnel} type bridge_slave hairpin on"])
        rule = f"    numgen random mod {_ROUNDS} 0 ether daddr {{ {', '.join(away)} }} counter drop"
        chains.append((here.tunnel, [rule]))
    # Open vSwitch receives frames before ingress rules do.
    hook = "ingress" if plan.vswitch == "bridge" else "egress"
    filters.load(fabric, fault, f"host-{host}", hook, chains)


def restore_entries(fabric: Namespaces, fault: Fault) -> None:
    """Restore the entries of the plan."""
    host = host_of(fault)
    space = _space(fabric, host)
    _flush(fabric, host)
    for here in overlay.segments(fabric.plan, host):
        if fabric.plan.vswitch == "ovs":
            openvswitch.write(space, here, openvswitch.flows(fabric.plan, here))
            continue
        machine.ip(space, [f"link set {here.tunnel} type bridge_slave hairpin off"])
    machine.bridge(space, overlay.forwarding(fabric.plan, host))
    filters.undo(fabric, fault)


def wrong_entries(fabric: Namespaces, fault: Fault) -> list[str]:
    """Differences between the entries of a host's vSwitches and the plan."""
    host = host_of(fault)
    space = _space(fabric, host)
    found = filters.in_kernel(fabric, fault)
    for here in overlay.segments(fabric.plan, host):
        shown = machine.call(["bridge", "-n", space, "fdb", "show", "dev", here.tunnel])
        have: Counter[tuple[str, str]] = Counter()
        for line in shown.splitlines():
            words = line.split()
            if "dst" in words:
                have[words[0], words[words.index("dst") + 1]] += 1
        want = Counter(overlay.entries(fabric.plan, here))
        if have != want:
            wrong = sum(((have - want) + (want - have)).values())
            found.append(f"host-{host} {here.tunnel}: {wrong} entries are not the plan's")
        if fabric.plan.vswitch == "bridge" and _hairpin(space, here.tunnel):
            found.append(f"host-{host} {here.tunnel} returns frames to the port they come from")
        if fabric.plan.vswitch == "ovs":
            flows = openvswitch.flows(fabric.plan, here)
            if count := openvswitch.wrong(space, here, flows):
                found.append(f"host-{host} {here.bridge}: {count} flows are not the plan's")
    return found


def _space(fabric: Namespaces, host: int) -> str:
    return fabric.namespace(f"host-{host}")


def _hairpin(space: str, device: str) -> bool:
    shown = machine.call(["ip", "-n", space, "-j", "-d", "link", "show", device])
    return bool(json.loads(shown)[0]["linkinfo"]["info_slave_data"]["hairpin"])


def _flush(fabric: Namespaces, host: int) -> None:
    space = _space(fabric, host)
    lines = []
    for here in overlay.segments(fabric.plan, host):
        shown = machine.call(["bridge", "-n", space, "fdb", "show", "dev", here.tunnel])
        for line in shown.splitlines():
            words = line.split()
            if "dst" in words:
                end = words[words.index("dst") + 1]
                lines.append(f"fdb del {words[0]} dev {here.tunnel} dst {end} self")
    machine.bridge(space, lines)
