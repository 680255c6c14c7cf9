"""Everything that was found -> the topology document, or every mistake in it. No I/O.

Order: names of devices, cables, which devices are hosts, rnics with rail and address, tiers of
switches, the document. A step goes on with what it can, so that one run shows all mistakes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, cast

import msgspec

from controller.inventory.assembly import cables, selection, tiers
from controller.inventory.assembly.cables import Cable
from controller.inventory.assembly.rails import natural, rails
from controller.inventory.found import Found, Port
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.topology import Host, Rnic, Switch, Topology, TopologyError, parse

Tier = Literal["asw", "psw", "dsw"]


@dataclass(frozen=True, slots=True)
class Choices:
    """What an operator says beside the inputs.

    rails       names of the hosts' ports in the order of rails; other ports are no rnics
    tiers       patterns of switch names -> tier
    host_names  patterns of names of hosts
    ignore      patterns of devices, or of ports as DEVICE:PORT, that are no part of the fabric
    """

    fabric: str = DEFAULT_FABRIC
    rails: Sequence[str] = ()
    tiers: Mapping[str, str] = field(default_factory=dict)
    host_names: Sequence[str] = ()
    ignore: Sequence[str] = ()


class Assembled(NamedTuple):
    """The document, None if there is a mistake; one line for each mistake and each omission."""

    topology: Topology | None
    mistakes: list[str]
    notes: list[str]


class _Wired(NamedTuple):
    """An rnic: its port or bond, the switches that it is cabled to, rail, address."""

    port: Port
    asws: tuple[str, ...]
    rail: int
    address: str


def assemble(found: Found, choices: Choices) -> Assembled:
    """The topology of all inputs together."""
    mistakes, notes = list(found.mistakes), list(found.notes)
    found = selection.under_one_name(found)
    hosts = selection.hosts(found, choices.host_names, mistakes)
    statements = selection.statements(found, hosts, choices.ignore, notes)
    paired, contradictions = cables.pair(statements)
    mistakes += contradictions
    wired = _rnics(paired, found, hosts, choices, mistakes, notes)
    access = {asw for each in wired for asw in each.asws}
    links = {
        cast(tuple[str, str], tuple(sorted((each.a.device, each.b.device))))
        for each in paired
        if not {each.a.device, each.b.device} & hosts
    }
    switches = access.union(*links)
    given = found.tiers | {
        name: tier
        for pattern, tier in choices.tiers.items()
        for name in switches
        if fnmatchcase(name, pattern)
    }
    for pattern in choices.tiers:
        if not any(fnmatchcase(name, pattern) for name in switches):
            mistakes.append(f"--tier {pattern}: no switch has such a name; correct or remove it")
    inferred = tiers.infer(switches, links, access, given)
    if inferred.off:
        notes.append(
            f"on no shortest path between hosts, and left out: {selection.some(inferred.off)}; "
            "--tier NAME=dsw keeps one"
        )
    mistakes += [
        f"switch {name!r} is {distance} links from the access switches, beyond three tiers; "
        "name its tier with --tier, or leave it out with --ignore"
        for name, distance in inferred.far.items()
    ]
    addresses = selection.addresses_of_switches(found, inferred.tiers, notes)
    topology = _document(choices.fabric, wired, links, inferred.tiers, found.pods, addresses)
    if not wired and not mistakes:
        mistakes.append(selection.no_hosts(found))
    if not mistakes:
        try:  # what the schema knows of and this module does not
            parse(msgspec.json.encode(topology), "the document")
        except TopologyError as why:
            mistakes.append(str(why))
        except UnicodeEncodeError as why:
            mistakes.append(f"the name {why.object[:80]!r} is no text; correct it in the input")
    return Assembled(
        None if mistakes else topology, [*map(_one_line, mistakes)], [*map(_one_line, notes)]
    )


def _one_line(text: str) -> str:
    """A name from an input may hold anything."""
    return " ".join(text.split())


def _rnics(
    paired: Sequence[Cable],
    found: Found,
    hosts: set[str],
    choices: Choices,
    mistakes: list[str],
    notes: list[str],
) -> list[_Wired]:
    """Cables between a host and a switch, with what the document needs of the host's end."""
    ends: defaultdict[Port, list[tuple[str, str]]] = defaultdict(list)
    cabled: set[Port] = set()
    for cable in paired:
        at_host = [end for end in (cable.a, cable.b) if end.device in hosts]
        if len(at_host) == 1:
            other = cable.b if cable.a == at_host[0] else cable.a
            cabled.add(at_host[0])
            ends[selection.rnic_of(at_host[0], found)].append((other.device, cable.where))
        elif at_host:
            notes.append(f"{cable.where}: {cable.a} to {cable.b} joins two hosts; left out")
    chosen = selection.rnic_ports(ends, found, choices.rails, notes)
    rail_of = dict(rails(chosen, choices.rails))
    rail_of |= {p: row.rail for p, row in found.rnics.items() if row.rail is not None}
    wired: list[_Wired] = []
    where_of: dict[str, str] = {}
    unaddressed: defaultdict[str, list[str]] = defaultdict(list)
    for port in chosen:
        row = found.rnics.get(port)
        known = found.addresses.get(port, [])
        address = row.address if row is not None else known[0] if known else ""
        where = ends[port][0][1]
        asws = tuple(sorted({asw for asw, _ in ends[port]}, key=natural))
        if not address:
            unaddressed[port.device].append(port.name)
        elif address in where_of:
            if row is None:  # rows of the hosts file are compared below
                mistakes.append(
                    f"{where}: {port} has the address {address} of {where_of[address]}; correct one"
                )
        else:
            where_of[address] = str(port)
            wired.append(_Wired(port, asws, rail_of[port], address))
    stated = {each.port for each in found.statements}
    stated |= {Port(each.peer, name) for each in found.statements for name in each.peer_ports}
    members: defaultdict[Port, list[Port]] = defaultdict(list)
    for port, bond in found.bonds.items():
        members[bond].append(port)
    first: dict[str, Port] = {}
    for row_port, row in found.rnics.items():
        if (before := first.setdefault(row.address, row_port)) != row_port:
            mistakes.append(
                f"{row.where}: {row_port} has the address {row.address} of {before} "
                f"({found.rnics[before].where}); correct one"
            )
        for port in members.get(row_port, [row_port]):
            if port in cabled or port in stated:
                continue
            others = sorted(each.name for each in cabled if each.device == port.device)
            there = (
                f"cabled are {selection.some(others)}; correct the row" if others
                else "add its switch's, or remove the row"
            )  # fmt: skip
            mistakes.append(f"{row.where}: no input has a cable of {port}; {there}")
    mistakes += [
        f"host {host!r}: no address of {selection.some(names)}; add rows host,port,ip with --hosts"
        for host, names in unaddressed.items()
    ]
    mistakes += _rails_taken_twice(wired)
    return wired


