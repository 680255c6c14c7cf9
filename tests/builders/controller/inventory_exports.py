"""A topology as each format of the inventory would show it: what an import must give back.

Shapes after the formats' manuals and outputs in public repositories, labelled at each builder;
contents are our own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from controller.inventory.assembly.assemble import Assembled, Choices, assemble
from controller.inventory.formats.reading import read
from controller.inventory.found import joined
from schemas.documents.topology import Topology
from testbed.topologies import clos

Files = list[tuple[str, bytes]]


class Wire(NamedTuple):
    """A cable with ports: swp1, swp2, ... of switches in order, mlx5_RAIL of hosts."""

    a: str
    a_port: str
    b: str
    b_port: str


def wires(topology: Topology) -> list[Wire]:
    number: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    out = [
        Wire(host.node_sn, f"mlx5_{rnic.rail}", rnic.asw, f"swp{next(number[rnic.asw])}")
        for host in topology.hosts
        for rnic in host.rnics
    ]
    out += [Wire(a, f"swp{next(number[a])}", b, f"swp{next(number[b])}") for a, b in topology.links]
    return out


@st.composite
def fabrics(draw: st.DrawFn) -> Topology:
    """Clos fabrics of which probes can cross every switch, without their containers."""
    tiers = draw(st.sampled_from([2, 3]))
    segments = draw(st.integers(2, 4))
    per_segment = draw(st.integers(1, 3))
    spec = clos.ClosSpec(
        name=draw(st.sampled_from(["f1", "default"])),
        hosts=segments * per_segment,
        hosts_per_segment=per_segment,
        rails=draw(st.integers(1, 12)),
        aggs=0 if tiers == 2 else draw(st.integers(1, 3)),
        pods=draw(st.integers(2, segments)),
        spines=draw(st.integers(1, 3)),
    )
    made = clos.build(spec, draw(st.integers(1, 4000)))
    return Topology(1, made.fabric, made.hosts, made.switches, made.links)


def hosts_file(topology: Topology, *, rails: bool = False) -> Files:
    """host,port,ip,pod"""
    lines = [f"host,port,ip,pod{',rail' if rails else ''}"]
    lines += [
        f"{host.node_sn},mlx5_{rnic.rail},{rnic.real_ip},{host.pod}"
        + (f",{rnic.rail}" if rails else "")
        for host in topology.hosts
        for rnic in host.rnics
    ]
    return [("hosts.csv", "\n".join(lines).encode())]


def cable_list(topology: Topology) -> Files:
    lines = ["a_device,a_port,b_device,b_port", *(",".join(wire) for wire in wires(topology))]
    return [("cables.csv", "\n".join(lines).encode())]


def lldp(topology: Topology, *, json0: bool = False) -> Files:
    """``lldpcli -f json show neighbors`` of every device; shape: outputs in public tests."""
    of: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    host_names = {host.node_sn for host in topology.hosts}
    for wire in wires(topology):
        ends = ((wire.a, wire.a_port, wire.b, wire.b_port), (wire.b, wire.b_port, *wire[:2]))
        for device, port, peer, peer_port in ends:
            forwards = peer not in host_names
            if json0:
                of[device].append({
                    "name": port, "via": "LLDP",
                    "chassis": [{"id": [{"type": "mac", "value": "02:00:00:00:00:01"}],
                                 "name": [{"value": peer}],
                                 "capability": [{"type": "Router", "enabled": forwards}]}],
                    "port": [{"id": [{"type": "ifname", "value": peer_port}],
                              "descr": [{"value": peer_port}]}],
                })  # fmt: skip
            else:
                mac = {"type": "mac", "value": f"02:00:00:00:{len(of):02x}:{len(of[device]):02x}"}
                identity = {"type": "ifname", "value": peer_port} if forwards else mac
                of[device].append({port: {
                    "via": "LLDP", "rid": "1", "age": "0 day, 01:02:03",
                    "chassis": {peer: {
                        "id": {"type": "mac", "value": "02:00:00:00:00:01"},
                        "capability": [{"type": "Bridge", "enabled": False},
                                       {"type": "Router", "enabled": forwards}],
                    }},
                    "port": {"id": identity, "descr": f"Interface   8 as {peer_port}"},
                }})  # fmt: skip
    out = []
    for device, interfaces in of.items():
        written: Any = interfaces if len(interfaces) > 1 or json0 else interfaces[0]
        body: Any = {"interface": written}
        document = {"lldp": [body] if json0 else body}
        out.append((f"{device}.json", json.dumps(document).encode()))
    return out


def ibnetdiscover(topology: Topology) -> Files:
    """Shape: the example in infiniband-diags' manual page; switches as MF0;NAME:MODEL/U1."""
    identity: dict[str, str] = {}
    for n, switch in enumerate(topology.switches):
        identity[switch.id] = f"S-{0xAA00 + n:016x}"
    cables = wires(topology)
    adapters = [wire for wire in cables if wire.a not in identity]
    guid = {(wire.a, wire.a_port): 0xBB00 + n for n, wire in enumerate(adapters)}
    lines = ["#", "# Topology file: generated on Sun Nov 22 10:00:00 2026", "#"]
    for name, node in identity.items():
        lines += ["", "vendid=0x2c9", "devid=0xd2f0", f"switchguid=0x{node[2:]}({node[2:]})"]
        lines += [f'Switch\t64 "{node}"\t\t# "MF0;{name}:MQM9700/U1" enhanced port 0 lid 4 lmc 0']
        for wire in cables:
            ends = ((wire.a, wire.a_port, wire.b, wire.b_port), (wire.b, wire.b_port, *wire[:2]))
            for device, port, peer, peer_port in ends:
                if device != name:
                    continue
                if peer in identity:
                    lines.append(f'[{port[3:]}]\t"{identity[peer]}"[{peer_port[3:]}]\t\t# "{peer}"')
                else:
                    number = guid[peer, peer_port]
                    lines.append(
                        f'[{port[3:]}]\t"H-{number:016x}"[1]({number:x}) \t\t'
                        f'# "{peer} {peer_port}" lid 9 4xNDR'
                    )
    for wire in adapters:
        number = guid[wire.a, wire.a_port]
        lines += ["", "vendid=0x2c9", f"caguid=0x{number:x}"]
        lines += [f'Ca\t1 "H-{number:016x}"\t\t# "{wire.a} {wire.a_port}"']
        lines += [
            f'[1]({number:x}) \t"{identity[wire.b]}"[{wire.b_port[3:]}]\t\t# lid 9 lmc 0 "x" lid 4 '
            "4xNDR"
        ]
    return [("ibnet.txt", "\n".join(lines).encode())]


