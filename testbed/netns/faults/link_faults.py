"""Cables and addresses: down, flap, mtu, address."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

from testbed.netns import machine
from testbed.netns.faults.fault import Fault
from testbed.netns.machine import FabricError
from testbed.netns.namespaces import Namespaces
from testbed.netns.plan import places
from testbed.netns.plan.places import Port
from testbed.netns.plan.routes import again, routes

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
    """The ports at which a component's cables are pulled: a switch's own, else the upper ends
    (the lower one then loses its carrier and keeps its addresses and routes)."""
    return [port for port in places.ports(fabric.plan, fault.at) if port.side != "lower"]


def pull(fabric: Namespaces, fault: Fault) -> None:
    """Take the ports down and wait until the other ends have noticed."""
    for node, devices in places.by_node(pulled(fabric, fault)).items():
        machine.ip(fabric.namespace(node), [f"link set {device} down" for device in devices])
    _wait(lambda: not _lit(fabric, fault), f"{fault}: a cable did not lose its carrier")


def plug(fabric: Namespaces, fault: Fault) -> None:
    """Put everything back: ports up, routes that went with them, carriers seen."""
    machine.end(fault.helpers, now=True)
    for node, devices in places.by_node(pulled(fabric, fault)).items():
        space = fabric.namespace(node)
        machine.ip(space, [f"link set {device} up" for device in devices])
        machine.ip(space, again(routes(fabric.plan, node)))
    _wait(lambda: not missing_links(fabric, fault), f"{fault}: a cable did not get its carrier")
    _forget_neighbours(fabric, fault)


def flap(fabric: Namespaces, fault: Fault) -> None:
    """Pull the cables now; from then on a shell in each namespace puts the ports up and down for
    ever, half of the period each.

    The host at the lower end need not lose what it sends itself: its veth says so when it drops
    (ENOBUFS to a socket with IP_RECVERR, such as ping's, which then tries again), and its kernel
    looks at carriers once a second and keeps packets while it asks for a neighbour. What others
    send to it is lost.
    """
    pull(fabric, fault)
    half = (fault.period_s or 4.0) / 2
    for node, devices in places.by_node(pulled(fabric, fault)).items():
        down = "\n".join(f"link set {device} down" for device in devices)
        up = "\n".join([f"link set {d} up" for d in devices] + again(routes(fabric.plan, node)))
        script = _FLAP.format(down=down, up=up, half=half)
        fault.helpers.append(fabric.helper(node, ["sh", "-c", script]).process)


def missing_links(fabric: Namespaces, fault: Fault) -> list[str]:
    """Ports without a carrier, routes that are not there."""
    found = [f"process {helper.pid}" for helper in fault.helpers if machine.alive(helper)]
    for node, devices in places.by_node(places.ports(fabric.plan, fault.at)).items():
        up = _up(fabric, node)
        found += [f"{node} {device} is down" for device in devices if device not in up]
    for node in places.by_node(pulled(fabric, fault)):
        found += missing_routes(fabric, node)
    return found


def missing_routes(fabric: Namespaces, node: str) -> list[str]:
    """Planned next hops that the kernel does not have."""
    shown = json.loads(
        machine.call(["ip", "-n", fabric.namespace(node), "-j", "route", "show", "table", "all"])
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


def set_mtu(fabric: Namespaces, fault: Fault) -> None:
    """A smaller largest packet on every port."""
    for port in places.ports(fabric.plan, fault.at):
        fault.before[f"{port.node} {port.device}"] = _mtu(fabric, port)
        machine.ip(fabric.namespace(port.node), [f"link set {port.device} mtu {fault.mtu}"])


def reset_mtu(fabric: Namespaces, fault: Fault) -> None:
    """What it was."""
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


def take_address(fabric: Namespaces, fault: Fault) -> None:
    """The NICs lose their addresses, or (``address``) have another one instead."""
    for cable in places.cables(fabric.plan, fault.at):
        node, device, own = cable.lower
        lines = [f"addr del {own}/31 dev {device}"]
        if fault.address:
            lines.insert(0, f"addr add {fault.address}/31 dev {device}")
        machine.ip(fabric.namespace(node), lines)


def give_address(fabric: Namespaces, fault: Fault) -> None:
    """The addresses of the plan again, and the routes that went with them."""
    for cable in places.cables(fabric.plan, fault.at):
        node, device, own = cable.lower
        machine.ip(
            fabric.namespace(node),
            [f"addr flush dev {device}", f"addr add {own}/31 dev {device}"],
        )
        machine.ip(fabric.namespace(node), again(routes(fabric.plan, node)))
    _forget_neighbours(fabric, fault)


def wrong_address(fabric: Namespaces, fault: Fault) -> list[str]:
    """NICs whose addresses are not the plan's; routes that are not there."""
    found = []
    for cable in places.cables(fabric.plan, fault.at):
        node, device, own = cable.lower
        text = machine.call(["ip", "-n", fabric.namespace(node), "-j", "addr", "show", device])
        have = [each["local"] for each in json.loads(text)[0]["addr_info"]]
        if have != [own]:
            found.append(f"{node} {device} has {have or 'no address'}, not {own}")
        found += missing_routes(fabric, node)
    return found


def _forget_neighbours(fabric: Namespaces, fault: Fault) -> None:
    """At both ends of the cables, also a switch's. Who does not answer is asked three times, each a
    second apart, then given up with all packets that wait: that is not to outlast the fault."""
    ends = [end for cable in places.cables(fabric.plan, fault.at) for end in cable.ends()]
    ports = [Port(node, device, "") for node, device, _ in ends]
    for node, devices in places.by_node(ports).items():
        machine.ip(fabric.namespace(node), [f"neigh flush dev {device}" for device in devices])


def _mtu(fabric: Namespaces, port: Port) -> str:
    text = machine.call(
        ["ip", "-n", fabric.namespace(port.node), "-j", "link", "show", port.device]
    )
    return str(json.loads(text)[0]["mtu"])


def _up(fabric: Namespaces, node: str) -> set[str]:
    shown = json.loads(machine.call(["ip", "-n", fabric.namespace(node), "-j", "link", "show"]))
    return {each["ifname"] for each in shown if {"UP", "LOWER_UP"} <= set(each["flags"])}


def _lit(fabric: Namespaces, fault: Fault) -> list[str]:
    lit = []
    for cable in places.cables(fabric.plan, fault.at):
        for node, device, _ in cable.ends():
            if device in _up(fabric, node):
                lit.append(f"{node} {device}")
    return lit


def _wait(reached: Callable[[], bool], complaint: str) -> None:
    give_up_at = time.monotonic() + machine.END_TIMEOUT_S
    while not reached():
        if time.monotonic() > give_up_at:
            raise FabricError(complaint)
        time.sleep(0.02)  # between two looks
