"""Which host and tenant a container, an rnic or a host's name belongs to, where that is known."""

from __future__ import annotations

from schemas.documents.placement import Placement
from schemas.documents.topology import Topology
from streams.admission.parameters import DEFAULT


class Ownership:
    """What the topology document and placements say; a name that neither knows has no owner.

    A container may be moved: records from every host that it was placed on are its own.
    """

    def __init__(self, topology: Topology | None = None) -> None:
        self._nodes: dict[tuple[str, str], tuple[str, ...]] = {}  # fabric, name -> hosts
        self._rnics: dict[tuple[str, str], tuple[str, ...]] = {}  # fabric, address -> its host
        self._tenants: dict[tuple[str, str], str] = {}  # fabric, container -> tenant
        self._fabrics: set[str] = set()
        if topology is not None:
            self.add(topology)

    def add(self, document: object) -> None:
        """Learn from a placement or a topology who owns what; other documents are ignored.

        What a topology does not name any more keeps its owner: it may still send what it probed.
        """
        if isinstance(document, Placement):
            self._add(document.fabric, document.node_id, document.node_sn, document.tenant)
        elif isinstance(document, Topology):
            self._fabrics.add(document.fabric)
            for host in document.hosts:
                self._nodes[document.fabric, host.node_sn] = (host.node_sn,)
                for rnic in host.rnics:
                    self._rnics[document.fabric, rnic.real_ip] = (host.node_sn,)
            for box in document.containers:
                self._add(document.fabric, box.node_id, box.node_sn, box.tenant)

    def _add(self, fabric: str, box: str, host: str, tenant: str) -> None:
        self._fabrics.add(fabric)
        hosts = self._nodes.get((fabric, box), ())
        if host not in hosts:
            self._nodes[fabric, box] = (*hosts, host)[-DEFAULT.hosts :]
        if tenant:
            self._tenants[fabric, box] = tenant

    @property
    def fabrics(self) -> set[str]:
        """Fabrics of which anything is known."""
        return self._fabrics

    def hosts_of_node(self, fabric: str, node_id: str) -> tuple[str, ...]:
        """Hosts that may send for a container (or a host's name); empty when it is not known."""
        return self._nodes.get((fabric, node_id), ())

    def hosts_of_rnic(self, fabric: str, real_ip: str) -> tuple[str, ...]:
        """The host of an rnic's address; empty when it is not known."""
        return self._rnics.get((fabric, real_ip), ())

    def tenant(self, fabric: str, node_id: str) -> str:
        """A container's tenant, empty when it is not known."""
        return self._tenants.get((fabric, node_id), "")
