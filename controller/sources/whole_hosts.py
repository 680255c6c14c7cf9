"""Jobs that use hosts as they are, with the hosts' own addresses: one container a host. Pure.

Slurm's jobs and pods with ``hostNetwork`` have no endpoints of their own. Theirs are the rnics,
which the underlay's lists hold already; so a scheduler's word is enough for them to be ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from controller.tasks.events import Box
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.placement import Placement
from schemas.documents.topology import Endpoint, Rnic

#: node_sn -> rnics of the host, as in the topology.
Hosts = Mapping[str, Sequence[Rnic]]


def endpoints(rnics: Iterable[Rnic]) -> list[Endpoint]:
    """The rnics of a host as endpoints, in order of rails."""
    ordered = sorted(rnics, key=lambda each: each.rail)
    return [Endpoint(ip=each.real_ip, real_ip=each.real_ip) for each in ordered]


def node_id(job: str, node_sn: str) -> str:
    """Name of the container that stands for the job on the host."""
    return f"{job}@{node_sn}"


def box(job: str, node_sn: str, hosts: Hosts, *, tenant: str = "", fabric: str = "") -> Box:
    """The container that stands for the job on the host; raises ValueError for an unknown host."""
    if node_sn not in hosts:
        raise ValueError(
            f"job {job}: host {node_sn!r} is not in the topology of fabric "
            f"{fabric or DEFAULT_FABRIC!r}; "
            "publish it with that host, or correct the name"
        )
    return Box(
        node_id=node_id(job, node_sn), node_sn=node_sn, job=job, tenant=tenant, fabric=fabric,
        endpoints=endpoints(hosts[node_sn]),
    )  # fmt: skip


def is_whole(box: Placement | Box) -> bool:
    """Whether the container stands for its job on a whole host."""
    return bool(box.job) and box.node_id == node_id(box.job, box.node_sn)
