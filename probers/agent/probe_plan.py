"""A ping list's targets -> the five-tuples to probe, as many as there are sockets for. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.ping_list.document import PingList, Target
from probers.probing.reply_tracer import Peers
from probers.publishing.record import Record, common_columns


def five_tuples(
    document: PingList, targets: Iterable[Target], node_sn: str
) -> tuple[list[FiveTuple], Peers]:
    """Five-tuples of ``targets`` in the list's order, and the peers whose replies are traced."""
    endpoints = {own.ip: own for own in document.endpoints}
    flows: list[FiveTuple] = []
    peers: dict[tuple[str, str], tuple[int, Record]] = {}
    for target in targets:
        if not target.agent:
            continue
        columns = common_columns(document.fabric, node_sn, endpoints[target.src_ip], target)
        if target.layer == "underlay":
            peers[target.src_ip, target.ip] = (target.dscp, columns)
        flows += [
            FiveTuple((target.src_ip, port), (target.ip, target.port), target.dscp, columns)
            for port in target.src_ports
        ]
    return flows, peers


def fit(flows: Sequence[FiveTuple], listening: set[Address], sockets: int) -> list[FiveTuple]:
    """Those of ``flows`` whose source addresses fit into ``sockets``, ``listening`` included.

    Every pair of source address and target gets its first source port before any gets its second:
    a list that is too long loses ports first, and pairs only when there are fewer sockets than
    pairs.
    """
    if len(listening.union(flow.src for flow in flows)) <= sockets:
        return list(flows)
    ports_of_pair: dict[tuple[str, Address], int] = {}
    ordered: list[tuple[int, int]] = []
    for index, flow in enumerate(flows):
        pair = (flow.src[0], flow.dst)
        ports_of_pair[pair] = rank = ports_of_pair.get(pair, 0) + 1
        ordered.append((rank, index))
    opened, chosen = set(listening), []
    for _, index in sorted(ordered):
        source = flows[index].src
        if source in opened or len(opened) < sockets:
            opened.add(source)
            chosen.append(index)
    return [flows[index] for index in sorted(chosen)]
