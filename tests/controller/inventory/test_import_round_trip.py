"""An export of a fabric in any format gives the same fabric back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders.controller import inventory_exports as exports
from builders.controller.inventory_exports import imported, same_graph
from hypothesis import given, settings

from controller.inventory.assembly.assemble import Choices
from schemas.documents.topology import Topology

Export = Callable[[Topology], exports.Files]
EXPORTS: dict[str, tuple[str, Export]] = {
    "lldp json": ("lldp", exports.lldp),
    "lldp json0": ("lldp", lambda t: exports.lldp(t, json0=True)),
    "ibnetdiscover": ("ibnetdiscover", exports.ibnetdiscover),
    "netbox": ("netbox", exports.netbox),
    "netbox before 3.3": ("netbox", lambda t: exports.netbox(t, old=True)),
    "sonic config_db": ("sonic", exports.sonic),
    "sonic show lldp table": ("sonic", lambda t: exports.sonic(t, table=True)),
    "csv": ("csv", exports.cable_list),
}


@pytest.mark.parametrize("name", EXPORTS)
@given(exports.fabrics())
@settings(max_examples=25, deadline=None)
def test_an_exported_clos_comes_back(name: str, topology: Topology) -> None:
    source, export = EXPORTS[name]
    made = imported(
        source, export(topology), exports.hosts_file(topology), Choices(fabric=topology.fabric)
    )
    assert made.mistakes == []
    assert same_graph(made.topology, topology)


@given(exports.fabrics())
@settings(max_examples=25, deadline=None)
def test_inputs_that_agree_join_into_one_fabric(topology: Topology) -> None:
    files: Any = exports.sonic(topology)
    both = exports.joined([
        exports.read(files, "sonic"),
        exports.read(exports.lldp(topology), "lldp"),
        exports.read(exports.cable_list(topology), "csv"),
        exports.read(exports.hosts_file(topology), "csv"),
    ])  # fmt: skip
    made = exports.assemble(both, Choices(fabric=topology.fabric))
    assert made.mistakes == []
    assert same_graph(made.topology, topology)


@given(exports.fabrics())
@settings(max_examples=25, deadline=None)
def test_netbox_alone_has_hosts_addresses_and_pods(topology: Topology) -> None:
    made = imported("netbox", exports.netbox(topology), [], Choices(fabric=topology.fabric))
    assert made.mistakes == []
    assert same_graph(made.topology, topology)


@given(exports.fabrics())
@settings(max_examples=25, deadline=None)
def test_ibnetdiscover_alone_names_rnics_by_their_link_local_gid(topology: Topology) -> None:
    made = imported("ibnetdiscover", exports.ibnetdiscover(topology), [])
    assert made.mistakes == []
    assert made.topology is not None
    rnics = [rnic for host in made.topology.hosts for rnic in host.rnics]
    assert all(rnic.real_ip.startswith("fe80::") for rnic in rnics)
    assert len(made.topology.links) == len(topology.links)
