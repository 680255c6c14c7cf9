"""SONiC: configuration and LLDP, of the databases and of the command's table.

The table's shape was recorded from public outputs of ``show lldp table``; contents are our own.
"""

from __future__ import annotations

import json
from typing import Any

from controller.inventory.assembly.assemble import Choices, assemble
from controller.inventory.formats import cable_list, sonic
from controller.inventory.found import Found, Port, joined

TABLE = """Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr
-----------  --------------  -----------------  ------------  -----------------
Ethernet0    h1              0c:42:a1:88:0a:1c  O             Interface   8 as enp5s0
Ethernet4    spine1          fortyGigE0/4       BR            Ethernet4
eth0         oob1            swp23              BR            swp23
--------------------------------------------------
Total entries displayed:  3
"""


def config(**tables: Any) -> bytes:
    return json.dumps(
        {"DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "type": "ToRRouter"}}} | tables
    ).encode()


def ports(found: Found) -> dict[Port, tuple[str, tuple[str, ...]]]:
    return {each.port: (each.peer, each.peer_ports) for each in found.statements}


def test_the_table_of_the_command_is_read_by_its_columns() -> None:
    found = sonic.read(TABLE.encode(), "leaf1.txt")
    assert ports(found) == {
        Port("leaf1", "Ethernet0"): ("h1", ("enp5s0", "0c:42:a1:88:0a:1c")),
        Port("leaf1", "Ethernet4"): ("spine1", ("Ethernet4", "fortyGigE0/4")),
        Port("leaf1", "eth0"): ("oob1", ("swp23",)),
    }
    assert found.kinds == {"leaf1": "switch", "h1": "host"}


def test_addresses_of_interfaces_are_hops_of_the_switch() -> None:
    raw = config(
        DEVICE_NEIGHBOR={"Ethernet0": {"name": "h1", "port": "eth0"}},
        DEVICE_NEIGHBOR_METADATA={"h1": {"type": "Server"}},
        INTERFACE={"Ethernet0": {}, "Ethernet0|10.1.0.0/31": {}},
        LOOPBACK_INTERFACE={"Loopback0|10.255.0.1/32": {}},
    )
    hosts = cable_list.read(b"host,port,ip\nh1,eth0,10.1.0.1\n", "hosts.csv")
    out = assemble(joined([sonic.read(raw, "c.json"), hosts]), Choices())
    assert out.topology is not None, out.mistakes
    assert out.topology.switches[0].addresses == ["10.1.0.0", "10.255.0.1"]


def test_what_is_cabled_and_what_is_meant_to_be_must_agree() -> None:
    raw = config(
        DEVICE_NEIGHBOR={"Ethernet0": {"name": "h1", "port": "eth0"}},
        LLDP_ENTRY_TABLE={"Ethernet0": {"lldp_rem_sys_name": "h2", "lldp_rem_port_id": "eth0"}},
    )
    out = assemble(sonic.read(raw, "c.json"), Choices(host_names=("h*",)))
    assert out.mistakes[:1] == [
        "c.json: LLDP_ENTRY_TABLE:Ethernet0: leaf1:Ethernet0 is cabled to h2:eth0 and, by "
        "c.json: DEVICE_NEIGHBOR|Ethernet0, to h1:eth0; remove the wrong one"
    ]


def test_a_dump_of_the_database_has_its_keys_split() -> None:
    dump = {
        "LLDP_ENTRY_TABLE:Ethernet0": {
            "type": "hash",
            "value": {"lldp_rem_sys_name": "h1", "lldp_rem_port_id": "eth0",
                      "lldp_rem_sys_cap_enabled": "00 80"},
        },
        "LLDP_ENTRY_TABLE:Ethernet4": {"type": "hash", "value": {"lldp_rem_port_id": "x"}},
    }  # fmt: skip
    found = sonic.read(json.dumps(dump).encode(), "leaf7.json")
    assert ports(found) == {Port("leaf7", "Ethernet0"): ("h1", ("eth0",))}
    assert found.kinds["h1"] == "host"
    assert "no system name" in found.notes[0]


def test_other_files_say_what_is_expected() -> None:
    assert "DEVICE_NEIGHBOR" in sonic.read(b"{}", "x.json").mistakes[0]
    assert "show lldp table" in sonic.read(b"Interface status", "x.txt").mistakes[0]
    assert "not JSON" in sonic.read(b"{,}", "x.json").mistakes[0]
