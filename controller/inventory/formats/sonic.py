"""SONiC switches -> what was found: config_db.json, the LLDP table of APPL_DB, ``show lldp table``.

``DEVICE_NEIGHBOR`` is what is meant to be cabled, LLDP what is; where both are given and differ,
that is a mistake to correct. A switch is named by ``DEVICE_METADATA|localhost|hostname``, or by its
file (``leaf1.txt``). Interfaces' addresses become the switch's: traceroutes show them. Shapes after
SONiC's configuration manual, its schema of APPL_DB, and outputs in public repositories.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Final

from controller.inventory.formats.json_files import NotJson, device_of, text_of, values_of
from controller.inventory.found import Found, Port, Statement

_TABLES: Final = ("DEVICE_METADATA", "DEVICE_NEIGHBOR", "LLDP_ENTRY_TABLE")
_INTERFACES: Final = ("INTERFACE", "PORTCHANNEL_INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE")
_HEADER: Final = re.compile(r"^LocalPort\s+RemoteDevice\b")
_ROUTER_BITS: Final = 0x28  # bridge and router, in the first byte of LLDP's capabilities

Tables = dict[str, dict[str, Any]]


def read(raw: bytes, file: str) -> Found:
    """What one file of one switch says."""
    found = Found()
    try:
        if text_of(raw, file).lstrip()[:1] in ("{", "["):
            _read_databases(raw, file, found)
        else:
            _read_table(text_of(raw, file), file, found)
    except NotJson as why:
        found.mistakes.append(str(why))
    return found


def _read_databases(raw: bytes, file: str, found: Found) -> None:
    tables = _tables(values_of(raw, file))
    if not any(name in tables for name in _TABLES):
        found.mistakes.append(
            f"{file}: none of the tables {', '.join(_TABLES)}; give config_db.json, a dump of "
            "APPL_DB, or the text of `show lldp table`"
        )
        return
    metadata = tables["DEVICE_METADATA"].get("localhost")
    metadata = metadata if isinstance(metadata, dict) else {}
    own = str(metadata.get("hostname") or device_of(file))
    found.kinds[own] = "switch"
    found.roles[own] = str(metadata.get("type", ""))
    for table in _INTERFACES:
        for key in tables[table]:
            interface, _, prefix = key.partition("|")
            if prefix:
                port = Port(own, interface)
                found.addresses.setdefault(port, []).append(prefix.partition("/")[0])
    for port_name, entry in tables["DEVICE_NEIGHBOR"].items():
        where = f"{file}: DEVICE_NEIGHBOR|{port_name}"
        if not isinstance(entry, dict) or not entry.get("name"):
            found.mistakes.append(f"{where}: no name of a neighbour; complete or remove the entry")
            continue
        ports = (str(entry["port"]),) if entry.get("port") else ()
        found.statements.append(Statement(Port(own, port_name), str(entry["name"]), ports, where))
    for name, entry in tables["DEVICE_NEIGHBOR_METADATA"].items():
        role = str(entry.get("type", "")) if isinstance(entry, dict) else ""
        found.roles[name] = role
        if role:
            found.kinds[name] = "switch" if role.endswith(("Router", "Hub", "Switch")) else "host"
    for port_name, entry in tables["LLDP_ENTRY_TABLE"].items():
        if isinstance(entry, dict):
            _read_entry(own, port_name, entry, f"{file}: LLDP_ENTRY_TABLE:{port_name}", found)


def _read_entry(own: str, port: str, entry: dict[str, Any], where: str, found: Found) -> None:
    peer = str(entry.get("lldp_rem_sys_name") or "")
    if not peer:
        found.notes.append(f"{where}: its neighbour has no system name; left out")
        return
    enabled = str(entry.get("lldp_rem_sys_cap_enabled") or "").split()
    if enabled and re.fullmatch("[0-9A-Fa-f]{2}", enabled[0]):
        forwards = int(enabled[0], 16) & _ROUTER_BITS
        if not forwards:
            found.kinds.setdefault(peer, "host")
    # A port's description is the name that SONiC itself uses; its id is an alias or an address.
    names = (str(entry.get(f"lldp_rem_port_{part}") or "") for part in ("desc", "id"))
    ports = tuple(dict.fromkeys(name for name in names if name))
    found.statements.append(Statement(Port(own, port), peer, ports, where))


def _tables(values: list[Any]) -> Tables:
    """Table -> key -> fields, of nested tables and of dumps with keys ``TABLE|key``."""
    out: Tables = defaultdict(dict)
    for value in values:
        if not isinstance(value, dict):
            continue
        for name, body in value.items():
            if not isinstance(body, dict):
                continue
            table, separator, key = _split(name)
            if separator:
                fields = body.get("value") if body.get("type") == "hash" else body
                out[table][key] = fields if isinstance(fields, dict) else {}
            else:
                out[name] |= body
    return out


def _split(name: str) -> tuple[str, str, str]:
    """``TABLE|key`` or ``TABLE:key`` -> table, separator, key; without a separator: no key."""
    at = min((name.find(each) for each in "|:" if each in name), default=-1)
    return (name, "", "") if at < 0 else (name[:at], name[at], name[at + 1 :])


def _read_table(text: str, file: str, found: Found) -> None:
    own = device_of(file)
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if _HEADER.match(line.strip())), None)
    if start is None or start + 1 >= len(lines) or not lines[start + 1].strip().startswith("---"):
        found.mistakes.append(
            f"{file}: no header LocalPort RemoteDevice; give the output of `show lldp table`"
        )
        return
    found.kinds[own] = "switch"
    spans = [match.span() for match in re.finditer("-+", lines[start + 1])]
    spans[-1] = (spans[-1][0], None)  # type: ignore[assignment]  # to the end of the line
    names = [lines[start][a:b].strip() for a, b in spans]
    for number, line in enumerate(lines[start + 2 :], start + 3):
        if not line.strip() or line.startswith(("-----", "Total entries")):
            continue
        row = dict(zip(names, (line[a:b].strip() for a, b in spans), strict=True))
        port, peer = row.get("LocalPort", ""), row.get("RemoteDevice", "")
        if not port or not peer:
            found.notes.append(f"{file}:{number}: no local port or no remote device; left out")
            continue
        if (able := row.get("Capability")) and not set(able) & set("BR"):
            found.kinds.setdefault(peer, "host")
        ports = (_as_interface(row.get("RemotePortDescr", "")), row.get("RemotePortID", ""))
        names_of_peer = tuple(dict.fromkeys(name for name in ports if name))
        found.statements.append(Statement(Port(own, port), peer, names_of_peer, f"{file}:{number}"))


def _as_interface(description: str) -> str:
    """``Interface   8 as enp5s0f0`` -> enp5s0f0."""
    return description.rpartition(" as ")[2].strip()
