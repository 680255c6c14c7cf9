"""Which host and tenant a container, an rnic or a host's name belongs to, where that is known.

What is over, a container that is gone or what the newest topology leaves out, keeps its owner for
``over_s`` more, because what was probed until then may still arrive. Then it is dropped: containers
come and go for as long as a worker runs.
"""

from __future__ import annotations

from collections import defaultdict
from sys import intern
from typing import NamedTuple

from schemas.documents.placement import Placement
from schemas.documents.times import seconds_of
from schemas.documents.topology import Topology
from streams.admission.parameters import DEFAULT

_Name = tuple[str, str]  # fabric, and the name of a host or container or the address of an rnic


class _Owner(NamedTuple):
    """Hosts that may send, the newest last, and the tenant of a container."""

    hosts: tuple[str, ...]
    tenant: str = ""


_UNKNOWN = _Owner(())


class Ownership:
    """What the topology document and placements say; a name that neither knows has no owner.

    A container may be moved: records from every host that it was placed on are its own.
    """

    def __init__(self, topology: Topology | None = None) -> None:
        self._nodes: dict[_Name, _Owner] = {}
        self._rnics: dict[_Name, _Owner] = {}
        self._fabrics: set[str] = set()
        self._placed: set[_Name] = set()  # containers that are not gone, by placements
        self._listed: defaultdict[str, set[str]] = defaultdict(set)  # by the newest topology
        self._rnics_listed: defaultdict[str, set[str]] = defaultdict(set)
        self._over_s: dict[_Name, float] = {}  # of hosts and containers
        self._rnic_over_s: dict[_Name, float] = {}
        self._now_s = 0  # of the newest call of ``drop_old``
        if topology is not None:
            self.add(topology)

    def __len__(self) -> int:
        """Names of hosts and containers, and addresses of rnics [count]."""
        return len(self._nodes) + len(self._rnics)

    def add(self, document: object) -> None:
        """Learn from a placement or a topology who owns what; other documents are ignored."""
        if isinstance(document, Placement):
            self._place(document)
        elif isinstance(document, Topology):
            self._follow(document)

    def drop_old(self, second: int) -> None:
        """Drop names that were over ``over_s`` before a second of event time."""
        self._now_s = max(second, self._now_s)
        for over_s, owners in ((self._over_s, self._nodes), (self._rnic_over_s, self._rnics)):
            for name in [n for n, at in [*over_s.items()] if at < second - DEFAULT.over_s]:
                del over_s[name]
                owners.pop(name, None)

    def _place(self, document: Placement) -> None:
        name = self._add_box(document.fabric, document.node_id, document.node_sn, document.tenant)
        if document.state != "gone":
            self._placed.add(name)
            self._over_s.pop(name, None)
            return
        self._placed.discard(name)
        if document.node_id not in self._listed[document.fabric]:
            self._over_s[name] = seconds_of(document.valid_from)

    def _follow(self, document: Topology) -> None:
        fabric = intern(document.fabric)
        self._fabrics.add(fabric)
        nodes, rnics = set[str](), set[str]()
        for host in document.hosts:
            owner = _Owner((intern(host.node_sn),))
            self._nodes[fabric, owner.hosts[0]] = owner
            nodes.add(owner.hosts[0])
            for rnic in host.rnics:
                self._rnics[fabric, rnic.real_ip] = owner
                rnics.add(rnic.real_ip)
        for box in document.containers:
            self._add_box(fabric, box.node_id, box.node_sn, box.tenant)
            nodes.add(box.node_id)
        now_s = seconds_of(document.valid_from) if document.valid_from else self._now_s
        for listed, known, over_s in (
            (nodes, self._listed, self._over_s), (rnics, self._rnics_listed, self._rnic_over_s),
        ):  # fmt: skip
            for each in known[fabric] - listed:
                if over_s is self._rnic_over_s or (fabric, each) not in self._placed:
                    over_s[fabric, each] = now_s
            for each in listed - known[fabric]:
                over_s.pop((fabric, each), None)
            known[fabric] = listed

    def _add_box(self, fabric: str, box: str, host: str, tenant: str) -> _Name:
        name = (intern(fabric), box)
        self._fabrics.add(name[0])
        hosts, known = self._nodes.get(name, _UNKNOWN)
        if host not in hosts:
            hosts = (*hosts, intern(host))[-DEFAULT.hosts :]
        self._nodes[name] = _Owner(hosts, intern(tenant) or known)
        return name

    @property
    def fabrics(self) -> set[str]:
        """Fabrics of which anything is known."""
        return self._fabrics

    def hosts_of_node(self, fabric: str, node_id: str) -> tuple[str, ...]:
        """Hosts that may send for a container (or a host's name); empty when it is not known."""
        return self._nodes.get((fabric, node_id), _UNKNOWN).hosts

    def hosts_of_rnic(self, fabric: str, real_ip: str) -> tuple[str, ...]:
        """The host of an rnic's address; empty when it is not known."""
        return self._rnics.get((fabric, real_ip), _UNKNOWN).hosts

    def tenant(self, fabric: str, node_id: str) -> str:
        """A container's tenant, empty when it is not known."""
        return self._nodes.get((fabric, node_id), _UNKNOWN).tenant
