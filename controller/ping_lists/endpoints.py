"""Endpoints with the names that their ping records carry, and the entries of lists. Pure.

The fields are described where agents decode a document, in ``probers.ping_list.document``; a test
decodes these documents with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from schemas.documents.placement import Placement
from schemas.documents.topology import Topology

Document = dict[str, object]


class Endpoint(NamedTuple):
    """An endpoint; sorts by host and rail. node_id is empty in the underlay."""

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

    def document(self) -> Document:
        """As in the list's ``endpoints``."""
        names = ("ip", "real_ip", "layer", "node_id", "asw", "dsw", "pod", "tenant_id")
        return {name: getattr(self, name) for name in names}


def entry(
    source: Endpoint, peer: Endpoint, ports: Sequence[int], listen_port: int, dscp: int
) -> Document:
    """As in the list's ``targets``."""
    return {
        **peer.document(),
        "src_ip": source.ip,
        "node_sn": peer.node_sn,
        "port": listen_port,
        "src_ports": list(ports),
        "dscp": dscp,
    }


def underlay(topology: Topology) -> dict[str, Endpoint]:
    """The rnics by real_ip, in the order of the document."""
    above = _only_dsw(topology)
    return {
        rnic.real_ip: Endpoint(
            host.node_sn, rnic.rail, rnic.real_ip, rnic.real_ip, "underlay", "",
            rnic.asw, above.get(rnic.asw, ""), host.pod, "",
        )
        for host in topology.hosts
        for rnic in host.rnics
    }  # fmt: skip


def overlay(rnics: dict[str, Endpoint], box: Placement) -> list[Endpoint]:
    """Endpoints of a container; those behind rnics that its host does not have are left out.

    So are those that are rnics themselves (``own_rnics``). Of two with the same address the first
    counts.
    """
    found: dict[str, Endpoint] = {}
    for own in box.endpoints:
        rnic = rnics.get(own.real_ip)
        if rnic is None or rnic.node_sn != box.node_sn or own.ip in rnics or own.ip in found:
            continue
        found[own.ip] = rnic._replace(
            ip=own.ip, layer="overlay", node_id=box.node_id, tenant_id=box.tenant
        )
    return [*found.values()]


def own_rnics(rnics: dict[str, Endpoint], box: Placement) -> list[Endpoint]:
    """Rnics whose own addresses a container uses, as one on its host's network does."""
    named = (own.ip for own in box.endpoints if own.ip == own.real_ip)
    return [rnics[ip] for ip in dict.fromkeys(named) if _has(rnics, ip, box.node_sn)]


def _has(rnics: dict[str, Endpoint], ip: str, node_sn: str) -> bool:
    return ip in rnics and rnics[ip].node_sn == node_sn


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
