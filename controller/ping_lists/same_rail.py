"""Topology -> ping lists: pairs on the same rail, one JSON-ready document per host.

Pure. The fields are described where agents decode a document, in ``probers.ping_list.document``; a
test decodes these documents with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from schemas.documents.topology import Topology

Document = dict[str, object]

#: First source port of every pair: above Linux' range of ephemeral ports (32768..60999), so that no
#: other program has bound it.
FIRST_PORT: Final = 61_100
RESPONDER_PORT: Final = 65_300


class _Endpoint(NamedTuple):
    """An endpoint with the names that its records carry."""

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

    Underlay: every rnic probes rnics of the same rail on other hosts, and (``ring``) its neighbours
    on its own host, which reveals faults between a host's rnics. Overlay: every container endpoint
    probes the endpoints of the same job on the same rail. Lists are symmetric (if a probes b, b
    probes a), so both sides can trace replies.

    ports_per_pair        source ports, so five-tuples, per pair [count]; more cover more ECMP paths
    targets_per_endpoint  peers of the same rail at most [count], but at least the two neighbours;
                          at even distances on the sorted ring of peers
    first_port            every pair uses first_port .. first_port + ports_per_pair - 1
    interval_s            between two probes of one five-tuple [s]
    Raises ValueError for ports outside of 1024..65535 and for no target at all.
    """
    if ports_per_pair < 1 or not 1024 <= first_port <= 65_536 - ports_per_pair:
        raise ValueError(f"no {ports_per_pair} source ports from {first_port}; stay in 1024..65535")
    if targets_per_endpoint < 1:
        raise ValueError(f"targets_per_endpoint is {targets_per_endpoint}; give at least 1")
    underlay, overlay = list(_underlay(topology)), list(_overlay(topology))
    jobs = {
        container.node_id: container.job or container.node_id for container in topology.containers
    }
    groups: defaultdict[tuple[str, int], list[_Endpoint]] = defaultdict(list)
    for endpoint in underlay:
        groups["", endpoint.rail].append(endpoint)
    for endpoint in overlay:
        groups["job:" + jobs[endpoint.node_id], endpoint.rail].append(endpoint)
    pairs: set[tuple[_Endpoint, _Endpoint]] = set()
    for members in groups.values():
        pairs.update(_spread(sorted(members), targets_per_endpoint))
    if ring:
        pairs.update(_ring(underlay))
    ports = list(range(first_port, first_port + ports_per_pair))
    documents: dict[str, Document] = {}
    for host in topology.hosts:
        own = [endpoint for endpoint in (*underlay, *overlay) if endpoint.node_sn == host.node_sn]
        documents[host.node_sn] = {
            "version": 1,
            "fabric": topology.fabric,
            "node_sn": host.node_sn,
            "interval_s": interval_s,
            "endpoints": [_document(endpoint) for endpoint in own],
            "targets": [],
        }
    targets: defaultdict[str, list[Document]] = defaultdict(list)
    for source, peer in sorted(pairs):
        targets[source.node_sn].append(
            {
                **_document(peer),
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


def _document(endpoint: _Endpoint) -> Document:
    names = ("ip", "real_ip", "layer", "node_id", "asw", "dsw", "pod", "tenant_id")
    return {name: getattr(endpoint, name) for name in names}


def _underlay(topology: Topology) -> Iterator[_Endpoint]:
    above = _only_dsw(topology)
    for host in topology.hosts:
        for rnic in host.rnics:
            yield _Endpoint(
                host.node_sn, rnic.rail, rnic.real_ip, rnic.real_ip, "underlay", "",
                rnic.asw, above.get(rnic.asw, ""), host.pod, "",
            )  # fmt: skip


def _overlay(topology: Topology) -> Iterator[_Endpoint]:
    rnics = {endpoint.real_ip: endpoint for endpoint in _underlay(topology)}
    for container in topology.containers:
        for own in container.endpoints:
            under = rnics[own.real_ip]
            yield under._replace(
                ip=own.ip, layer="overlay", node_id=container.node_id, tenant_id=container.tenant
            )


def _only_dsw(topology: Topology) -> dict[str, str]:
    """asw -> the dsw above it, where there is exactly one; elsewhere only a traceroute shows it."""
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


def _spread(members: Sequence[_Endpoint], limit: int) -> Iterator[tuple[_Endpoint, _Endpoint]]:
    """Pairs of each member with at most ``limit`` others, at fixed distances on their ring.

    Symmetric, and every member is probed equally often. Pairs on one host are omitted.
    """
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


def _ring(underlay: Sequence[_Endpoint]) -> Iterator[tuple[_Endpoint, _Endpoint]]:
    """Pairs of neighbouring rnics of each host, in both directions."""
    hosts: defaultdict[str, list[_Endpoint]] = defaultdict(list)
    for endpoint in underlay:
        hosts[endpoint.node_sn].append(endpoint)
    for rnics in hosts.values():
        rnics.sort(key=lambda endpoint: endpoint.rail)
        for index, source in enumerate(rnics):
            peer = rnics[(index + 1) % len(rnics)]
            if peer != source:
                yield source, peer
                yield peer, source
