"""Traceroutes as agents record them -> routes by five-tuple, as switches of a topology. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from controller.coverage.crossings import FiveTuple
from controller.inventory.traced.routes import Trace
from schemas.documents.topology import Topology


def complete_routes(topology: Topology, traced: Iterable[Trace]) -> dict[FiveTuple, list[str]]:
    """The last route of each five-tuple that leads from ToR to ToR over links of the topology.

    Others are left out: a route that a fault cut short, a silent hop, a switch that the topology
    does not know or joins otherwise; and those of the overlay, whose addresses are no rnics.
    """
    switch = {address: each.id for each in topology.switches for address in each.addresses}
    switch |= {each.id: each.id for each in topology.switches}
    tors = {rnic.real_ip: rnic.tors for host in topology.hosts for rnic in host.rnics}
    joined = {frozenset(pair) for pair in topology.links}
    found: dict[FiveTuple, list[str]] = {}
    for each in traced:
        route = [switch.get(hop or "", "") for hop in each.hops]
        src, dst = (tors.get(ip, ()) for ip in (each.five_tuple.src_ip, each.five_tuple.dst_ip))
        whole = each.complete and bool(route) and route[0] in src and route[-1] in dst
        if whole and all(frozenset(hop) in joined for hop in pairwise(route)):
            key = each.five_tuple
            found[key.src_ip, key.dst_ip, key.src_port, key.dst_port] = route
    return found
