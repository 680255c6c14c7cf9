"""A topology document as arrays, and ECMP routes through it.

Every rnic needs a ToR, or several that it is bonded over. A packet takes a shortest path of
switches; each switch chooses among its next hops by a hash of the five-tuple and a salt of its own,
and so do bonded rnics among their ToRs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from schemas.component_ids import TIER_KIND, component, link
from schemas.documents.topology import Topology
from testbed.simulator.counter_rng import U64, mix, name_hash

I32 = NDArray[np.int32]
_CHUNK = 1 << 16


class NetworkError(ValueError):
    """The topology document lacks what routing needs; one line."""


@dataclass(frozen=True, eq=False)
class Network:
    """Index arrays over hosts (H), rnics (R), containers (C), endpoints (E), switches (S), and the
    ToRs of an rnic (B at most).

    components                 (K,) every component id: hosts, agents, vswitches, containers,
                               rnics, switches, links; the ``*_component`` offsets say where
    rnic_host, rnic_rail       (R,) host index; rail
    rnic_switches              (R, B) switch indices of the ToRs, -1 padded
    rnic_links                 (R, B) component indices of the links rnic-ToR, -1 padded
    endpoint_rnic, _container  (E,) what an endpoint is made of
    container_host, _job       (C,) host index; job index into ``jobs``
    neighbours                 (S, D) switch indices, -1 padded
    hops                       (S, S) links between switches; only columns of ToRs are filled
    switch_link                (S, S) component index of the link, -1 where there is none
    salt                       (S,) of each switch's ECMP hash
    """

    topology: Topology
    components: tuple[str, ...]
    index: dict[str, int]
    hosts: tuple[str, ...]
    jobs: tuple[str, ...]
    rnic_host: I32
    rnic_rail: I32
    rnic_switches: I32
    rnic_links: I32
    rnic_address: U64
    endpoint_rnic: I32
    endpoint_container: I32
    container_host: I32
    container_job: I32
    neighbours: I32
    hops: NDArray[np.int16]
    switch_link: I32
    salt: U64
    agent_component: int
    vswitch_component: int
    container_component: int
    rnic_component: int
    switch_component: int

    @property
    def rnic_tor(self) -> I32:
        """(R,) switch index of the only ToR; -1 of a bonded rnic."""
        bonded = (self.rnic_switches >= 0).sum(axis=1) > 1
        return np.where(bonded, np.int32(-1), self.rnic_switches[:, 0])

    def tors(self, rnic: int) -> list[str]:
        """Component ids of an rnic's ToRs."""
        switches = self.rnic_switches[rnic]
        return [self.components[self.switch_component + at] for at in switches[switches >= 0]]

    @property
    def rnic_names(self) -> list[str]:
        """(R,) real_ip in index order."""
        return [rnic.real_ip for host in self.topology.hosts for rnic in host.rnics]

    def require(self, component_id: str) -> int:
        """Index of a component; raises NetworkError when the fabric has no such component."""
        try:
            return self.index[component_id]
        except KeyError:
            raise NetworkError(
                f"component {component_id!r} is not in fabric {self.topology.fabric!r}; "
                "see topology.json for its names"
            ) from None