def netbox(topology: Topology, *, old: bool = False) -> Files:
    """Answers of the REST API; shape: NetBox's reference, ``old``: of releases before 3.3."""
    base = "https://netbox.example.com/api"
    role = "device_role" if old else "role"
    devices = [
        {"url": f"{base}/dcim/devices/{n}/", "name": host.node_sn, role: {"slug": "gpu-server"},
         "location": {"name": host.pod} if host.pod else None}
        for n, host in enumerate(topology.hosts)
    ]  # fmt: skip
    devices += [
        {"url": f"{base}/dcim/devices/{9000 + n}/", "name": s.id, role: {"slug": "leaf"}}
        for n, s in enumerate(topology.switches)
    ]
    cables = []
    for n, wire in enumerate(wires(topology)):
        a, b = (
            {"name": port, "device": {"name": device}}
            for device, port in ((wire.a, wire.a_port), (wire.b, wire.b_port))
        )
        cable: dict[str, Any] = {
            "url": f"{base}/dcim/cables/{n}/", "display": f"#{n}", "status": {"value": "connected"},
        }  # fmt: skip
        if old:
            cable |= {"termination_a_type": "dcim.interface", "termination_a": a,
                      "termination_b_type": "dcim.interface", "termination_b": b}  # fmt: skip
        else:
            for side, end in (("a", a), ("b", b)):
                cable[f"{side}_terminations"] = [{"object_type": "dcim.interface", "object": end}]
        cables.append(cable)
    addresses = [
        {"url": f"{base}/ipam/ip-addresses/1/", "address": f"{rnic.real_ip}/31",
         "assigned_object": {"name": f"mlx5_{rnic.rail}", "device": {"name": host.node_sn}}}
        for host in topology.hosts
        for rnic in host.rnics
    ]  # fmt: skip
    return [
        (name, json.dumps({"count": len(items), "next": None, "results": items}).encode())
        for name, items in (("devices.json", devices), ("cables.json", cables),
                            ("addresses.json", addresses))
    ]  # fmt: skip


def sonic(topology: Topology, *, table: bool = False) -> Files:
    """config_db.json of every switch, or ``show lldp table``; shape: SONiC's manual and tests."""
    kinds = {switch.id: switch.tier for switch in topology.switches}
    of: defaultdict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for wire in wires(topology):
        of[wire.b].append((wire.b_port, wire.a, wire.a_port))
        if wire.a in kinds:
            of[wire.a].append((wire.a_port, wire.b, wire.b_port))
    out = []
    for name, rows in of.items():
        if table:
            widths = [max(len(row[column]) for row in rows) + 14 for column in range(3)]
            head = ("LocalPort", "RemoteDevice", "RemotePortID")
            lines = ["Capability codes: (R) Router, (B) Bridge, (O) Other"]
            lines += ["  ".join(h.ljust(w) for h, w in zip(head, widths, strict=True))
                      + "  Capability    RemotePortDescr"]  # fmt: skip
            lines += ["  ".join("-" * w for w in widths) + "  ------------  ---------------"]
            for row in rows:
                able = "BR" if row[1] in kinds else "O"
                cells = "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True))
                lines.append(f"{cells}  {able:<12}  {row[2]}")
            lines += ["-" * 50, f"Total entries displayed:  {len(rows)}"]
            out.append((f"{name}.txt", "\n".join(lines).encode()))
            continue
        config = {
            "DEVICE_METADATA": {"localhost": {"hostname": name, "type": "LeafRouter"}},
            "DEVICE_NEIGHBOR": {port: {"name": peer, "port": at} for port, peer, at in rows},
            "DEVICE_NEIGHBOR_METADATA": {
                peer: {"type": "SpineRouter" if peer in kinds else "Server"} for _, peer, _ in rows
            },
        }
        out.append((f"{name}-config_db.json", json.dumps(config).encode()))
    return out


def imported(source: str, files: Files, hosts: Files, choices: Choices | None = None) -> Assembled:
    found = joined([read(files, source), read(hosts, "csv")])
    return assemble(found, choices or Choices())


def encoded(topology: Topology) -> bytes:
    return msgspec.json.encode(topology)


def same_graph(made: Topology | None, wanted: Topology) -> bool:
    """Hosts, rnics with rails and addresses, switches with tiers, links; in any order."""
    if made is None:
        return False

    def graph(topology: Topology) -> Any:
        return (
            topology.fabric,
            {(h.node_sn, h.pod, r.real_ip, r.rail, r.asw) for h in topology.hosts for r in h.rnics},
            {(s.id, s.tier, s.pod) for s in topology.switches},
            {tuple(sorted(link)) for link in topology.links},
        )

    return bool(graph(made) == graph(wanted))
