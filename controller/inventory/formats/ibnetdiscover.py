"""An InfiniBand subnet as ``ibnetdiscover`` prints it -> what was found.

The format is that of infiniband-diags' manual page: a block for each node, with a line for each
port that is connected. A channel adapter's node description is ``HOST DEVICE`` (``node018 HCA-1``,
``h1 mlx5_0``); one that names no host needs ``ibnetdiscover --node-name-map``. A managed switch is
described as ``MF0;NAME:MODEL/U1``. Where the hosts file gives no address, an rnic has the
link-local GID of its port, fe80:: and the port's GUID.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import Final

from controller.inventory.formats.json_files import NotJson, text_of
from controller.inventory.found import Found, Port

_NODE: Final = re.compile(
    r'^(?P<type>Switch|Ca|Rt)\s+(?P<ports>\d+)\s+"(?P<id>[SHR]-[0-9a-f]+)"\s*'
    r'#\s*"(?P<description>.*?)"(?:\s|$)'
)
_PORT: Final = re.compile(
    r"^\[(?P<port>\d+)\](?:\[ext \d+\])?(?:\((?:0x)?(?P<guid>[0-9a-f]+)\))?\s+"
    r'"(?P<peer>[SHR]-[0-9a-f]+)"\[(?P<peer_port>\d+)\](?:\[ext \d+\])?'
)
_MANAGED: Final = re.compile(r"^MF0;(?P<name>[^:;]+):(?P<model>[^/]+)(?P<part>(?:/[^/]+)*)$")
_AGGREGATION: Final = "Aggregation Node"  # a Quantum switch's own adapter for reductions
_LINK_LOCAL: Final = 0xFE80 << 112


@dataclass(slots=True)
class _Node:
    type: str
    ports: int
    description: str
    line: int
    cables: list[tuple[int, str, str, int, int]] = field(default_factory=list)


def read(raw: bytes, file: str) -> Found:
    """What the saved output says."""
    found = Found()
    try:
        text = text_of(raw, file)
    except NotJson as why:
        found.mistakes.append(str(why))
        return found
    nodes = _nodes(text, file, found)
    if not nodes and not found.mistakes:
        found.mistakes.append(
            f"{file}: no Switch and no Ca block; give the output of ibnetdiscover"
        )
    names = _names(nodes, file, found)
    for identity, node in nodes.items():
        if identity not in names:
            continue
        device = names[identity][0]
        found.kinds[device] = "switch" if node.type == "Switch" else "host"
        for number, guid, peer, peer_number, line in node.cables:
            if peer not in nodes:
                found.mistakes.append(
                    f"{file}:{line}: the peer {peer} has no block of its own; the output is cut "
                    "short, save it again"
                )
            elif peer in names:
                own = Port(device, _port(names, nodes, identity, number))
                found.cable(
                    own, Port(names[peer][0], _port(names, nodes, peer, peer_number)),
                    f"{file}:{line}",
                )  # fmt: skip
                if guid and node.type == "Ca":
                    found.addresses[own] = [str(IPv6Address(_LINK_LOCAL | int(guid, 16)))]
    return found


def _nodes(text: str, file: str, found: Found) -> dict[str, _Node]:
    nodes: dict[str, _Node] = {}
    node: _Node | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if match := _NODE.match(line):
            node = _Node(match["type"], int(match["ports"]), match["description"].strip(), number)
            nodes[match["id"]] = node
        elif (match := _PORT.match(line)) and node is not None:
            ends = int(match["port"]), match["guid"] or "", match["peer"], int(match["peer_port"])
            node.cables.append((*ends, number))
        elif line.startswith(("Switch", "Ca\t", "Ca ", "Rt\t", "Rt ", "[")):
            found.mistakes.append(
                f"{file}:{number}: no line of ibnetdiscover: {line[:80]!r}; save its output again"
            )
    return nodes


def _names(nodes: dict[str, _Node], file: str, found: Found) -> dict[str, tuple[str, str]]:
    """Node -> (device, name of the adapter, empty for a switch); others are left out."""
    out: dict[str, tuple[str, str]] = {}
    described = {
        identity: _switch_name(node.description)
        for identity, node in nodes.items()
        if node.type == "Switch"
    }
    often = Counter(described.values())
    for identity, node in nodes.items():
        words = node.description.split()
        if node.type == "Switch":
            name = described[identity]
            unique = bool(name) and often[name] == 1 and " " not in name
            out[identity] = (name if unique else identity, "")
        elif node.type == "Rt" or _AGGREGATION in node.description:
            found.notes.append(f"{file}:{node.line}: {node.description!r} is no host; left out")
        elif 1 <= len(words) <= 2:
            out[identity] = (words[0], words[1] if len(words) > 1 else identity)
        else:
            found.mistakes.append(
                f"{file}:{node.line}: the description {node.description!r} of {identity} names no "
                "host; run ibnetdiscover with --node-name-map"
            )
    return out


def _switch_name(description: str) -> str:
    """``MF0;leaf1:MQM9700/U1`` -> leaf1; a part of a chassis, /L01/U1, belongs to the name."""
    if not (match := _MANAGED.match(description)):
        return description
    part = match["part"].removesuffix("/U1")
    return f"{match['name']}{part}"


def _port(
    names: dict[str, tuple[str, str]], nodes: dict[str, _Node], identity: str, number: int
) -> str:
    adapter = names[identity][1]
    if not adapter:
        return str(number)
    return adapter if nodes[identity].ports == 1 else f"{adapter}/{number}"