def build(topology: Topology) -> Network:
    """The arrays of a checked document; raises NetworkError where an rnic has no access switch."""
    hosts = tuple(host.node_sn for host in topology.hosts)
    host_index = {name: i for i, name in enumerate(hosts)}
    switch_index = {switch.id: i for i, switch in enumerate(topology.switches)}
    rnics = [(h, rnic) for h, host in enumerate(topology.hosts) for rnic in host.rnics]
    rnic_index = {rnic.real_ip: i for i, (_, rnic) in enumerate(rnics)}
    for _, rnic in rnics:
        if not rnic.tors:
            raise NetworkError(f"rnic {rnic.real_ip} has no asw in the topology; give it one")
    endpoints = [(c, end) for c, box in enumerate(topology.containers) for end in box.endpoints]
    jobs = tuple(sorted({box.job for box in topology.containers if box.job}))
    job_index = {job: i for i, job in enumerate(jobs)} | {"": -1}

    kinds = {s.id: component(TIER_KIND[s.tier], s.id) for s in topology.switches}
    names = [component("host", name) for name in hosts]
    starts = [len(names)]
    for more in (
        [component("agent", name) for name in hosts],
        [component("vswitch", name) for name in hosts],
        [component("container", box.node_id) for box in topology.containers],
        [component("rnic", rnic.real_ip) for _, rnic in rnics],
        list(kinds.values()),
        [
            link(component("rnic", rnic.real_ip), kinds[asw])
            for _, rnic in rnics
            for asw in rnic.tors
        ],
    ):
        names += more
        starts.append(len(names))
    size = len(switch_index)
    switch_link = np.full((size, size), -1, np.int32)
    for a, b in topology.links:
        i, j = switch_index[a], switch_index[b]
        switch_link[i, j] = switch_link[j, i] = len(names)
        names.append(link(kinds[a], kinds[b]))
    bonds = np.array([len(rnic.tors) for _, rnic in rnics], np.intp)
    used = np.arange(max(bonds, default=1)) < bonds[:, None]
    rnic_switches, rnic_links = (np.full(used.shape, -1, np.int32) for _ in range(2))
    rnic_switches[used] = [switch_index[asw] for _, rnic in rnics for asw in rnic.tors]
    rnic_links[used] = np.arange(starts[5], starts[5] + used.sum())
    return Network(
        topology=topology,
        components=tuple(names),
        index={name: i for i, name in enumerate(names)},
        hosts=hosts,
        jobs=jobs,
        rnic_host=np.array([h for h, _ in rnics], np.int32),
        rnic_rail=np.array([rnic.rail for _, rnic in rnics], np.int32),
        rnic_switches=rnic_switches,
        rnic_links=rnic_links,
        rnic_address=np.array([name_hash(rnic.real_ip) for _, rnic in rnics], np.uint64),
        endpoint_rnic=np.array([rnic_index[end.real_ip] for _, end in endpoints], np.int32),
        endpoint_container=np.array([c for c, _ in endpoints], np.int32),
        container_host=np.array([host_index[b.node_sn] for b in topology.containers], np.int32),
        container_job=np.array([job_index[b.job] for b in topology.containers], np.int32),
        neighbours=_neighbours(switch_link),
        hops=_hops(switch_link, np.unique(rnic_switches[used])),
        switch_link=switch_link,
        salt=np.array([name_hash(switch.id) for switch in topology.switches], np.uint64),
        agent_component=starts[0],
        vswitch_component=starts[1],
        container_component=starts[2],
        rnic_component=starts[3],
        switch_component=starts[4],
    )


def ecmp(network: Network, src_rnic: I32, dst_rnic: I32, flow: U64) -> I32:
    """Switches that each packet crosses.

    src_rnic, dst_rnic  (N,) rnic indices
    flow                (N,) hash of the (outer) five-tuple
    returns             (N, W) switch indices in order, -1 padded; NetworkError without a path
    """
    chunks = [slice(at, at + _CHUNK) for at in range(0, len(flow), _CHUNK)]
    parts = [_walk(network, src_rnic[at], dst_rnic[at], flow[at]) for at in chunks]
    width = max((part.shape[1] for part in parts), default=1)
    out = np.full((len(flow), width), -1, np.int32)
    for at, part in zip(chunks, parts, strict=True):
        out[at, : part.shape[1]] = part
    return out


