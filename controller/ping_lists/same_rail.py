"""Topology -> the lists of a fabric in which every agent and container is ready. Pure."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from controller.ping_lists import endpoints, underlay
from controller.ping_lists.endpoints import Document
from controller.ping_lists.lists import PingLists
from controller.ping_lists.parameters import DEFAULT, FIRST_PORT, RESPONDER_PORT, PingListParameters
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job, Size
from schemas.documents.topology import Container, Topology

_BEGINNING = "1970-01-01T00:00:00.000Z"


def same_rail(
    topology: Topology,
    *,
    ports_per_pair: int = DEFAULT.ports_per_pair,
    targets_per_endpoint: int = DEFAULT.targets_per_endpoint,
    listen_port: int = RESPONDER_PORT,
    first_port: int = FIRST_PORT,
    interval_s: float = 1.0,
    dscp: int = 0,
    ring: bool = True,
) -> dict[str, Document]:
    """One ping list per host: node_sn -> document.

    Underlay: every rnic probes rnics of the same rail on other hosts, and (``ring``) its neighbours
    on its own host. Overlay: every container endpoint probes the endpoints of the same job on the
    same rail. Lists are symmetric (if a probes b, b probes a), so both sides can trace replies.

    ports_per_pair        source ports, so five-tuples, per pair [count]; more cover more ECMP paths
    targets_per_endpoint  peers of the same rail at most [count], but at least the two neighbours;
                          at even distances on the sorted ring of peers
    first_port            every pair uses first_port .. first_port + ports_per_pair - 1
    interval_s            between two probes of one five-tuple [s], whatever that adds up to
    Raises ValueError for ports outside of 1024..65535 and for no target at all.
    """
    lists = same_rail_lists(
        topology, ports_per_pair=ports_per_pair, targets_per_endpoint=targets_per_endpoint,
        listen_port=listen_port, first_port=first_port, interval_s=interval_s, dscp=dscp,
        ring=ring,
    )  # fmt: skip
    return {node_sn: lists.document(node_sn) for node_sn in lists.hosts}


def same_rail_lists(
    topology: Topology,
    *,
    ports_per_pair: int = DEFAULT.ports_per_pair,
    targets_per_endpoint: int = DEFAULT.targets_per_endpoint,
    listen_port: int = RESPONDER_PORT,
    first_port: int = FIRST_PORT,
    interval_s: float = 1.0,
    dscp: int = 0,
    ring: bool = True,
) -> PingLists:
    """As ``same_rail``, for a controller that keeps them up to date."""
    if ports_per_pair < 1 or not 1024 <= first_port <= 65_536 - ports_per_pair:
        raise ValueError(f"no {ports_per_pair} source ports from {first_port}; stay in 1024..65535")
    if targets_per_endpoint < 1:
        raise ValueError(f"targets_per_endpoint is {targets_per_endpoint}; give at least 1")
    sizes = replace(
        DEFAULT, ports_per_pair=ports_per_pair, targets_per_endpoint=targets_per_endpoint,
        rnic_rate=math.inf, agent_rate=math.inf,
    )  # fmt: skip
    rnics = endpoints.underlay(topology).values()
    pairs = [
        *underlay.rail_spread(rnics, sizes),
        *(underlay.host_rings(rnics, sizes) if ring else []),
    ]
    lists = PingLists(
        topology, sizes, pairs=pairs, interval_s=interval_s, first_port=first_port,
        listen_port=listen_port, dscp=dscp,
    )  # fmt: skip
    make_ready(lists, topology)
    return lists


def planned(
    topology: Topology,
    parameters: PingListParameters = DEFAULT,
    *,
    interval_s: float = 1.0,
    dscp: int = 0,
) -> PingLists:
    """As the controller plans them: the rails of each job, and an underlay that covers links."""
    lists = PingLists(topology, parameters, interval_s=interval_s, dscp=dscp)
    make_ready(lists, topology)
    return lists


def make_ready(lists: PingLists, topology: Topology) -> None:
    """Everything that the topology document names runs and has registered."""
    for host in topology.hosts:
        lists.host(host.node_sn, ready=True)
    for name, count in Counter(box.job for box in topology.containers if box.job).items():
        size = Size(source="file", valid_from=_BEGINNING, containers=count)
        lists.job(Job(job=name, size=size))
    for document in ready_containers(topology):
        lists.container(document)


def ready_containers(topology: Topology) -> list[Placement]:
    """A document of each container that the topology names: it is ready."""
    return [
        Placement(
            node_id=box.node_id, node_sn=box.node_sn, state="ready", valid_from=_BEGINNING,
            fabric=topology.fabric, job=box.job, tenant=box.tenant, endpoints=box.endpoints,
        )
        for box in sorted(topology.containers, key=_place)
    ]  # fmt: skip


def _place(box: Container) -> tuple[str, list[str]]:
    return box.node_sn, [endpoint.ip for endpoint in box.endpoints]
