"""Traceroutes as agents record them -> routes by five-tuple, as switches of a topology. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from controller.coverage.crossings import FiveTuple
from schemas.documents.topology import Topology


class Traced(NamedTuple):
    """One traceroute of the underlay. hops: switch ids or addresses in order, None for silence."""

    time_ns: int
    five_tuple: FiveTuple
    hops: Sequence[str | None]


def complete_routes(topology: Topology, traced: Iterable[Traced]) -> dict[FiveTuple, list[str]]:
    """The newest route of each five-tuple that leads from ToR to ToR over links of the topology.

    Others are left out: a route that a fault cut short, a silent hop, a switch that the topology
    does not know or joins otherwise.
    """
    switch = {address: each.id for each in topology.switches for address in each.addresses}
    switch |= {each.id: each.id for each in topology.switches}
    tor = {rnic.real_ip: rnic.asw for host in topology.hosts for rnic in host.rnics}
    joined = {frozenset(pair) for pair in topology.links}
    newest: dict[FiveTuple, tuple[int, list[str]]] = {}
    for each in traced:
        route = [switch.get(hop or "", "") for hop in each.hops]
        source, target = each.five_tuple[:2]
        whole = bool(route) and (route[0], route[-1]) == (tor.get(source), tor.get(target))
        if not whole or not all(frozenset(hop) in joined for hop in pairwise(route)):
            continue
        if each.five_tuple not in newest or newest[each.five_tuple][0] < each.time_ns:
            newest[each.five_tuple] = each.time_ns, route
    return {five_tuple: route for five_tuple, (_, route) in newest.items()}