def _walk(network: Network, src_rnic: I32, dst_rnic: I32, flow: U64) -> I32:
    here, goal = _tors(network, src_rnic, dst_rnic, flow)
    columns = [here.copy()]
    while (moving := np.flatnonzero(here != goal)).size:
        at, to = here[moving], goal[moving]
        # next hops are computed once for each distinct pair (here, goal)
        pair, which = np.unique(at.astype(np.int64) * len(network.hops) + to, return_inverse=True)
        from_, goals = np.divmod(pair, len(network.hops))
        around = network.neighbours[from_]
        closer = (around >= 0) & (
            network.hops[around, goals[:, None]] == network.hops[from_, goals][:, None] - 1
        )
        choices = closer.sum(axis=1)
        if not choices.all():
            lost = int(np.flatnonzero(choices == 0)[0])
            ends = [network.topology.switches[int(side[lost])].id for side in (from_, goals)]
            raise NetworkError(f"no way from switch {ends[0]!r} to {ends[1]!r}; check links")
        onward = np.take_along_axis(around, np.argsort(~closer, axis=1, kind="stable"), axis=1)
        turn = mix(flow[moving], network.salt[at]) % choices[which].astype(np.uint64)
        here[moving] = onward[which, turn.astype(np.int64)]
        column = np.full(len(here), -1, np.int32)
        column[moving] = here[moving]
        columns.append(column)
    return np.stack(columns, axis=1)


def _tors(network: Network, src_rnic: I32, dst_rnic: I32, flow: U64) -> tuple[I32, I32]:
    """(N,) first and last switch: a bonded source hashes; of a bonded destination's ToRs those that
    are nearest share the rest."""
    ours, theirs = network.rnic_switches[src_rnic], network.rnic_switches[dst_rnic]
    width = theirs.shape[1]
    if width == 1:
        return ours[:, 0].copy(), theirs[:, 0]
    turns = [
        mix(flow, network.rnic_address[rnic]) % (switches >= 0).sum(axis=1).astype(np.uint64)
        for rnic, switches in ((src_rnic, ours), (dst_rnic, theirs))
    ]
    first = np.take_along_axis(ours, turns[0].astype(np.int64)[:, None], axis=1)[:, 0]
    hops = network.hops[first[:, None], theirs].astype(np.int64)
    hops[theirs < 0] = np.iinfo(np.int16).max
    order = (np.arange(width) - turns[1].astype(np.int64)[:, None]) % width
    last = np.argmin(hops * width + order, axis=1)
    return first, np.take_along_axis(theirs, last[:, None], axis=1)[:, 0]


def crossings(network: Network, src_rnic: I32, dst_rnic: I32, switches: I32) -> I32:
    """Components that each packet crosses from rnic to rnic, links included.

    switches  (N, W) from ecmp
    returns   (N, 2W + 3) component indices [rnic, link, switch, link, ..., pad -1, link, rnic];
              the two neighbours of a link are its ends, pads aside
    """
    count, width = switches.shape
    out = np.full((count, 2 * width + 3), -1, np.int32)
    out[:, 0] = network.rnic_component + src_rnic
    last = np.take_along_axis(switches, (switches >= 0).sum(axis=1)[:, None] - 1, axis=1)[:, 0]
    out[:, 1] = _rnic_link(network, src_rnic, switches[:, 0])
    out[:, 2 : 2 * width + 1 : 2] = np.where(switches >= 0, network.switch_component + switches, -1)
    before, after = switches[:, :-1], switches[:, 1:]
    out[:, 3 : 2 * width + 1 : 2] = np.where(after >= 0, network.switch_link[before, after], -1)
    out[:, -2] = _rnic_link(network, dst_rnic, last)
    out[:, -1] = network.rnic_component + dst_rnic
    return out


def _rnic_link(network: Network, rnic: I32, tor: I32) -> I32:
    """(N,) component indices of the links between rnics and their ToRs."""
    at = np.argmax(network.rnic_switches[rnic] == tor[:, None], axis=1)
    links: I32 = network.rnic_links[rnic, at]
    return links


def _neighbours(switch_link: I32) -> I32:
    rows = [np.flatnonzero(row >= 0) for row in switch_link]
    out = np.full((len(rows), max((len(row) for row in rows), default=0) or 1), -1, np.int32)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def _hops(switch_link: I32, tors: NDArray[np.int32]) -> NDArray[np.int16]:
    graph = csr_array(switch_link >= 0)
    distance = dijkstra(graph, directed=False, unweighted=True, indices=tors)
    out = np.full(switch_link.shape, np.iinfo(np.int16).max, np.int16)
    out[:, tors] = np.where(np.isfinite(distance), distance, np.iinfo(np.int16).max).T
    return out
