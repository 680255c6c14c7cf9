"""Puts a guest in the place of a host: its NICs get the host's cables and addresses.

    tor-0            tor-1
      |nic0            |nic1        the host's namespace keeps the cables' ends, without addresses
     br-g0            br-g1
      |g0              |g1          tap devices
    [eth0   guest      eth1]        10.1.0.1 and 10.1.1.1, the host's own

Everything is in the host's namespace, so it ends with the fabric.
"""

from __future__ import annotations

from typing import NamedTuple

from testbed.netns import Fabric
from testbed.netns.machine import ip
from testbed.rdma_vm.boot import Guest, Launch, Nic
from testbed.rdma_vm.kernel import GuestError


class Rail(NamedTuple):
    """A NIC of the guest, and the address and gateway of its cable."""

    nic: Nic
    address: str
    gateway: str


def attach(fabric: Fabric, host: int) -> list[Rail]:
    """Replace all of a host's NICs by tap devices; no agent may run in that host."""
    space, rails = fabric.namespace(f"host-{host}"), []
    for number in range(fabric.plan.nics):
        (_, _, gateway), (_, port, address) = fabric.plan.nic_cable(host, number).ends()
        tap, bridge = f"g{number}", f"br-g{number}"
        ip(
            space,
            [
                f"addr flush dev {port}",
                f"link add {bridge} type bridge",
                f"tuntap add dev {tap} mode tap",
                f"link set {port} master {bridge}",
                f"link set {tap} master {bridge} up",
                f"link set {bridge} up",
            ],
        )
        rails.append(Rail(Nic(tap, f"02:73:6b:68:{host:02x}:{number:02x}"), address, gateway))
    return rails


def launcher(fabric: Fabric, host: int) -> Launch:
    """A ``launch`` that starts the guest in the host's network; it ends with the fabric."""
    return lambda argv, **popen: fabric.popen(f"host-{host}", argv, **popen)


def configure(guest: Guest, rails: list[Rail]) -> None:
    """Give the guest's NICs their addresses and an RDMA device each: rxe0, rxe1, …"""
    words = [word for rail in rails for word in (rail.nic.mac, rail.address, rail.gateway)]
    result = guest.run(f"/network rails {' '.join(words)}")
    if result.code:
        raise GuestError(f"the guest's network: {' | '.join(result.lines[-3:])}")
