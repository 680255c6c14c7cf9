"""NetBox's JSON of devices, interfaces, cables and addresses -> what was found.

Files hold answers of ``/api/dcim/devices/``, ``/api/dcim/interfaces/``, ``/api/dcim/cables/`` and
``/api/ipam/ip-addresses/`` in any order, whole (``?limit=0``), as the API or a script saves them:
``{"results": [...]}`` or a list. Cables are enough where none ends in a patch panel; interfaces
have the endpoints behind panels too. Read are the fields of releases from 3.3 on
(``a_terminations``) and of those before (``termination_a``), after NetBox's API reference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from controller.inventory.formats.json_files import NotJson, values_of
from controller.inventory.found import Found, Port

#: Roles (slugs) of devices that are hosts, where ``--host-roles`` names none.
HOST_ROLES: Final = ("server", "host", "compute", "gpu", "gpu-server", "gpu-node", "node", "worker")
_LAID: Final = frozenset({"connected", ""})


def read(raw: bytes, file: str, host_roles: Collection[str] = HOST_ROLES) -> Found:
    """What one file says.

    host_roles  slugs of the roles of hosts; all other devices with a role are switches
    """
    found = Found()
    try:
        values = values_of(raw, file)
    except NotJson as why:
        found.mistakes.append(str(why))
        return found
    for value in values:
        if isinstance(value, dict) and value.get("next"):
            found.mistakes.append(
                f"{file}: one page of several (next is {value['next']}); export with ?limit=0"
            )
        for at, item in enumerate(_objects(value)):
            where = f"{file}: {_name_of(item) or f'object {at}'}"
            kind = _type(item)
            if kind == "device":
                _read_device(item, where, host_roles, found)
            elif kind == "interface":
                _read_interface(item, where, found)
            elif kind == "cable":
                _read_cable(item, where, found)
            elif kind == "address":
                _read_address(item, found)
            else:
                found.mistakes.append(
                    f"{where}: neither a device, interface, cable nor IP address of NetBox; "
                    "export /api/dcim/ and /api/ipam/ip-addresses/"
                )
    return found


def _objects(value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        yield from value["results"]
    elif isinstance(value, list):
        yield from value
    else:
        yield value


def _type(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    url = str(item.get("url", ""))
    for part, kind in (("/dcim/devices/", "device"), ("/dcim/interfaces/", "interface"),
                       ("/dcim/cables/", "cable"), ("/ipam/ip-addresses/", "address")):  # fmt: skip
        if part in url:
            return kind
    if "device_type" in item:
        return "device"
    if "a_terminations" in item or "termination_a" in item:
        return "cable"
    if "address" in item:
        return "address"
    return "interface" if "device" in item else ""


def _name_of(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    return str(item.get("display") or item.get("name") or item.get("url") or "")


def _read_device(item: dict[str, Any], where: str, hosts: Collection[str], found: Found) -> None:
    name = item.get("name")
    if not isinstance(name, str) or not name:
        found.mistakes.append(f"{where}: the device has no name; name it in NetBox")
        return
    role = item.get("role") or item.get("device_role")
    slug = str(role.get("slug") or role.get("name") or "") if isinstance(role, dict) else ""
    found.roles[name] = slug
    if slug:
        found.kinds[name] = "host" if slug in hosts else "switch"
    location = item.get("location")
    if slug in hosts and isinstance(location, dict) and location.get("name"):
        found.pods[name] = str(location["name"])


def _read_interface(item: dict[str, Any], where: str, found: Found) -> None:
    own = _end(item)
    if own is None:
        found.mistakes.append(f"{where}: the interface names no device; export it again")
        return
    if isinstance(lag := item.get("lag"), dict) and lag.get("name"):
        found.bonds[own] = own._replace(name=str(lag["name"]))
    ends = item.get("connected_endpoints") or item.get("connected_endpoint")
    ends = ends if isinstance(ends, list) else [ends] if ends else []
    reachable = item.get("connected_endpoints_reachable", item.get("connected_endpoint_reachable"))
    for each in ends:
        if reachable is not False and (peer := _end(each)) is not None:
            found.cable(own, peer, where)


def _read_cable(item: dict[str, Any], where: str, found: Found) -> None:
    status = item.get("status")
    laid = status.get("value") if isinstance(status, dict) else status
    if (laid or "") not in _LAID:
        found.notes.append(f"{where}: the cable is {laid}; left out")
        return
    ends = []
    for side in ("a", "b"):
        many = item.get(f"{side}_terminations")
        if many is None:
            many = [{"object": item.get(f"termination_{side}"),
                     "object_type": item.get(f"termination_{side}_type")}]  # fmt: skip
        ends.append([each for each in many if isinstance(each, dict)])
    if not all(ends):
        found.mistakes.append(f"{where}: the cable has an end without a termination; delete it")
        return
    for a in ends[0]:
        for b in ends[1]:
            ports = [_end(each.get("object")) for each in (a, b)]
            types = {str(each.get("object_type") or "dcim.interface") for each in (a, b)}
            if types != {"dcim.interface"} or None in ports:
                found.notes.append(
                    f"{where}: the cable ends in a {'/'.join(sorted(types))}; the export of "
                    "/api/dcim/interfaces/ has the endpoints behind it"
                )
            elif ports[0] is not None and ports[1] is not None:
                found.cable(ports[0], ports[1], where)


def _read_address(item: dict[str, Any], found: Found) -> None:
    port = _end(item.get("assigned_object") or item.get("interface"))
    if port is not None:
        found.addresses.setdefault(port, []).append(str(item.get("address", "")).split("/")[0])


def _end(item: Any) -> Port | None:
    """The port that a nested interface names."""
    if not isinstance(item, dict) or not isinstance(item.get("device"), dict):
        return None
    device = item["device"].get("name") or item["device"].get("display")
    name = item.get("name") or item.get("display")
    return Port(str(device), str(name)) if device and name else None
