"""skh.topology and topology.json: the static fabric and the containers placed on it.

A document is checked as a whole when it is decoded: every name that it uses is defined. An unknown
field is an error, because a misspelt field must not count as absent. On the topic a document holds
from ``valid_from`` on, in event time, until the next one of its fabric.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from schemas.addresses import misspelt
from schemas.documents.decoding import DocumentError, decode
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.times import seconds_of

#: Access switches that an rnic is bonded over [count].
MOST_ASWS: Final = 8


class TopologyError(ValueError):
    """The document is no valid topology; one line: where, what, what to do."""


class Rnic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An rnic of a host: its underlay address, rail (rank in the host) and access switch.

    asws  in place of ``asw``, all access switches of an rnic that is bonded over several; not
          written where there is none, so that programs which do not know it can read the document
    """

    real_ip: str
    rail: int = 0
    asw: str = ""
    asws: list[str] | msgspec.UnsetType = msgspec.UNSET

    @property
    def tors(self) -> tuple[str, ...]:
        """All access switches; none where the document names none."""
        return (self.asw,) if self.asw else tuple(self.asws or ())

    @property
    def bonded(self) -> bool:
        """Whether there are several."""
        return len(self.tors) > 1


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GPU host."""

    node_sn: str
    rnics: list[Rnic]
    pod: str = ""


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A switch; ``addresses`` are its interfaces as traceroute shows them."""

    id: str
    tier: Literal["asw", "psw", "dsw"]
    pod: str = ""
    addresses: list[str] = []


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """(container, rnic): the container's address and the rnic behind it."""

    ip: str
    real_ip: str


class Container(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A container placed on a host, with the training job and tenant it works for."""

    node_id: str
    node_sn: str
    job: str = ""
    tenant: str = ""
    endpoints: list[Endpoint] = []


class Topology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fabric. ``links`` joins switch ids; links of rnics follow from ``asw`` and ``asws``.

    valid_from  RFC 3339; empty: on the topic the time of its message, in a file always
    """

    version: int = 1
    fabric: str = DEFAULT_FABRIC
    hosts: list[Host] = []
    switches: list[Switch] = []
    links: list[tuple[str, str]] = []
    containers: list[Container] = []
    valid_from: str = ""


def parse(raw: bytes, where: str = "topology") -> Topology:
    """Decode and check a document; raises TopologyError."""
    try:
        topology = decode(raw, Topology)
    except DocumentError as why:
        raise TopologyError(f"{where}: {why}; see schemas/json/topology.schema.json") from why
    _check(topology, where)
    return topology


def load(path: Path) -> Topology:
    """Decode a file; raises TopologyError, also when it cannot be read."""
    try:
        raw = path.read_bytes()
    except OSError as why:
        raise TopologyError(f"{path}: {why.strerror}; give a readable topology.json") from why
    return parse(raw, str(path))


def _bond(rnic: Rnic) -> str | None:
    """What is wrong about the switches that an rnic is bonded over; None if nothing is."""
    if rnic.asws is msgspec.UNSET:
        return None
    if rnic.asw:
        return "has asw and asws; name all of its access switches in asws alone"
    if len(set(rnic.asws)) < len(rnic.asws):
        return f"names asws {', '.join(rnic.asws)}: one of them twice; remove it"
    if not 2 <= len(rnic.asws) <= MOST_ASWS:
        return f"has {len(rnic.asws)} asws; a bond has 2 to {MOST_ASWS}, and a single switch is asw"
    return None


def _check(topology: Topology, where: str) -> None:
    def fail(what: str) -> None:
        raise TopologyError(f"{where}: {what}")

    if topology.version != 1:
        fail(f"version {topology.version} is not known; this release reads version 1")
    if topology.valid_from:
        try:
            seconds_of(topology.valid_from)
        except ValueError as why:
            fail(f"valid_from: {why}")
    if not any(host.rnics for host in topology.hosts):
        fail("no host with an rnic, so that no probe can be placed on it; list them in hosts")
    if not topology.fabric:
        fail("fabric is empty; leave the field out for 'default'")
    switches = {switch.id for switch in topology.switches}
    if len(switches) != len(topology.switches):
        fail("two switches have the same id; ids are unique within a fabric")
    for a, b in topology.links:
        for end in (a, b):
            if end not in switches:
                fail(f"link [{a}, {b}] names switch {end!r}, which is not in switches; add it")
    hosts: set[str] = set()
    rnics: set[str] = set()
    for host in topology.hosts:
        if host.node_sn in hosts:
            fail(f"host {host.node_sn!r} appears twice; merge the entries")
        hosts.add(host.node_sn)
        for rnic in host.rnics:
            if rnic.real_ip in rnics:
                fail(f"rnic {rnic.real_ip!r} appears twice; an rnic belongs to one host")
            rnics.add(rnic.real_ip)
            for asw in rnic.tors:
                if asw not in switches:
                    fail(f"rnic {rnic.real_ip} names asw {asw!r}, which is not in switches; add it")
            if wrong := _bond(rnic):
                fail(f"rnic {rnic.real_ip} {wrong}")
    containers: set[str] = set()
    for container in topology.containers:
        node_id = container.node_id
        if node_id in containers:
            fail(f"container {node_id!r} appears twice; merge the entries")
        containers.add(node_id)
        if container.node_sn not in hosts:
            fail(f"container {node_id!r} names host {container.node_sn!r}, not in hosts; add it")
        for endpoint in container.endpoints:
            if endpoint.real_ip not in rnics:
                fail(f"container {node_id!r} names rnic {endpoint.real_ip!r}, not in hosts")
    addresses = [each.ip for box in topology.containers for each in box.endpoints]
    addresses += [address for switch in topology.switches for address in switch.addresses]
    for name in [*rnics, *addresses]:
        if spelling := misspelt(name):
            fail(f"address {name!r} is {spelling} in its canonical spelling, as records have it")
    for name in [*switches, *hosts, *rnics, *containers]:
        if not name or "|" in name:
            fail(f"name {name!r} is empty or holds '|', which separates the ends of a link")
