"""No bytes of a file stop an import: what cannot be read is a mistake of one line."""

from __future__ import annotations

import pytest
from builders.controller import inventory_exports as exports
from builders.streams.hostile_bytes import anything, fuzzed
from hypothesis import given
from hypothesis import strategies as st

from controller.inventory.assembly.assemble import Choices, assemble
from controller.inventory.formats.reading import FORMATS, read
from schemas.documents.topology import parse as parse_topology
from testbed.topologies import clos

FABRIC = clos.build(clos.ClosSpec(name="f1", hosts=4, rails=2, hosts_per_segment=2, spines=2), 3)
SONIC_LLDP = (
    b'{"LLDP_ENTRY_TABLE:Ethernet0": {"lldp_rem_sys_name": "h1", "lldp_rem_port_id": "eth0"},'
    b' "INTERFACE": {"Ethernet0|10.0.0.1/31": {}}}'
)
ADDRESSES = b'[{"ifname": "eth0", "addr_info": [{"local": "10.0.0.1", "scope": "global"}]}]'
GOOD = {
    "lldp": [raw for _, raw in exports.lldp(FABRIC)[:2] + exports.lldp(FABRIC, json0=True)[:2]]
    + [ADDRESSES],
    "ibnetdiscover": [raw for _, raw in exports.ibnetdiscover(FABRIC)],
    "netbox": [raw for _, raw in exports.netbox(FABRIC) + exports.netbox(FABRIC, old=True)],
    "sonic": [raw for _, raw in exports.sonic(FABRIC)[:2] + exports.sonic(FABRIC, table=True)[:2]]
    + [SONIC_LLDP],
    "csv": [exports.cable_list(FABRIC)[0][1], exports.hosts_file(FABRIC, rails=True)[0][1],
            b"host,asw,psw,dsw\nh1,a1,p1,d1\n"],
}  # fmt: skip


@pytest.mark.parametrize("source", FORMATS)
@given(data=st.data())
@fuzzed(150)
def test_any_bytes_give_a_document_or_mistakes_of_one_line(
    source: str, data: st.DataObject
) -> None:
    raw = data.draw(anything(*GOOD[source]))
    found = read([("x.json", raw)], source, hosts=exports.hosts_file(FABRIC))
    made = assemble(found, Choices())
    assert (made.topology is None) == bool(made.mistakes)
    assert all("\n" not in line and "\r" not in line for line in [*made.mistakes, *made.notes])
    if made.topology is not None:
        parse_topology(exports.encoded(made.topology))
