"""Traceroutes through a fabric as it really is: every switch hashes the five-tuple."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import permutations

import msgspec

from controller.inventory.traced.contradictions import Comparison, compare
from controller.inventory.traced.routes import FiveTuple, Observed, Trace
from schemas.documents.topology import Topology
from testbed.topologies import clos


def clos_fabric(seed: int = 1, *, tiers: int = 3, hosts: int = 12) -> Topology:
    """Three tiers: 2 pods of 2 aggregation switches, 4 spines; or two tiers; 2 rails."""
    spec = clos.ClosSpec(
        name="f1", hosts=hosts, rails=2, hosts_per_segment=3, aggs=2 if tiers == 3 else 0,
        pods=2, spines=4,
    )  # fmt: skip
    return clos.build(spec, seed)


def traces(topology: Topology, ports: int = 8, *, polarized: bool = False) -> Iterator[Trace]:
    """Traceroutes of every pair of rnics of a rail, each twice.

    polarized  all switches hash alike
    """
    near: defaultdict[str, set[str]] = defaultdict(set)
    for a, b in topology.links:
        near[a].add(b)
        near[b].add(a)
    rails: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for host in topology.hosts:
        for rnic in host.rnics:
            rails[rnic.rail].append((rnic.real_ip, rnic.asw))
    distances: dict[str, dict[str, int]] = {}
    for members in rails.values():
        for (src, a), (dst, b) in permutations(members, 2):
            if b not in distances:
                distances[b] = _distances(near, b)
            for port in range(ports):
                five_tuple = FiveTuple(src, dst, 61_100 + port, 65_300)
                route = _route(near, distances[b], a, b, five_tuple, polarized)
                for _ in range(2):
                    yield Trace(five_tuple, src, dst, tuple(route), True)


def compared(document: Topology, real: Topology, ports: int = 8, **how: bool) -> Comparison:
    observed = Observed(document)
    observed.add(traces(real, ports, **how))
    return compare(document, observed)


def relinked(
    topology: Topology, *changes: tuple[tuple[str, str], tuple[str, str] | None]
) -> Topology:
    """With each link replaced by another one, or removed."""
    links = {tuple(sorted(link)): link for link in topology.links}
    for old, new in changes:
        del links[tuple(sorted(old))]
        if new is not None:
            links[tuple(sorted(new))] = new
    return msgspec.structs.replace(topology, links=list(links.values()))


def rewired(topology: Topology, **asws: str) -> Topology:
    """With rnics (by address, dots as underscores) behind other access switches."""
    hosts = [
        msgspec.structs.replace(
            host,
            rnics=[
                msgspec.structs.replace(r, asw=asws.get(r.real_ip.replace(".", "_"), r.asw))
                for r in host.rnics
            ],
        )
        for host in topology.hosts
    ]
    return msgspec.structs.replace(topology, hosts=hosts)


def _distances(near: dict[str, set[str]], b: str) -> dict[str, int]:
    distance, layer = {b: 0}, [b]
    while layer:
        layer = [n for here in layer for n in near[here] if n not in distance]
        distance |= {n: 1 + min(distance[m] for m in near[n] if m in distance) for n in layer}
        layer = list(dict.fromkeys(layer))
    return distance


def _route(
    near: dict[str, set[str]],
    distance: dict[str, int],
    a: str,
    b: str,
    five_tuple: FiveTuple,
    polarized: bool,
) -> list[str]:
    route = [a]
    while route[-1] != b:
        here = route[-1]
        nexts = sorted(n for n in near[here] if distance.get(n, -1) == distance[here] - 1)
        seed = "" if polarized else here
        digest = blake2b(f"{five_tuple}{seed}".encode(), digest_size=8).digest()
        route.append(nexts[int.from_bytes(digest, "big") % len(nexts)])
    return route
