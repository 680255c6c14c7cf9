"""Which pod each host is in and which job each container belongs to. No I/O.

A topology document comes first, then the newest record or placement.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np

from localizer.fabric.key_index import pair_key
from localizer.fabric.path_table import Paths
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology


class Inventory:
    """Pods of hosts, jobs of containers.

    pods  node_sn -> pod
    jobs  node_id of a container -> (job, tenant)
    """

    def __init__(self, topology: Topology | None) -> None:
        hosts = topology.hosts if topology else ()
        containers = topology.containers if topology else ()
        self._given_pods = {host.node_sn: host.pod for host in hosts if host.pod}
        self._given_jobs = {box.node_id: (box.job, box.tenant) for box in containers}
        self.pods = dict(self._given_pods)
        self.jobs = dict(self._given_jobs)

    def follow(self, topology: Topology, paths: Paths) -> None:
        """Another document holds from now on; what it leaves out is what records and placements
        say."""
        known = Inventory(topology)
        pods = {h: p for h, p in self.pods.items() if self._given_pods.get(h) != p}
        jobs = {box: job for box, job in self.jobs.items() if self._given_jobs.get(box) != job}
        self._given_pods, self._given_jobs = known._given_pods, known._given_jobs
        self.pods = pods | self._given_pods
        self.jobs = self._given_jobs | jobs
        self.learn_pods(paths)

    def learn_pods(self, paths: Paths) -> None:
        """Records name the pods of both ends."""
        names, pods = paths.table("src_node_sn").texts, paths.table("src_pod").texts
        for side in ("src", "dst"):
            keys = pair_key(paths.column(f"{side}_node_sn"), paths.column(f"{side}_pod"))
            for key in np.unique(keys).tolist():
                host, pod = names[key >> 32], pods[key & 0xFFFFFFFF]
                if pod:
                    self.pods[host] = self._given_pods.get(host, pod)

    def learn_jobs(self, documents: Iterable[Placement]) -> None:
        """Placements name the job and tenant of a container."""
        self.jobs |= {doc.node_id: (doc.job, doc.tenant) for doc in documents}

    def retain_hosts(self, names: Iterable[str]) -> None:
        """Drop pods of all other hosts, but for those that the topology gives."""
        here = {host: pod for host in names if (pod := self.pods.get(host))}
        self.pods = self._given_pods | here

    def retain_containers(self, *used: Container[str]) -> None:
        """Drop jobs of containers in none of these, but for those that the topology gives."""
        self.jobs = {
            box: job for box, job in self.jobs.items()
            if box in self._given_jobs or any(box in each for each in used)
        }  # fmt: skip


def rnic_hosts(paths: Paths) -> dict[str, str]:
    """Address of an rnic -> the host that it is in; without those that records put into several."""
    found: dict[str, str] = {}
    disputed = set()
    hosts, rnics = paths.table("src_node_sn").texts, paths.table("src_real_ip").texts
    for side in ("src", "dst"):
        keys = pair_key(paths.column(f"{side}_real_ip"), paths.column(f"{side}_node_sn"))
        for key in np.unique(keys).tolist():
            rnic, host = rnics[key >> 32], hosts[key & 0xFFFFFFFF]
            if found.setdefault(rnic, host) != host:
                disputed.add(rnic)
    return {rnic: host for rnic, host in found.items() if rnic not in disputed}
