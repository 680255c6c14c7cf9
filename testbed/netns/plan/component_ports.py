"""Component id -> the ports that every packet through the component crosses.

A packet *enters* a component through one of its ports and *leaves* it through one, so an nft rule
at the entrances, or a packet shaper at the exits, sees each packet once. A switch and a vSwitch
have ports of their own. A link, an rnic (with its cable) and a container have both ends of a cable:
a packet that leaves one end enters the other.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from schemas.component_ids import KINDS, component, kind_of
from testbed.netns.plan.overlay import segments
from testbed.netns.plan.plan import Cable, Plan

SWITCHES: Final = ("tor", "agg", "spine")


class UnknownComponent(ValueError):
    """No such component in this fabric; one line."""


class Port(NamedTuple):
    """An interface; side: the end of its cable (upper, lower), or a switch's own port (own)."""

    node: str
    device: str
    side: str


def components(plan: Plan) -> list[str]:
    """Every component id of a fabric, agents included."""
    found = [component(name.partition("-")[0], name) for name in plan.routers()]
    for host in range(plan.hosts):
        name = f"host-{host}"
        found += [component("host", name), component("agent", name)]
        found += [component("rnic", plan.nic_address(host, n)) for n in range(plan.nics)]
        if plan.containers:
            found.append(component("vswitch", name))
    found += [component("container", name) for name in plan.container_names()]
    return found + [plan.link_id(cable) for cable in plan.cables()]


def check(plan: Plan, where: str) -> None:
    """Raises UnknownComponent unless the fabric has this component."""
    if where in components(plan):
        return
    alike = [each for each in components(plan) if kind_of(each) == kind_of(where)]
    if not alike:
        kinds = ", ".join(f"{kind}:" for kind in KINDS)
        raise UnknownComponent(f"no component {where!r} here; an id begins with one of {kinds}")
    raise UnknownComponent(f"no component {where!r} here; there are {alike[0]} … {alike[-1]}")


def cables(plan: Plan, where: str) -> list[Cable]:
    """The cables of a component; none for a vSwitch or an agent."""
    kind, _, name = where.partition(":")
    if kind == "link":
        return [cable for cable in plan.cables() if plan.link_id(cable) == where]
    if kind == "rnic":
        return [cable for cable in plan.cables() if cable.lower[2] == name]
    if kind == "container":
        host, box = (int(part) for part in name.split("-")[1:])
        return [plan.container_cable(host, box, nic) for nic in range(plan.nics)]
    if kind == "host":
        host = int(name.partition("-")[2])
        return [plan.nic_cable(host, nic) for nic in range(plan.nics)]
    if kind in SWITCHES:
        return [c for c in plan.cables() if name in (c.upper[0], c.lower[0])]
    return []


def ports(plan: Plan, where: str) -> list[Port]:
    """All ports of a component; raises UnknownComponent."""
    check(plan, where)
    kind, _, name = where.partition(":")
    if kind == "vswitch":
        host = int(name.partition("-")[2])
        devices = [here.tunnel for here in segments(plan, host)]
        devices += [f"c{c}n{n}" for c in range(plan.containers) for n in range(plan.nics)]
        return [Port(name, device, "own") for device in devices]
    found = []
    for cable in cables(plan, where):
        for side, (node, device, _) in zip(("upper", "lower"), cable.ends(), strict=True):
            if kind not in SWITCHES:
                found.append(Port(node, device, side))
            elif node == name:
                found.append(Port(node, device, "own"))
    return found


def exits_and_entries(plan: Plan, where: str, direction: str) -> tuple[list[Port], list[Port]]:
    """(ports where packets leave a component, ports where they enter it).

    direction  both, or of a link a>b: packets from the id's first end to its second
    """
    every = ports(plan, where)
    if direction == "both":
        return every, every
    (cable,) = cables(plan, where)
    first = where.removeprefix("link:").partition("|")[0].partition(":")[2]
    upper_first = cable.upper[0] == first
    leaves = "upper" if upper_first == (direction == "a>b") else "lower"
    out = [port for port in every if port.side == leaves]
    return out, [port for port in every if port.side != leaves]


def by_node(every: list[Port]) -> dict[str, list[str]]:
    """Node -> devices of these ports."""
    found: dict[str, list[str]] = {}
    for port in every:
        found.setdefault(port.node, []).append(port.device)
    return found
