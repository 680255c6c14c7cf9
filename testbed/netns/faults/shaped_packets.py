"""delay, duplicate, reorder, corrupt: packet shapers at the ports where a component is left."""

from __future__ import annotations

import json
import subprocess
import sys

from testbed.netns import machine
from testbed.netns.faults import filters
from testbed.netns.faults.fault import Fault
from testbed.netns.faults.packet_shaper import MARK
from testbed.netns.machine import FabricError
from testbed.netns.namespaces import Namespaces
from testbed.netns.plan import component_ports


def make(fabric: Namespaces, fault: Fault) -> None:
    """Start a packet shaper in each namespace, then forward the packets that are hit to it."""
    left, _ = component_ports.exits_and_entries(fabric.plan, fault.at, fault.direction)
    for node, devices in component_ports.by_node(left).items():
        taps = {device: f"w{fault.fault_id}x{number}" for number, device in enumerate(devices)}
        options = {
            "devices": taps,
            "time_us": fault.time_us or 0.0,
            "offset_us": fault.offset_us or 0.0,
            "period_s": fault.period_s or 0.0,
            "others": 1.0 if fault.others is None else fault.others,
            "inside": [own for _, _, own in _lower_ends(fabric, fault)],
            "copies": 2 if fault.action == "duplicate" else 1,
            "corrupt": fault.action == "corrupt",
        }
        command = [sys.executable, "-m", "testbed.netns.faults.packet_shaper", json.dumps(options)]
        helper = fabric.helper(node, command, stdout=subprocess.PIPE)
        fault.helpers.append(helper.process)
        if helper.first_line() != "ready":
            raise FabricError(f"{fault}: the packet shaper in {node} did not start")
        chains = [
            (
                device,
                [
                    f"    meta mark {MARK:#x} accept",
                    f'    meta protocol ip {filters.matching(fault)} counter fwd to "{tap}"',
                ],
            )
            for device, tap in taps.items()
        ]
        filters.load(fabric, fault, node, "egress", chains)


def _lower_ends(fabric: Namespaces, fault: Fault) -> list[tuple[str, str, str]]:
    """Ends of a host's own NICs; none where all packets are delayed alike."""
    if fault.others is None:
        return []
    return [cable.lower for cable in component_ports.cables(fabric.plan, fault.at)]


def undo(fabric: Namespaces, fault: Fault) -> None:
    """Remove the rules, then end the shapers: no packet is forwarded to a shaper that is gone."""
    filters.undo(fabric, fault)
    machine.end(fault.helpers, now=True)


def in_kernel(fabric: Namespaces, fault: Fault) -> list[str]:
    """The rules, shapers and tap devices that are there."""
    found = filters.in_kernel(fabric, fault)
    found += [f"process {helper.pid}" for helper in fault.helpers if machine.alive(helper)]
    for node in fault.tables:
        links = machine.call(["ip", "-n", fabric.namespace(node), "-o", "link", "show"])
        if f" w{fault.fault_id}x" in links:
            found.append(f"tap device w{fault.fault_id}x… in {node}")
    return found
