"""How a port is now, as whole numbers beside its counters; and which rnic it belongs to.

carrier, admin_up       of an interface: 1 or 0
carrier_changes, carrier_up_count, carrier_down_count   since the interface was made [count]
bond_ports_up           of a bond: ports that are up [count]
port_state, phys_state  of an RDMA port: 4 is active, 5 is link up (InfiniBand specification)
address_present         of an rnic: 1, or 0 where its address is on no interface any more
device_present          of an rnic: 1, or 0 where its interface is gone
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from probers.throughput import interfaces

_READ_BYTES: Final = 256
_PLAIN: Final = ("carrier", "carrier_changes", "carrier_up_count", "carrier_down_count")
_RDMA: Final = (("state", "port_state"), ("phys_state", "phys_state"))
_UP: Final = 1  # IFF_UP


class Rnics:
    """Which interface has, or had, the address of each rnic. Not thread-safe.

    addresses  address -> interface that has it now; raises OSError
    indexes    interface of this network namespace -> its index
    """

    def __init__(
        self,
        addresses: Callable[[], dict[str, str]] = interfaces.by_address,
        indexes: Callable[[], dict[str, int]] = interfaces.indexes,
    ) -> None:
        self._addresses, self._indexes = addresses, indexes
        self._last: dict[str, str] = {}  # where each was last

    def learn(self, rnics: Iterable[str]) -> None:
        """Look up the interfaces of these rnics (addresses), and forget all others."""
        now, wanted = self._now(), set(rnics)
        self._last = {
            rnic: interface
            for rnic in wanted
            if (interface := now.get(rnic) or self._last.get(rnic, ""))
        }

    def present(self, net: Path) -> dict[str, tuple[str, bool]]:
        """Interface -> its rnic, and whether it has the rnic's address still.

        net  folder in which the kernel shows interfaces; where it shows those of another network
             namespace, which may have the same names, it says nothing of these rnics
        """
        for name, index in self._indexes().items():
            if _text(net / name / "ifindex") != str(index):
                return {}
        now = self._now()
        self._last = {rnic: now.get(rnic, last) for rnic, last in self._last.items()}
        return {interface: (rnic, rnic in now) for rnic, interface in sorted(self._last.items())}

    def _now(self) -> dict[str, str]:
        try:
            return self._addresses()
        except OSError:
            return {}


def of_interface(folder: Path) -> Iterator[tuple[str, int]]:
    """States of a network interface, from its folder in /sys."""
    for name in _PLAIN:
        if (text := _text(folder / name)).isdecimal():
            yield name, int(text)
    with suppress(ValueError):
        yield "admin_up", int(_text(folder / "flags"), 16) & _UP
    if ports := _text(folder / "bonding/slaves").split():
        up = [_text(folder.parent / port / "operstate") == "up" for port in ports]
        yield "bond_ports_up", sum(up)


def of_rdma_port(folder: Path) -> Iterator[tuple[str, int]]:
    """States of an RDMA port, from its folder in /sys, which says e.g. ``4: ACTIVE``."""
    for file, name in _RDMA:
        number, colon, _ = _text(folder / file).partition(":")
        if colon and number.strip().isdecimal():
            yield name, int(number)


def interface_of(folder: Path) -> str:
    """The interface of an RDMA port, by its first GID; empty where there is none."""
    return _text(folder / "gid_attrs/ndevs/0")


def _text(file: Path) -> str:
    """What a file of /sys says; empty where the device has no such thing, or is down."""
    try:
        with file.open("rb", buffering=0) as opened:
            return opened.read(_READ_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return ""
