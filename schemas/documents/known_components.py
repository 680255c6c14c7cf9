"""Known names of a site (fabrics, hosts, components), and whether a document refers to them.

A document that refers to nothing known would silently have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.component_ids import TIER_KIND, component, kind_of, link, link_ends
from schemas.documents.decoding import nearest
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology

_SWITCHES = tuple(TIER_KIND.values())


@dataclass(frozen=True, slots=True)
class Known:
    """Names that documents may refer to.

    fabrics     fabrics of the records
    components  component ids of the topology and the records
    hops        names on traced routes, of switches whose tier is unknown
    complete    all links are in ``components``; else any two known ends may be linked
    """

    fabrics: frozenset[str]
    components: frozenset[str]
    hops: frozenset[str] = frozenset()
    complete: bool = False

    def has(self, component_id: str) -> bool:
        """Whether a component is known; without a topology, a link is known if its ends are."""
        if component_id in self.components:
            return True
        kind, _, name = component_id.partition(":")
        if kind == "link" and not self.complete:
            try:
                return all(self.has(end) for end in link_ends(component_id))
            except ValueError:
                return False
        return kind in _SWITCHES and name in self.hops

    def foreign(self, fabric: str) -> str | None:
        """Why a document of that fabric concerns no record; None when it does."""
        if fabric in self.fabrics:
            return None
        return f"fabric {fabric!r} is none of the records'; {nearest(fabric, sorted(self.fabrics))}"

    def unknown_component(self, document: Maintenance) -> str | None:
        """Why a document of a known fabric has no effect; None when its component is known."""
        if self.has(document.component):
            return None
        kind = kind_of(document.component)
        same = [each for each in self.components if kind_of(each) == kind]
        return (
            f"component {document.component!r} is neither in the records nor in the topology; "
            f"{nearest(document.component, same) if same else f'no {kind} is known'}"
        )

    def unknown_host(self, document: Placement) -> str | None:
        """Why the host of a placement is unknown; None when it is known."""
        if document.state == "gone" or self.has(component("host", document.node_sn)):
            return None
        hosts = [each.partition(":")[2] for each in self.components if kind_of(each) == "host"]
        return (
            f"container {document.node_id!r} is on host {document.node_sn!r}, which is neither in "
            f"the records nor in the topology; {nearest(document.node_sn, hosts)}"
        )


def of_topology(topology: Topology) -> set[str]:
    """Ids of all components of a topology, those that belong to hosts and pods included."""
    ids = {component("fabric", topology.fabric)}
    kinds = {switch.id: TIER_KIND[switch.tier] for switch in topology.switches}
    ids |= {component(kind, name) for name, kind in kinds.items()}
    for host in topology.hosts:
        ids |= of_host(host.node_sn)
        for rnic in host.rnics:
            own = component("rnic", rnic.real_ip)
            ids.add(own)
            ids |= {link(own, component(kinds[asw], asw)) for asw in rnic.tors}
    ids |= {
        link(component(kinds[a], a), component(kinds[b], b)) for a, b in topology.links
    }  # fmt: skip
    ids |= {component("container", container.node_id) for container in topology.containers}
    pods = {host.pod for host in topology.hosts} | {switch.pod for switch in topology.switches}
    return ids | {component("pod", pod) for pod in pods if pod}


def of_host(node_sn: str) -> set[str]:
    """Ids of a host and of its agent and vswitch."""
    return {component(kind, node_sn) for kind in ("host", "agent", "vswitch")}
