"""A fabric's topology and lists -> what the feedback loop may probe now."""

from __future__ import annotations

from controller.feedback.choice import Ground
from controller.ping_lists.endpoints import Endpoint
from controller.ping_lists.lists import PingLists
from schemas.documents.topology import Topology


def ground_of(topology: Topology, lists: PingLists) -> Ground:
    """Copies, which a thread may read while the lists go on."""
    endpoints: list[Endpoint] = []
    jobs: dict[str, str] = {}
    for agent in lists.members.values():
        if agent.ready:
            endpoints += agent.endpoints
            jobs |= {own.ip: agent.job for own in agent.endpoints if own.layer == "overlay"}
    entries: dict[tuple[str, str], int] = {}
    for node_sn in lists.hosts:
        entries |= lists.entries(node_sn)
    return Ground(topology, endpoints, jobs, entries, lists.target)
