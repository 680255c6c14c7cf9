"""Rail-optimised Clos fabrics as topology documents.

A segment is a group of hosts with one ToR per rail; the ToRs of a pod's segments share the pod's
aggregation switches ("psw"), and pods meet in the spines ("dsw"). With ``aggs = 0`` the fabric
has two tiers: every ToR reaches every spine. Numbers in names are shuffled by the seed, so that
nothing about a component's place can be read from its name.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final

import msgspec
import numpy as np

from schemas.topology import Container, Endpoint, Host, Rnic, Switch, Topology

_UNDERLAY_BASE: Final = int(IPv4Address("10.64.0.0"))
_OVERLAY_BASE: Final = int(IPv4Address("172.16.0.0"))


class ClosSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size of a fabric and of the jobs on it.

    hosts, rails       hosts, and rnics per host (one per rail)
    hosts_per_segment  hosts behind one set of ToRs
    aggs               aggregation switches per pod; 0 = two tiers
    pods, spines       segments are dealt to pods evenly; spines join everything
    hosts_per_job      hosts of one training job, scattered over the fabric
    tenants            jobs are dealt to tenants in turn
    """

    name: str = "sim"
    hosts: int = 64
    rails: int = 4
    hosts_per_segment: int = 16
    aggs: int = 4
    pods: int = 2
    spines: int = 4
    hosts_per_job: int = 16
    tenants: int = 2

    def __post_init__(self) -> None:
        for field in ("hosts", "rails", "hosts_per_segment", "pods", "spines", "hosts_per_job",
                      "tenants"):  # fmt: skip
            if getattr(self, field) < 1:
                raise ValueError(f"fabric: {field} is {getattr(self, field)}; give at least 1")
        if self.aggs < 0:
            raise ValueError(f"fabric: aggs is {self.aggs}; give 0 for two tiers, or more")
        if not self.name or "|" in self.name:
            raise ValueError(f"fabric: name {self.name!r} is empty or holds '|'")


def build(spec: ClosSpec, seed: int) -> Topology:
    """The fabric with one container per host, one endpoint per rnic; same seed, same document."""
    rng = np.random.default_rng([seed, 1])
    segments = -(-spec.hosts // spec.hosts_per_segment)
    pods = 1 if spec.aggs == 0 else min(spec.pods, segments)
    pod_of_segment = [segment * pods // segments for segment in range(segments)]
    pod_names = _shuffled(rng, "pod", pods)
    asw = np.array(_shuffled(rng, "asw", segments * spec.rails)).reshape(segments, spec.rails)
    psw = np.array(_shuffled(rng, "psw", pods * spec.aggs), dtype=object).reshape(pods, spec.aggs)
    dsw = _shuffled(rng, "dsw", spec.spines)

    switches = [
        Switch(str(asw[s, r]), "asw", pod_names[pod_of_segment[s]])
        for s in range(segments)
        for r in range(spec.rails)
    ]
    switches += [
        Switch(psw[p, a], "psw", pod_names[p]) for p in range(pods) for a in range(spec.aggs)
    ]
    switches += [Switch(name, "dsw") for name in dsw]
    links = [
        (str(asw[s, r]), upper)
        for s in range(segments)
        for r in range(spec.rails)
        for upper in (psw[pod_of_segment[s]] if spec.aggs else dsw)
    ]
    links += [(psw[p, a], spine) for p in range(pods) for a in range(spec.aggs) for spine in dsw]

    names = _shuffled(rng, "host", spec.hosts)
    addresses = rng.permutation(spec.hosts * spec.rails).reshape(spec.hosts, spec.rails)
    hosts = [
        Host(
            names[h],
            [
                Rnic(_address(_UNDERLAY_BASE, addresses[h, r]), r, str(asw[segment, r]))
                for r in range(spec.rails)
            ],
            pod_names[pod_of_segment[segment]],
        )
        for h in range(spec.hosts)
        for segment in [h // spec.hosts_per_segment]
    ]
    switches.sort(key=lambda switch: switch.id)
    links.sort()
    hosts.sort(key=lambda host: host.node_sn)
    return Topology(
        fabric=spec.name,
        hosts=hosts,
        switches=switches,
        links=links,
        containers=_containers(spec, hosts, rng),
    )


def _containers(spec: ClosSpec, hosts: list[Host], rng: np.random.Generator) -> list[Container]:
    """One per host; consecutive hosts of a shuffled order share a job."""
    order = rng.permutation(spec.hosts)
    jobs = -(-spec.hosts // spec.hosts_per_job)
    job_names = _shuffled(rng, "job", jobs)
    names = _shuffled(rng, "c", spec.hosts)
    addresses = rng.permutation(spec.hosts * spec.rails).reshape(spec.hosts, spec.rails)
    boxes = []
    for rank, h in enumerate(order):
        job = rank // spec.hosts_per_job
        boxes.append(
            Container(
                names[rank],
                hosts[h].node_sn,
                job_names[job],
                f"tenant-{job % spec.tenants}",
                [
                    Endpoint(_address(_OVERLAY_BASE, addresses[h, r]), rnic.real_ip)
                    for r, rnic in enumerate(hosts[h].rnics)
                ],
            )
        )
    return boxes


def _shuffled(rng: np.random.Generator, prefix: str, count: int) -> list[str]:
    width = max(2, len(str(max(count - 1, 0))))
    return [f"{prefix}-{number:0{width}d}" for number in rng.permutation(count)]


def _address(base: int, offset: int) -> str:
    """Skips .0 and .255 so that every address looks like a host's."""
    return str(IPv4Address(base + int(offset) // 250 * 256 + int(offset) % 250 + 1))
