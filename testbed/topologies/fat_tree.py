"""k-ary fat-trees: the fabric on which published localizers were evaluated.

k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores; aggregation switch i of each pod
reaches the cores of group i. Hosts have one rnic. Numbers in names are shuffled by the seed.
Source: Al-Fares, Loukissas, Vahdat (SIGCOMM 2008).
"""

from __future__ import annotations

import msgspec
import numpy as np

from schemas.documents.topology import Host, Rnic, Switch, Topology
from testbed.topologies.clos import at_least_one, place_jobs, shuffled, underlay_address


class FatTreeSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="fat_tree"
):
    """Size of a tree and of the jobs on it.

    k               ports of every switch, even
    hosts_per_edge  0 = k/2
    hosts_per_job   0 = all hosts work for one job
    """

    name: str = "fat-tree"
    k: int = 8
    hosts_per_edge: int = 0
    hosts_per_job: int = 0
    tenants: int = 1

    def __post_init__(self) -> None:
        if self.k < 2 or self.k % 2:
            raise ValueError(f"fabric: k is {self.k}; give an even number of ports")
        if min(self.hosts_per_edge, self.hosts_per_job) < 0:
            raise ValueError("fabric: hosts_per_edge and hosts_per_job are counts, 0 = default")
        at_least_one(self, ("tenants",))


def build(spec: FatTreeSpec, seed: int) -> Topology:
    """The tree with one container per host; same seed, same document."""
    rng = np.random.default_rng([seed, 2])
    half = spec.k // 2
    pods = shuffled(rng, "pod", spec.k)
    edge = np.array(shuffled(rng, "asw", spec.k * half), object).reshape(spec.k, half)
    agg = np.array(shuffled(rng, "psw", spec.k * half), object).reshape(spec.k, half)
    core = np.array(shuffled(rng, "dsw", half * half), object).reshape(half, half)
    switches = [Switch(name, "asw", pods[pod]) for pod in range(spec.k) for name in edge[pod]]
    switches += [Switch(name, "psw", pods[pod]) for pod in range(spec.k) for name in agg[pod]]
    switches += [Switch(name, "dsw") for name in core.flat]
    links = [(e, a) for pod in range(spec.k) for e in edge[pod] for a in agg[pod]]
    links += [(agg[pod, i], c) for pod in range(spec.k) for i in range(half) for c in core[i]]
    per_edge = spec.hosts_per_edge or half
    count = spec.k * half * per_edge
    names, numbers = shuffled(rng, "host", count), rng.permutation(count)
    hosts = [
        Host(
            names[h],
            [Rnic(underlay_address(numbers[h]), 0, edge.flat[h // per_edge])],
            pods[h // per_edge // half],
        )
        for h in range(count)
    ]
    hosts.sort(key=lambda host: host.node_sn)
    return Topology(
        fabric=spec.name,
        hosts=hosts,
        switches=sorted(switches, key=lambda switch: switch.id),
        links=sorted(links),
        containers=place_jobs(hosts, spec.hosts_per_job or count, spec.tenants, rng),
    )
