"""LLDP as lldpd writes it: lists of one, neighbours without names, ports named by MAC addresses.

Shapes of the two outputs were recorded from public samples of lldpcli; contents are our own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.inventory.assembly.assemble import Assembled, Choices, assemble
from controller.inventory.formats import lldp
from controller.inventory.found import joined


def interface(peer: str, port: str, *, kind: str = "ifname", descr: str = "") -> dict[str, Any]:
    return {
        "via": "LLDP",
        "chassis": {peer: {"id": {"type": "mac", "value": "aa:bb:cc:dd:ee:01"}}},
        "port": {"id": {"type": kind, "value": port}, "descr": descr},
    }


def neighbours(*interfaces: tuple[str, dict[str, Any]]) -> bytes:
    named = [{name: body} for name, body in interfaces]
    return json.dumps({"lldp": {"interface": named[0] if len(named) == 1 else named}}).encode()


def addresses(**of: str) -> bytes:
    return json.dumps([
        {"ifname": name, "addr_info": [{"family": "inet6", "local": "fe80::1", "scope": "link"},
                                       {"family": "inet", "local": ip, "scope": "global"}]}
        for name, ip in of.items()
    ]).encode()  # fmt: skip


def made(files: dict[str, bytes], **choices: Any) -> Assembled:
    found = joined(lldp.read(raw, name) for name, raw in files.items())
    return assemble(found, Choices(**choices))


def test_a_host_with_one_neighbour_and_its_addresses_make_a_document() -> None:
    out = made({
        "site/h1.json": neighbours(("eth2", interface("leaf1", "Ethernet448"))),
        "site/h1.addr.json": addresses(eth2="10.0.0.1", lo="127.0.0.1"),
    })  # fmt: skip
    assert out.topology is not None, out.mistakes
    (host,) = out.topology.hosts
    assert (host.node_sn, host.rnics[0].real_ip, host.rnics[0].asw) == ("h1", "10.0.0.1", "leaf1")


def test_the_local_chassis_names_the_device_instead_of_the_file() -> None:
    own = json.dumps({"local-chassis": {"chassis": {"h7": {"id": {"type": "mac"}}}}}).encode()
    raw = own + b"\n" + neighbours(("eth2", interface("leaf1", "Ethernet0")))
    found = lldp.read(raw, "collected-3.json")
    assert [each.port.device for each in found.statements] == ["h7"]


def test_a_mac_address_of_a_host_port_is_the_port_that_the_host_itself_names() -> None:
    out = made({
        "h1.json": neighbours(("ens1", interface("leaf1", "swp1")),
                              ("ens2", interface("leaf1", "swp2"))),
        "h1.addr.json": addresses(ens1="10.0.0.1", ens2="10.0.0.2"),
        "leaf1.json": neighbours(("swp1", interface("h1", "02:00:00:00:00:01", kind="mac")),
                                 ("swp2", interface("h1", "02:00:00:00:00:02", kind="mac"))),
    })  # fmt: skip
    assert out.topology is not None, out.mistakes
    assert [rnic.rail for rnic in out.topology.hosts[0].rnics] == [0, 1]


def test_a_card_that_describes_its_port_is_read_by_the_description() -> None:
    raw = neighbours(
        ("swp1", interface("h1", "02:00:00:00:00:01", kind="mac", descr="Interface   8 as enp5s0"))
    )
    assert lldp.read(raw, "leaf1.json").statements[0].peer_ports[0] == "enp5s0"


def test_a_neighbour_without_a_system_name_is_left_out_and_said() -> None:
    body = {"chassis": {"id": {"type": "mac", "value": "aa:bb"}}, "port": {"id": {}}}
    found = lldp.read(neighbours(("eth0", body)), "h1.json")
    assert found.statements == []
    assert found.notes == [
        "h1.json: interface eth0: its neighbour aa:bb has no system name, as the LLDP of a network "
        "card's firmware; left out"
    ]


def test_a_name_with_a_domain_and_one_without_are_one_device() -> None:
    out = made({
        "h1.json": neighbours(("ens1", interface("leaf1.dc1.example", "swp1"))),
        "h1.addr.json": addresses(ens1="10.0.0.1"),
        "leaf1.json": neighbours(("swp1", interface("h1.dc1.example", "ens1"))),
    })  # fmt: skip
    assert out.topology is not None, out.mistakes
    assert [switch.id for switch in out.topology.switches] == ["leaf1"]


def test_two_devices_that_disagree_on_a_cable_are_both_named() -> None:
    out = made({
        "h1.json": neighbours(("ens1", interface("leaf1", "swp1"))),
        "h2.json": neighbours(("ens1", interface("leaf1", "swp2"))),
        "leaf1.json": neighbours(("swp1", interface("h2", "ens1")),
                                 ("swp2", interface("h2", "ens1"))),
        "h1.addr.json": addresses(ens1="10.0.0.1"), "h2.addr.json": addresses(ens1="10.0.0.2"),
    })  # fmt: skip
    assert out.topology is None
    assert out.mistakes == [
        "h1.json: interface ens1: h1:ens1 is cabled to leaf1:swp1, which itself is cabled to h2 "
        "(leaf1.json: interface swp1); one of the two is out of date"
    ]


def test_a_management_port_of_a_switch_joins_nothing() -> None:
    out = made({
        "h1.json": neighbours(("ens1", interface("leaf1", "swp1"))),
        "h1.addr.json": addresses(ens1="10.0.0.1"),
        "leaf1.json": neighbours(("eth0", interface("oob1", "swp9"))),
    })  # fmt: skip
    assert out.topology is not None, out.mistakes
    assert [switch.id for switch in out.topology.switches] == ["leaf1"]
    assert out.notes == ["statements of cables at management ports of switches, left out: 1"]


@pytest.mark.parametrize(("peer", "mistake"), [
    ("\ud800", r"the name '\ud800' is no text; correct it in the input"),
    ("a|b", "the document: name 'a|b' is empty or holds '|', which separates the ends of a link"),
])  # fmt: skip
def test_a_name_that_no_document_can_hold_is_a_mistake(peer: str, mistake: str) -> None:
    out = made({
        "h1.json": neighbours(("ens1", interface(peer, "swp1"))),
        "h1.addr.json": addresses(ens1="10.0.0.1"),
    })  # fmt: skip
    assert out.mistakes == [mistake]


def test_broken_files_are_mistakes_with_file_and_line() -> None:
    out = made({
        "a.json": b'{\n"lldp": \n}', "b.json": b"", "c.json": b"\xff\xfe", "d.json": b"[1, 2]",
        "e.json": b"[" * 100_000,
    })  # fmt: skip
    assert out.topology is None
    starts = ["a.json:3: not JSON", "b.json: empty", "c.json: not UTF-8", "d.json: no object",
              "e.json:1: not JSON"]  # fmt: skip
    for start, mistake in zip(starts, out.mistakes, strict=True):
        assert mistake.startswith(start)
        assert "\n" not in mistake


def enslaved(bond: str, ip: str, *ports: str, flag: str) -> bytes:
    """``ip -j addr`` of a host whose bond, or bridge, has the address."""
    slaves = [{"ifname": name, "flags": ["UP", flag], "master": bond, "addr_info": []}
              for name in ports]  # fmt: skip
    return json.dumps([*slaves, *json.loads(addresses(**{bond: ip}))]).encode()


def test_ports_of_a_bond_are_one_rnic_with_the_access_switches_of_all() -> None:
    cabled = (("ens1", interface("leaf1", "swp1")), ("ens2", interface("leaf2", "swp1")))
    out = made({
        "h1.json": neighbours(*cabled),
        "h1.addr.json": enslaved("bond0", "10.0.0.1", "ens1", "ens2", flag="SLAVE"),
    })  # fmt: skip
    assert out.topology is not None, out.mistakes
    ((rnic,),) = (host.rnics for host in out.topology.hosts)
    assert (rnic.real_ip, rnic.tors) == ("10.0.0.1", ("leaf1", "leaf2"))


def test_ports_of_a_bridge_are_not_bonded() -> None:
    out = made({
        "h1.json": neighbours(("ens1", interface("leaf1", "swp1"))),
        "h1.addr.json": enslaved("br0", "10.0.0.1", "ens1", flag="LOWER_UP"),
    })  # fmt: skip
    assert out.topology is None
    assert out.mistakes == ["host 'h1': no address of ens1; add rows host,port,ip with --hosts"]
