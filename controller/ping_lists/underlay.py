"""Pairs of rnics that cover the underlay: within ToRs, between ToRs, and inside hosts. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from controller.ping_lists.ecmp import Group, Hop, SwitchPaths, tor_pairs
from controller.ping_lists.endpoints import Endpoint
from controller.ping_lists.jobs.spread import pairs, ring
from controller.ping_lists.parameters import DEFAULT, FIRST_PORT, RESPONDER_PORT, PingListParameters
from controller.ping_lists.ports import five_tuples_to_cover
from schemas.documents.topology import Topology

#: ToRs of an rnic: one, or all that it is bonded over.
Attachment = tuple[str, ...]


class Pair(NamedTuple):
    """Two addresses that probe each other, with so many source ports in each direction."""

    a: str
    b: str
    ports: int


def plan(
    topology: Topology, rnics: dict[str, Endpoint], parameters: PingListParameters = DEFAULT
) -> list[Pair]:
    """The pairs, sorted; each once.

    - the rnics of a ToR probe each other, ``tor_targets`` at most, over one port: one path;
    - a ToR is paired with up to ``tor_peers`` ToRs of its rail, the only ToR of a rail with those
      of other rails. The five-tuples of a pair of ToRs are dealt to its rnics in turn. They are as
      many as cover each uplink of the two with probability ``coverage``; and all pairs between the
      same two groups of ToRs together cover each link between their uplinks;
    - the rnics of a host probe their neighbours, which reveals faults between a host's rnics.
    The ToRs that rnics are bonded over count as one ToR, whose five-tuples spread over them.
    Rnics whose ToR, or what lies above it, is not known are spread over their rail, as in
    ``rail_spread``.
    """
    merged: Counter[tuple[str, str]] = Counter()
    tors = {rnic.real_ip: rnic.tors for host in topology.hosts for rnic in host.rnics}
    attached: defaultdict[Attachment, list[Endpoint]] = defaultdict(list)
    for rnic in sorted(rnics.values()):
        if tors[rnic.real_ip]:
            attached[tuple(sorted(tors[rnic.real_ip]))].append(rnic)
    for members in attached.values():
        for one, other in _apart(pairs(members, parameters.tor_targets)):
            merged[_key(one, other)] = 1
    for pair in _between_tors(topology, attached, parameters):
        merged[pair.a, pair.b] += pair.ports
    linked = {end for pair in topology.links for end in pair}
    lost = [rnic for rnic in rnics.values() if linked.isdisjoint(tors[rnic.real_ip])]
    for pair in [*rail_spread(lost, parameters), *host_rings(rnics.values(), parameters)]:
        merged[pair.a, pair.b] = max(merged[pair.a, pair.b], pair.ports)
    return [Pair(a, b, ports) for (a, b), ports in sorted(merged.items())]


def rail_spread(rnics: Iterable[Endpoint], parameters: PingListParameters = DEFAULT) -> list[Pair]:
    """Pairs of rnics of the same rail, wherever they are; none on one host."""
    rails: defaultdict[int, list[Endpoint]] = defaultdict(list)
    for rnic in sorted(rnics):
        rails[rnic.rail].append(rnic)
    return [
        Pair(*_key(one, other), parameters.ports_per_pair)
        for members in rails.values()
        for one, other in _apart(pairs(members, parameters.targets_per_endpoint))
    ]


def host_rings(rnics: Iterable[Endpoint], parameters: PingListParameters = DEFAULT) -> list[Pair]:
    """Pairs of neighbouring rnics of each host."""
    hosts: defaultdict[str, list[Endpoint]] = defaultdict(list)
    for rnic in sorted(rnics):
        hosts[rnic.node_sn].append(rnic)
    return [
        Pair(*_key(one, other), parameters.ports_per_pair)
        for members in hosts.values()
        for one, other in ring(members)
    ]


def _between_tors(
    topology: Topology, attached: dict[Attachment, list[Endpoint]], parameters: PingListParameters
) -> list[Pair]:
    paths = SwitchPaths(topology)
    joined = [
        (a, b)
        for members in _rings(attached)
        for a, b in pairs(members, parameters.tor_peers)
        if any(paths.hops(one, other) for one, other, _ in tor_pairs(a, b))
    ]
    alike = Counter(_groups(paths, a, b) for a, b in joined)
    found = []
    for a, b in joined:
        wanted = _five_tuples(paths, a, b, alike[_groups(paths, a, b)], parameters.coverage)
        found += _dealt(attached[a], attached[b], wanted)
    return found


def _rings(attached: dict[Attachment, list[Endpoint]]) -> list[list[Attachment]]:
    """ToRs that serve the same rail, by pod; those that are the only one of their rail together."""
    rails: defaultdict[int, list[Attachment]] = defaultdict(list)
    for tors, members in sorted(attached.items(), key=lambda each: (each[1][0].pod, each[0])):
        (rail, _), *_ = Counter(rnic.rail for rnic in members).most_common(1)
        rails[rail].append(tors)
    alone = [of_rail[0] for _, of_rail in sorted(rails.items()) if len(of_rail) == 1]
    return [*(of_rail for of_rail in rails.values() if len(of_rail) > 1), alone]


def _groups(paths: SwitchPaths, a: Attachment, b: Attachment) -> frozenset[frozenset[Group]]:
    """Pairs for which this is equal have the same links between the uplinks of their ToRs."""
    return frozenset(frozenset(map(paths.group, tors)) for tors in (a, b))


def _five_tuples(
    paths: SwitchPaths, a: Attachment, b: Attachment, sharing: int, probability: float
) -> int:
    """Five-tuples for a pair of ToRs, one of ``sharing`` pairs with the same links in the middle.

    Of links with equal shares there are as many as the inverse of the smallest share.
    """
    ends, middle = defaultdict[Hop, float](float), defaultdict[Hop, float](float)
    for one, other, part in tor_pairs(a, b):
        for hop, share in paths.hops(one, other).items():
            at = middle if {one, other}.isdisjoint(hop) else ends
            at[hop] += part * share
    own = five_tuples_to_cover(round(1 / min(ends.values())), probability)
    together = five_tuples_to_cover(round(1 / min(middle.values(), default=1.0)), probability)
    return max(own, -(-together // sharing))


def _dealt(ours: Sequence[Endpoint], theirs: Sequence[Endpoint], five_tuples: int) -> list[Pair]:
    """So many five-tuples, or a few more, over pairs of the rnics of two ToRs, each used alike."""
    both = [
        (ours[index % len(ours)], theirs[(index + 1) % len(theirs)])
        for index in range(max(len(ours), len(theirs)))
    ]
    both = list(_apart(both)) or list(
        _apart((one, other) for one in ours for other in theirs)
    )  # fmt: skip
    if not both:
        return []
    ports = min(-(-five_tuples // len(both)), RESPONDER_PORT - FIRST_PORT)
    return [Pair(*_key(one, other), ports) for one, other in both]


def _apart(both: Iterable[tuple[Endpoint, Endpoint]]) -> Iterable[tuple[Endpoint, Endpoint]]:
    """Without pairs on one host."""
    return ((one, other) for one, other in both if one.node_sn != other.node_sn)


def _key(one: Endpoint, other: Endpoint) -> tuple[str, str]:
    return (one.ip, other.ip) if one.ip < other.ip else (other.ip, one.ip)