def _rails_taken_twice(wired: Sequence[_Wired]) -> list[str]:
    taken: dict[tuple[str, int], Port] = {}
    out = []
    for each in wired:
        before = taken.setdefault((each.port.device, each.rail), each.port)
        if before != each.port:
            out.append(
                f"host {each.port.device!r}: {before.name} and {each.port.name} are both rail "
                f"{each.rail}; correct the hosts file or --rails"
            )
    return out


def _rnic(wired: _Wired) -> Rnic:
    if len(wired.asws) == 1:
        return Rnic(wired.address, wired.rail, wired.asws[0])
    return Rnic(wired.address, wired.rail, asws=[*wired.asws])


def _document(
    fabric: str,
    wired: Sequence[_Wired],
    links: set[tuple[str, str]],
    tier_of: Mapping[str, str],
    pods: Mapping[str, str],
    addresses: Mapping[str, list[str]],
) -> Topology:
    of_host: defaultdict[str, list[_Wired]] = defaultdict(list)
    for each in wired:
        of_host[each.port.device].append(each)
    kept = sorted(link for link in links if link[0] in tier_of and link[1] in tier_of)
    pod_of = selection.pods_of_switches(
        [(each.port.device, asw) for each in wired for asw in each.asws], kept, tier_of, pods
    )
    return Topology(
        fabric=fabric,
        hosts=[
            Host(
                name,
                [_rnic(each)
                 for each in sorted(of_host[name], key=lambda each: each.rail)],
                pods.get(name, ""),
            )
            for name in sorted(of_host, key=natural)
        ],
        switches=[
            Switch(name, cast(Tier, tier), pod_of.get(name, ""), addresses.get(name, []))
            for tier, name in sorted(
                ((tier, name) for name, tier in tier_of.items()),
                key=lambda each: (tiers.TIERS.index(each[0]), natural(each[1])),
            )
        ],
        links=kept,
    )  # fmt: skip
