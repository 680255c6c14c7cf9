"""A real data-centre fabric on one machine: network namespaces, veth cables, ECMP, real faults.

Needs root, iproute2, nftables and util-linux. Every name in the kernel carries the fabric's own
name, so several fabrics can exist at once; closing a fabric removes all of it.
"""

from __future__ import annotations

from schemas.component_ids import component
from testbed.netns.faults import actions, filters
from testbed.netns.faults.fault import Fault
from testbed.netns.namespaces import Namespaces


class Fabric(Namespaces):
    """Hosts behind ToRs and spines, and faults in them; a context manager.

    with Fabric(Plan()) as fabric:
        agent = fabric.popen("host-0", ["skeletonhunter-agent", ...])
        fabric.loss(("tor-0", "spine-1"), 30.0)
        fabric.heal()
    """

    def create(self, fault: Fault) -> Fault:
        """Inject a fault and verify in the kernel that it is in place; see ``faults.actions``."""
        return actions.create(self, fault)

    def destroy(self, fault: Fault) -> None:
        """Undo a fault and verify in the kernel that it is gone."""
        actions.destroy(self, fault)

    def heal(self) -> None:
        """Destroy every fault, the newest first."""
        for fault in reversed(list(self.faults.values())):
            self.destroy(fault)

    def loss(self, link: tuple[str, str], percent: float) -> None:
        """Drop ``percent`` of the IP packets that cross a link, in both directions.

        link  two switches, or a switch and a NIC's address
        """
        at = self.plan.link_id(self.plan.cable(*link))
        self.create(Fault(target="network", action="loss", at=at, percent=percent))

    def dropped(self, link: tuple[str, str]) -> int:
        """Packets that the losses on this link have dropped so far, in both directions."""
        at = self.plan.link_id(self.plan.cable(*link))
        return sum(filters.dropped(self, fault) for fault in self.faults.values() if fault.at == at)

    def nic_down(self, host: str, nic: int) -> None:
        """Take a NIC's switch port down: the NIC loses its carrier and keeps its routes."""
        address = self.plan.nic_address(int(host.removeprefix("host-")), nic)
        self.create(Fault(target="network", action="down", at=component("rnic", address)))
