"""NetBox's answers: patch panels, planned cables, pages, roles."""

from __future__ import annotations

import json
from typing import Any

from controller.inventory.assembly.assemble import Assembled, Choices, assemble
from controller.inventory.formats import netbox
from controller.inventory.found import joined

BASE = "https://netbox.example.com/api"
DEVICES = [
    {"url": f"{BASE}/dcim/devices/1/", "name": "h1", "role": {"slug": "gpu"}, "location": None},
    {"url": f"{BASE}/dcim/devices/2/", "name": "leaf1", "role": {"slug": "leaf"}},
]
ADDRESS = {"url": f"{BASE}/ipam/ip-addresses/1/", "address": "10.0.0.1/31",
           "assigned_object": {"name": "eth0", "device": {"name": "h1"}}}  # fmt: skip


def end(device: str, name: str) -> dict[str, Any]:
    return {"name": name, "device": {"name": device}}


def cable(a: dict[str, Any], b: dict[str, Any], **more: Any) -> dict[str, Any]:
    sides = {
        f"{side}_terminations": [{"object_type": more.pop(f"{side}_type", "dcim.interface"),
                                  "object": ends}]
        for side, ends in (("a", a), ("b", b))
    }  # fmt: skip
    return {"url": f"{BASE}/dcim/cables/5/", "display": "#5", **sides, **more}


def made(*lists: list[dict[str, Any]], roles: tuple[str, ...] = netbox.HOST_ROLES) -> Assembled:
    found = joined(
        netbox.read(json.dumps({"results": each, "next": None}).encode(), f"{n}.json", roles)
        for n, each in enumerate(lists)
    )
    return assemble(found, Choices())


def test_an_interface_has_the_endpoint_behind_a_patch_panel() -> None:
    panel = cable(end("h1", "eth0"), end("panel", "front 1"), b_type="dcim.frontport")
    through = {"url": f"{BASE}/dcim/interfaces/1/", **end("h1", "eth0"),
               "connected_endpoints": [end("leaf1", "Ethernet1")],
               "connected_endpoints_reachable": True}  # fmt: skip
    out = made(DEVICES, [panel], [through], [ADDRESS])
    assert out.topology is not None, out.mistakes
    assert out.topology.hosts[0].rnics[0].asw == "leaf1"
    assert "/api/dcim/interfaces/ has the endpoints behind it" in out.notes[0]


def test_a_planned_cable_is_left_out() -> None:
    planned = cable(end("h1", "eth0"), end("leaf2", "Ethernet1"), status={"value": "planned"})
    laid = cable(end("h1", "eth0"), end("leaf1", "Ethernet1"), status={"value": "connected"})
    out = made(DEVICES, [planned, laid], [ADDRESS])
    assert out.topology is not None, out.mistakes
    assert out.topology.hosts[0].rnics[0].asw == "leaf1"
    assert out.notes == ["1.json: #5: the cable is planned; left out"]


def test_roles_that_are_not_known_are_listed() -> None:
    out = made(DEVICES, [cable(end("h1", "eth0"), end("leaf1", "Ethernet1"))], roles=("dgx",))
    assert out.mistakes == [
        "no cabled device is a host; roles that there are: gpu, leaf; name those of hosts with "
        "--host-roles, or hosts with --host-names"
    ]


def test_one_page_of_several_is_a_mistake() -> None:
    raw = json.dumps({"results": DEVICES, "next": f"{BASE}/dcim/devices/?offset=50"}).encode()
    (mistake,) = netbox.read(raw, "d.json").mistakes
    assert mistake.endswith("export with ?limit=0")


def test_objects_that_are_incomplete_are_mistakes_each() -> None:
    nameless = {"url": f"{BASE}/dcim/devices/9/", "name": None, "display": "rack 3 (9)"}
    loose = {"url": f"{BASE}/dcim/cables/6/", "display": "#6", "a_terminations": [],
             "b_terminations": []}  # fmt: skip
    found = netbox.read(json.dumps([nameless, loose, {"x": 1}, 7]).encode(), "all.json")
    assert [each.split(";")[0] for each in found.mistakes] == [
        "all.json: rack 3 (9): the device has no name",
        "all.json: #6: the cable has an end without a termination",
        "all.json: object 2: neither a device, interface, cable nor IP address of NetBox",
        "all.json: object 3: neither a device, interface, cable nor IP address of NetBox",
    ]


def test_an_interface_with_a_lag_is_of_the_rnic_that_has_the_address() -> None:
    bond = {"name": "bond0", "device": {"name": "h1"}}
    interfaces = [
        {"url": f"{BASE}/dcim/interfaces/{n}/", **end("h1", f"eth{n}"), "lag": bond,
         "connected_endpoints": [end(f"leaf{n}", "Ethernet1")],
         "connected_endpoints_reachable": True}
        for n in (1, 2)
    ]  # fmt: skip
    leaf = {"url": f"{BASE}/dcim/devices/3/", "name": "leaf2", "role": {"slug": "leaf"}}
    out = made([*DEVICES, leaf], interfaces, [ADDRESS | {"assigned_object": bond}])
    assert out.topology is not None, out.mistakes
    assert [rnic.tors for rnic in out.topology.hosts[0].rnics] == [("leaf1", "leaf2")]
