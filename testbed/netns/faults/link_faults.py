"""down, flap, mtu, address: faults of cables and of NICs' addresses."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

from testbed.netns import machine
from testbed.netns.faults.fault import Fault
from testbed.netns.machine import FabricError
from testbed.netns.namespaces import Namespaces
from testbed.netns.plan import component_ports
from testbed.netns.plan.component_ports import Port
from testbed.netns.plan.routes import replaced, routes

_FLAP: Final = """\
while sleep {half}; do
  ip -force -batch - <<E
{up}
E
  sleep {half}
  ip -force -batch - <<E
{down}
E
done >/dev/null 2>&1"""


def pulled(fabric: Namespaces, fault: Fault) -> list[Port]:
    """The ports that are taken down: a switch's own, else the upper ends of the cables. The lower
    end then loses its carrier and keeps its addresses and routes."""
    return [port for port in component_ports.ports(fabric.plan, fault.at) if port.side != "lower"]


def pull(fabric: Namespaces, fault: Fault) -> None:
    """Take the ports down, and wait until the other ends have lost their carrier."""
    for node, devices in component_ports.by_node(pulled(fabric, fault)).items():
        machine.ip(fabric.namespace(node), [f"link set {device} down" for device in devices])
    _wait(lambda: not _with_carrier(fabric, fault), f"{fault}: a cable did not lose its carrier")


def plug(fabric: Namespaces, fault: Fault) -> None:
    """Take the ports up, restore their routes, and wait for the carriers."""
    machine.end(fault.helpers, now=True)
    for node, devices in component_ports.by_node(pulled(fabric, fault)).items():
        space = fabric.namespace(node)
        machine.ip(space, [f"link set {device} up" for device in devices])
        machine.ip(space, replaced(routes(fabric.plan, node)))
    _wait(lambda: not missing_links(fabric, fault), f"{fault}: a cable did not get its carrier")
    _flush_neighbours(fabric, fault)


def flap(fabric: Namespaces, fault: Fault) -> None:
    """Take the ports down now; then a shell in each namespace takes them up and down in turn, half
    of the period each.

    Packets that the host at the lower end sends need not be lost: its veth reports a drop (ENOBUFS
    to a socket with IP_RECVERR, such as ping's, which then sends again), and its kernel looks at
    carriers once a second and queues packets while it resolves a neighbour. Packets that are sent
    to it are lost.
    """
    pull(fabric, fault)
    half = (fault.period_s or 4.0) / 2
    for node, devices in component_ports.by_node(pulled(fabric, fault)).items():
        down = "\n".join(f"link set {device} down" for device in devices)
        up = "\n".join([f"link set {d} up" for d in devices] + replaced(routes(fabric.plan, node)))
        script = _FLAP.format(down=down, up=up, half=half)
        fault.helpers.append(fabric.helper(node, ["sh", "-c", script]).process)


def missing_links(fabric: Namespaces, fault: Fault) -> list[str]:
    """Helpers that run, ports without a carrier, and routes that are missing."""
    found = [f"process {helper.pid}" for helper in fault.helpers if machine.alive(helper)]
    for node, devices in component_ports.by_node(
        component_ports.ports(fabric.plan, fault.at)
    ).items():
        up = _up(fabric, node)
        found += [f"{node} {device} is down" for device in devices if device not in up]
    for node in component_ports.by_node(pulled(fabric, fault)):
        found += missing_routes(fabric, node)
    return found


def missing_routes(fabric: Namespaces, node: str) -> list[str]:
    """Next hops of the plan that the kernel does not have."""
    version = ["-6"] if fabric.plan.ipv6 else []
    shown = json.loads(
        machine.call(
            ["ip", "-n", fabric.namespace(node), *version, "-j", "route", "show", "table", "all"]
        )
    )
    have = set()
    for route in shown:
        hops = route.get("nexthops", [route])
        have |= {(route["dst"], hop.get("gateway")) for hop in hops if "dead" not in hop["flags"]}
    found = []
    for line in routes(fabric.plan, node):
        words = line.split()
        if words[:2] == ["route", "add"] and "via" in words:
            for at, word in enumerate(words):
                if word == "via" and (words[2], words[at + 1]) not in have:
                    found.append(f"{node} has no route {words[2]} via {words[at + 1]}")
    return found


def reduce_mtu(fabric: Namespaces, fault: Fault) -> None:
    """Set the fault's MTU on every port."""
    for port in component_ports.ports(fabric.plan, fault.at):
        fault.before[f"{port.node} {port.device}"] = _mtu(fabric, port)
        machine.ip(fabric.namespace(port.node), [f"link set {port.device} mtu {fault.mtu}"])


def restore_mtu(fabric: Namespaces, fault: Fault) -> None:
    """Set the MTU of every port to its earlier value."""
    for where, mtu in fault.before.items():
        node, device = where.split()
        machine.ip(fabric.namespace(node), [f"link set {device} mtu {mtu}"])


def changed_mtu(fabric: Namespaces, fault: Fault) -> list[str]:
    """Ports whose MTU is not what it was."""
    found = []
    for where, mtu in fault.before.items():
        node, device = where.split()
        if (now := _mtu(fabric, Port(node, device, ""))) != mtu:
            found.append(f"mtu of {where} is {now}, not {mtu}")
    return found


def replace_address(fabric: Namespaces, fault: Fault) -> None:
    """Remove the NICs' addresses, or replace them with ``fault.address``."""
    for cable in component_ports.cables(fabric.plan, fault.at):
        node, device, own = cable.lower
        lines = [f"addr del {own}/31 dev {device}"]
        if fault.address:
            lines.insert(0, f"addr add {fault.address}/31 dev {device}")
        machine.ip(fabric.namespace(node), lines)


def restore_address(fabric: Namespaces, fault: Fault) -> None:
    """Restore the addresses of the plan, and the routes that were lost with them."""
    for cable in component_ports.cables(fabric.plan, fault.at):
        node, device, own = cable.lower
        machine.ip(
            fabric.namespace(node),
            [f"addr flush dev {device}", f"addr add {own}/31 dev {device}"],
        )
        machine.ip(fabric.namespace(node), replaced(routes(fabric.plan, node)))
    _flush_neighbours(fabric, fault)


def wrong_address(fabric: Namespaces, fault: Fault) -> list[str]:
    """NICs whose addresses are not the plan's, and routes that are missing."""
    found = []
    for cable in component_ports.cables(fabric.plan, fault.at):
        node, device, own = cable.lower
        text = machine.call(["ip", "-n", fabric.namespace(node), "-j", "addr", "show", device])
        have = [each["local"] for each in json.loads(text)[0]["addr_info"]]
        if have != [own]:
            found.append(f"{node} {device} has {have or 'no address'}, not {own}")
        found += missing_routes(fabric, node)
    return found


def _flush_neighbours(fabric: Namespaces, fault: Fault) -> None:
    """At both ends of the cables, also a switch's. Who does not answer is asked three times, each a
    second apart, then given up with all packets that wait: that is not to outlast the fault."""
    ends = [end for cable in component_ports.cables(fabric.plan, fault.at) for end in cable.ends()]
    ports = [Port(node, device, "") for node, device, _ in ends]
    for node, devices in component_ports.by_node(ports).items():
        machine.ip(fabric.namespace(node), [f"neigh flush dev {device}" for device in devices])


def _mtu(fabric: Namespaces, port: Port) -> str:
    text = machine.call(
        ["ip", "-n", fabric.namespace(port.node), "-j", "link", "show", port.device]
    )
    return str(json.loads(text)[0]["mtu"])


def _up(fabric: Namespaces, node: str) -> set[str]:
    shown = json.loads(machine.call(["ip", "-n", fabric.namespace(node), "-j", "link", "show"]))
    return {each["ifname"] for each in shown if {"UP", "LOWER_UP"} <= set(each["flags"])}


def _with_carrier(fabric: Namespaces, fault: Fault) -> list[str]:
    found = []
    for cable in component_ports.cables(fabric.plan, fault.at):
        for node, device, _ in cable.ends():
            if device in _up(fabric, node):
                found.append(f"{node} {device}")
    return found


def _wait(reached: Callable[[], bool], complaint: str) -> None:
    give_up_at = time.monotonic() + machine.END_TIMEOUT_S
    while not reached():
        if time.monotonic() > give_up_at:
            raise FabricError(complaint)
        time.sleep(0.02)  # between two looks
