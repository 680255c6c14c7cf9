"""skh.topology -> ping lists: pairs on the same rail, as one JSON-ready document per host.

Pure. What an agent does with a document, and every field of it, is described where agents read
it, in ``probers.ping_list.document``; a contract test in tests/ holds both sides together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from schemas.documents.topology import Topology

Document = dict[str, object]

#: Every pair uses FIRST_PORT .. FIRST_PORT + ports_per_pair - 1: above the range from which Linux
#: hands out ports by itself (32768..60999), so that nobody else has taken them.
FIRST_PORT: Final = 61_100
RESPONDER_PORT: Final = 65_300


class _Place(NamedTuple):
    """An endpoint and what a record says about it."""

    node_sn: str
    rail: int
    ip: str
    real_ip: str
    layer: str
    node_id: str
    asw: str
    dsw: str
    pod: str
    tenant_id: str


def same_rail(
    topology: Topology,
    *,
    ports_per_pair: int = 4,
    targets_per_endpoint: int = 16,
    listen_port: int = RESPONDER_PORT,
    first_port: int = FIRST_PORT,
    interval_s: float = 1.0,
    dscp: int = 0,
    ring: bool = True,
) -> dict[str, Document]:
    """One ping list per host: node_sn -> document.

    Underlay: every rnic probes rnics of the same rail on other hosts, and (``ring``) the next
    rnic of its own host in both directions, which is what shows a fault between a host's own
    rnics. Overlay: every container's endpoint probes the endpoints of the same job on the same
    rail. Lists are symmetric (if a probes b then b probes a), so both sides can trace replies.

    ports_per_pair        source ports, so five-tuples, per pair: more cover more ECMP paths
    targets_per_endpoint  at most so many peers of the rail (never fewer than the two neighbours),
                          at even distances round the sorted ring of peers
    interval_s            between two probes of one five-tuple [s]
    """
    if ports_per_pair < 1 or not 1024 <= first_port <= 65_536 - ports_per_pair:
        raise ValueError(f"no {ports_per_pair} source ports from {first_port}; stay in 1024..65535")
    if targets_per_endpoint < 1:
        raise ValueError(f"targets_per_endpoint is {targets_per_endpoint}; give at least 1")
    underlay, overlay = list(_underlay(topology)), list(_overlay(topology))
    jobs = {box.node_id: box.job or box.node_id for box in topology.containers}
    groups: defaultdict[tuple[str, int], list[_Place]] = defaultdict(list)
    for place in underlay:
        groups["", place.rail].append(place)
    for place in overlay:
        groups["job:" + jobs[place.node_id], place.rail].append(place)
    pairs: set[tuple[_Place, _Place]] = set()
    for members in groups.values():
        pairs.update(_spread(sorted(members), targets_per_endpoint))
    if ring:
        pairs.update(_ring(underlay))
    ports = list(range(first_port, first_port + ports_per_pair))
    documents: dict[str, Document] = {}
    for host in topology.hosts:
        own = [place for place in (*underlay, *overlay) if place.node_sn == host.node_sn]
        documents[host.node_sn] = {
            "version": 1,
            "fabric": topology.fabric,
            "node_sn": host.node_sn,
            "interval_s": interval_s,
            "endpoints": [_endpoint(place) for place in own],
            "targets": [],
        }
    targets: defaultdict[str, list[Document]] = defaultdict(list)
    for source, peer in sorted(pairs):
        targets[source.node_sn].append(
            {
                **_endpoint(peer),
                "src_ip": source.ip,
                "node_sn": peer.node_sn,
                "port": listen_port,
                "src_ports": ports,
                "dscp": dscp,
            }
        )
    for node_sn, entries in targets.items():
        documents[node_sn]["targets"] = entries
    return documents


def _endpoint(place: _Place) -> Document:
    names = ("ip", "real_ip", "layer", "node_id", "asw", "dsw", "pod", "tenant_id")
    return {name: getattr(place, name) for name in names}


def _underlay(topology: Topology) -> Iterator[_Place]:
    above = _only_dsw(topology)
    for host in topology.hosts:
        for rnic in host.rnics:
            yield _Place(
                host.node_sn, rnic.rail, rnic.real_ip, rnic.real_ip, "underlay", "",
                rnic.asw, above.get(rnic.asw, ""), host.pod, "",
            )  # fmt: skip


def _overlay(topology: Topology) -> Iterator[_Place]:
    rnics = {place.real_ip: place for place in _underlay(topology)}
    for box in topology.containers:
        for endpoint in box.endpoints:
            under = rnics[endpoint.real_ip]
            yield under._replace(
                ip=endpoint.ip, layer="overlay", node_id=box.node_id, tenant_id=box.tenant
            )


def _only_dsw(topology: Topology) -> dict[str, str]:
    """asw -> its dsw, only where there is exactly one above it; otherwise traceroute has to say."""
    tiers = {switch.id: switch.tier for switch in topology.switches}
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for a, b in topology.links:
        neighbours[a].add(b)
        neighbours[b].add(a)
    only: dict[str, str] = {}
    for asw in (name for name, tier in tiers.items() if tier == "asw"):
        middle = {name for name in neighbours[asw] if tiers[name] == "psw"}
        reach = {asw, *middle}
        above = {up for name in reach for up in neighbours[name] if tiers[up] == "dsw"}
        if len(above) == 1:
            only[asw] = above.pop()
    return only


def _spread(members: Sequence[_Place], limit: int) -> Iterator[tuple[_Place, _Place]]:
    """Each member with at most ``limit`` others at fixed distances round the ring of members:
    symmetric, and every member is probed as often as any other. Pairs on one host are left out."""
    count = len(members)
    steps = list(range(1, count // 2 + 1))
    half = max(1, limit // 2)
    if len(steps) > half:
        steps = [1 + index * (len(steps) - 1) // max(1, half - 1) for index in range(half)]
    for index, source in enumerate(members):
        for step in set(steps):
            for peer in (members[(index + step) % count], members[index - step]):
                if peer.node_sn != source.node_sn:
                    yield source, peer


def _ring(underlay: Sequence[_Place]) -> Iterator[tuple[_Place, _Place]]:
    """Neighbouring rnics of each host, both ways."""
    hosts: defaultdict[str, list[_Place]] = defaultdict(list)
    for place in underlay:
        hosts[place.node_sn].append(place)
    for rnics in hosts.values():
        rnics.sort(key=lambda place: place.rail)
        for index, source in enumerate(rnics):
            peer = rnics[(index + 1) % len(rnics)]
            if peer != source:
                yield source, peer
                yield peer, source
