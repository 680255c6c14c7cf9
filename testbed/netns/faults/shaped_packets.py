"""Packets that are late, doubled, out of order or broken: wires where a component is left.

delay, duplicate, reorder, corrupt.
"""

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
from testbed.netns.plan import places


def make(fabric: Namespaces, fault: Fault) -> None:
    """Start a wire in each namespace, then lead the chosen packets over it."""
    left, _ = places.one_way(fabric.plan, fault.at, fault.direction)
    for node, devices in places.by_node(left).items():
        taps = {device: f"w{fault.fault_id}x{number}" for number, device in enumerate(devices)}
        told = {
            "devices": taps,
            "time_us": fault.time_us or 0.0,
            "offset_us": fault.offset_us or 0.0,
            "copies": 2 if fault.action == "duplicate" else 1,
            "broken": fault.action == "corrupt",
        }
        command = [sys.executable, "-m", "testbed.netns.faults.packet_shaper", json.dumps(told)]
        helper = fabric.helper(node, command, stdout=subprocess.PIPE)
        fault.helpers.append(helper.process)
        if helper.first_line() != "ready":
            raise FabricError(f"{fault}: the wire in {node} did not start")
        chains = [
            (
                device,
                [
                    f"    meta mark {MARK:#x} accept",
                    f'    meta protocol ip {filters.select(fault)} counter fwd to "{tap}"',
                ],
            )
            for device, tap in taps.items()
        ]
        filters.load(fabric, fault, node, "egress", chains)


def undo(fabric: Namespaces, fault: Fault) -> None:
    """First the rules, so that nothing is led to a wire that is gone; then the wires."""
    filters.undo(fabric, fault)
    machine.end(fault.helpers, now=True)


def traces(fabric: Namespaces, fault: Fault) -> list[str]:
    """Rules, wires and their devices, read back."""
    found = filters.traces(fabric, fault)
    found += [f"process {helper.pid}" for helper in fault.helpers if machine.alive(helper)]
    for node in fault.tables:
        links = machine.call(["ip", "-n", fabric.namespace(node), "-o", "link", "show"])
        if f" w{fault.fault_id}x" in links:
            found.append(f"tap device w{fault.fault_id}x… in {node}")
    return found
