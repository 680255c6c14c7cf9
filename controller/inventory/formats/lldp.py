"""LLDP neighbours of hosts and switches -> what was found: JSON of lldpd's ``lldpcli``.

Files hold the output of ``lldpctl -f json`` or ``lldpcli -f json show neighbors`` (also ``json0``)
on one device, which the file is named for (``h1.json``); the output of ``lldpcli -f json show
chassis`` may stand before or after it and names the device itself. Addresses of rnics are not in
LLDP: ``ip -j addr`` of a host (``h1.addr.json``) has them, or the hosts file.

lldpd writes a list of one element as the element, and names things by keys in ``json`` and by a
field ``name`` in ``json0`` (shape after its manual page and outputs in public repositories).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from controller.inventory.formats.json_files import NotJson, device_of, values_of
from controller.inventory.found import Found, Port, Statement

_FORWARDS: Final = frozenset({"bridge", "router"})
#: How some network cards describe their port: ``Interface   8 as enp5s0f0``.
_DESCRIBED: Final = re.compile(r"\bas (\S+)$")
_ABSENT: Final = frozenset({"", "not advertised", "not received"})


def read(raw: bytes, file: str) -> Found:
    """What the saved output of one device says."""
    found = Found()
    try:
        values = values_of(raw, file)
    except NotJson as why:
        found.mistakes.append(str(why))
        return found
    own = next((name for each in values if (name := _own_name(each))), device_of(file))
    for value in values:
        if isinstance(value, dict) and "local-chassis" in value:
            continue
        if isinstance(value, dict) and "lldp" in value:
            _read_neighbours(value["lldp"], own, file, found)
        elif isinstance(value, list) and all(isinstance(e, dict) and "ifname" in e for e in value):
            _read_addresses(value, own, found)
        else:
            found.mistakes.append(
                f'{file}: no object with "lldp" (lldpctl -f json) and no list with "ifname" '
                "(ip -j addr); save the output of one of these commands"
            )
    return found


def _own_name(value: Any) -> str:
    if not isinstance(value, dict) or "local-chassis" not in value:
        return ""
    for part in _list(value["local-chassis"]):
        if isinstance(part, dict):
            for name, _ in _named(part.get("chassis")):
                return name
    return ""


def _read_neighbours(lldp: Any, own: str, file: str, found: Found) -> None:
    parts = [part for part in _list(lldp) if isinstance(part, dict)]
    interfaces = [each for part in parts for each in _named(part.get("interface"))]
    if not interfaces:
        found.notes.append(f"{file}: {own} has no LLDP neighbour")
    for port, body in interfaces:
        where = f"{file}: interface {port}"
        chassis = next(_named(body.get("chassis")), ("", {}))
        peer, about = chassis
        if not peer:
            found.notes.append(
                f"{where}: its neighbour {_text(about.get('id')) or '?'} has no system name, "
                "as the LLDP of a network card's firmware; left out"
            )
            continue
        if (capabilities := _capabilities(about)) is not None and not capabilities & _FORWARDS:
            found.kinds[peer] = "host"
        found.statements.append(Statement(Port(own, port), peer, _peer_ports(body), where))


def _peer_ports(interface: dict[str, Any]) -> tuple[str, ...]:
    """Names of the neighbour's port, the likeliest first: a MAC address is none that it uses."""
    port = next((each for each in _list(interface.get("port")) if isinstance(each, dict)), {})
    identity = next((each for each in _list(port.get("id")) if isinstance(each, dict)), {})
    described = _text(port.get("descr"))
    if hidden := _DESCRIBED.search(described):
        described = hidden[1]
    names = [_text(identity), described]
    if identity.get("type") not in ("ifname", "ifalias"):
        names.reverse()
    return tuple(dict.fromkeys(each for each in names if each not in _ABSENT))


def _capabilities(chassis: dict[str, Any]) -> set[str] | None:
    """Capabilities that are enabled; None where the neighbour does not tell."""
    listed = [each for each in _list(chassis.get("capability")) if isinstance(each, dict)]
    if not listed:
        return None
    return {str(each.get("type", "")).lower() for each in listed if each.get("enabled")}


def _read_addresses(interfaces: list[dict[str, Any]], own: str, found: Found) -> None:
    """Addresses of interfaces, and which of them are bonded: a port of a bridge is no SLAVE."""
    found.kinds.setdefault(own, "host")
    for each in interfaces:
        addresses = [
            str(info.get("local"))
            for info in _list(each.get("addr_info"))
            if isinstance(info, dict) and info.get("scope", "global") == "global"
        ]
        if addresses:
            found.addresses[Port(own, str(each["ifname"]))] = addresses
        if each.get("master") and "SLAVE" in _list(each.get("flags")):
            found.bonds[Port(own, str(each["ifname"]))] = Port(own, str(each["master"]))


def _named(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, body) of the elements of a list of lldpd's, whichever way it is written."""
    for each in _list(value):
        if not isinstance(each, dict):
            continue
        if "name" in each:
            yield _text(each["name"]), each
        elif "id" in each:  # a chassis without a system name
            yield "", each
        else:
            yield from ((name, body) for name, body in each.items() if isinstance(body, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    """The text of ``"x"``, ``{"value": "x"}`` and ``[{"value": "x"}]``."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("value", "")
    return value.strip() if isinstance(value, str) else ""
