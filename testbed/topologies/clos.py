"""Rail-optimised Clos fabrics as topology documents.

A segment is a group of hosts with one ToR per rail; the ToRs of a pod's segments share the pod's
aggregation switches ("psw"), and pods meet in the spines ("dsw"). With ``aggs = 0`` the fabric
has two tiers: every ToR reaches every spine. Numbers in names are shuffled by the seed, so that
nothing about a component's place can be read from its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Final

import msgspec
import numpy as np

from schemas.documents.topology import Container, Endpoint, Host, Rnic, Switch, Topology
from testbed.topologies.ipv6 import with_ipv6

_UNDERLAY_BASE: Final = int(IPv4Address("10.64.0.0"))
_OVERLAY_BASE: Final = int(IPv4Address("172.16.0.0"))


class ClosSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="clos"
):
    """Size of a fabric and of the jobs on it.

    hosts, rails       hosts, and rnics per host (one per rail)
    hosts_per_segment  hosts behind one set of ToRs
    tors_per_rail      ToRs of a segment and rail; rnics are bonded over them if they are several
    aggs               aggregation switches per pod; 0 = two tiers
    pods, spines       segments are dealt to pods evenly; spines join everything
    hosts_per_job      hosts of one training job, scattered over the fabric
    tenants            jobs are dealt to tenants in turn
    ipv6               of all addresses; else IPv4
    """

    name: str = "sim"
    hosts: int = 64
    rails: int = 4
    hosts_per_segment: int = 16
    tors_per_rail: int = 1
    aggs: int = 4
    pods: int = 2
    spines: int = 4
    hosts_per_job: int = 16
    tenants: int = 2
    ipv6: bool = False

    def __post_init__(self) -> None:
        at_least_one(
            self,
            (
                "hosts",
                "rails",
                "hosts_per_segment",
                "tors_per_rail",
                "pods",
                "spines",
                "hosts_per_job",
                "tenants",
            ),
        )
        if self.aggs < 0:
            raise ValueError(f"fabric: aggs is {self.aggs}; give 0 for two tiers, or more")
        if not self.name or "|" in self.name:
            raise ValueError(f"fabric: name {self.name!r} is empty or holds '|'")


def at_least_one(spec: object, fields: Iterable[str]) -> None:
    """Raises ValueError naming the first of these counts that is below 1."""
    for field in fields:
        if getattr(spec, field) < 1:
            raise ValueError(f"fabric: {field} is {getattr(spec, field)}; give at least 1")


def build(spec: ClosSpec, seed: int) -> Topology:
    """The fabric with one container per host, one endpoint per rnic; same seed, same document."""
    rng = np.random.default_rng([seed, 1])
    segments = -(-spec.hosts // spec.hosts_per_segment)
    pods = 1 if spec.aggs == 0 else min(spec.pods, segments)
    pod_of_segment = [segment * pods // segments for segment in range(segments)]
    pod_names = shuffled(rng, "pod", pods)
    shape = segments, spec.rails, spec.tors_per_rail
    asw = np.array(shuffled(rng, "asw", math.prod(shape)), dtype=object).reshape(shape)
    psw = np.array(shuffled(rng, "psw", pods * spec.aggs), dtype=object).reshape(pods, spec.aggs)
    dsw = shuffled(rng, "dsw", spec.spines)

    switches = [
        Switch(name, "asw", pod_names[pod_of_segment[s]])
        for s in range(segments)
        for name in asw[s].flat
    ]
    switches += [
        Switch(psw[p, a], "psw", pod_names[p]) for p in range(pods) for a in range(spec.aggs)
    ]
    switches += [Switch(name, "dsw") for name in dsw]
    links = [
        (name, upper)
        for s in range(segments)
        for name in asw[s].flat
        for upper in (psw[pod_of_segment[s]] if spec.aggs else dsw)
    ]
    links += [(psw[p, a], spine) for p in range(pods) for a in range(spec.aggs) for spine in dsw]

    names = shuffled(rng, "host", spec.hosts)
    addresses = rng.permutation(spec.hosts * spec.rails).reshape(spec.hosts, spec.rails)
    hosts = [
        Host(
            names[h],
            [
                _rnic(underlay_address(addresses[h, r]), r, asw[segment, r].tolist())
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
    built = Topology(
        fabric=spec.name,
        hosts=hosts,
        switches=switches,
        links=links,
        containers=place_jobs(hosts, spec.hosts_per_job, spec.tenants, rng),
    )
    return with_ipv6(built) if spec.ipv6 else built


def _rnic(address: str, rail: int, asws: list[str]) -> Rnic:
    return Rnic(address, rail, asws[0]) if len(asws) == 1 else Rnic(address, rail, asws=asws)


def place_jobs(
    hosts: list[Host], hosts_per_job: int, tenants: int, rng: np.random.Generator
) -> list[Container]:
    """One container per host; consecutive hosts of a shuffled order share a job."""
    rails = max(len(host.rnics) for host in hosts)
    order = rng.permutation(len(hosts))
    jobs = -(-len(hosts) // hosts_per_job)
    job_names = shuffled(rng, "job", jobs)
    names = shuffled(rng, "c", len(hosts))
    addresses = rng.permutation(len(hosts) * rails).reshape(len(hosts), rails)
    boxes = []
    for rank, h in enumerate(order):
        job = rank // hosts_per_job
        boxes.append(
            Container(
                names[rank],
                hosts[h].node_sn,
                job_names[job],
                f"tenant-{job % tenants}",
                [
                    Endpoint(_address(_OVERLAY_BASE, addresses[h, r]), rnic.real_ip)
                    for r, rnic in enumerate(hosts[h].rnics)
                ],
            )
        )
    return boxes


def overlay_endpoints(host: Host, number: int) -> list[Endpoint]:
    """Endpoints of the container of this number on a host; no two numbers share an address."""
    rails = len(host.rnics)
    if rails > 64:
        raise ValueError(f"host {host.node_sn} has {rails} rnics; a container binds at most 64")
    return [
        Endpoint(_address(_OVERLAY_BASE, number * 64 + i), rnic.real_ip)
        for i, rnic in enumerate(host.rnics)
    ]


def shuffled(rng: np.random.Generator, prefix: str, count: int) -> list[str]:
    """``count`` names whose numbers say nothing about the order they are dealt in."""
    width = max(2, len(str(max(count - 1, 0))))
    return [f"{prefix}-{number:0{width}d}" for number in rng.permutation(count)]


def underlay_address(number: int) -> str:
    """An rnic's address; no two numbers share one."""
    return _address(_UNDERLAY_BASE, number)


def _address(base: int, offset: int) -> str:
    """Skips .0 and .255 so that every address looks like a host's."""
    return str(IPv4Address(base + int(offset) // 250 * 256 + int(offset) % 250 + 1))
