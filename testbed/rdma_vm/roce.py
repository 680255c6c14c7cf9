"""The route of soft-RoCE's packets through a namespace fabric."""

from __future__ import annotations

import re

from probers.rdma.packet import ROCE_PORT, QpAddress, source_port
from testbed.netns import Fabric
from testbed.netns.machine import call
from testbed.rdma_vm.kernel import GuestError


def spine_between(fabric: Fabric, source: QpAddress, target: QpAddress) -> str:
    """The spine that packets from one queue pair to another cross: the kernel of the source's ToR
    computes it with the hash by which it forwards.

    Of IPv4 only: of IPv6, ``ip route get`` named the port that Linux 6.18 forwarded by for 16 of 24
    five-tuples.
    """
    if source.ipv6:
        raise GuestError(f"the spine between {source} and {target}: known of IPv4 only")
    cable = next(c for c in fabric.plan.cables() if c.lower[2] == source.ip)
    tor, port, _ = cable.upper
    shown = call(
        [
            "ip", "-n", fabric.namespace(tor), "route", "get", target.ip, "from", source.ip,
            "iif", port, "ipproto", "udp", "sport", str(source_port(source.qpn)),
            "dport", str(ROCE_PORT),
        ]
    )  # fmt: skip
    found = re.search(r" dev spine(\d+) ", shown)
    if found is None:
        raise GuestError(f"{tor} sends packets for {target.ip} to no spine: {shown.strip()}")
    return f"spine-{found[1]}"
