"""The counters of an rnic, found by its address: of its RDMA port, or of its network interface.

Counters of RDMA ports count what bypasses the kernel too, and so nearly all of a job's traffic;
those of interfaces do not, on most devices. Soft-RoCE has only the latter, and they count it.

An RDMA port counts its own PCI function only: of an rnic whose virtual functions are in containers,
nearly nothing. Where the rnic's switch is offloaded (switchdev), the interface counts the whole
physical port, at least with mlx5; such an interface is called an uplink.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final, Literal, NamedTuple

from probers.throughput import interfaces
from probers.throughput.seconds import Reading

#: auto: of an uplink's interface, else of the RDMA port where there is one with counters, else of
#: the interface.
Kind = Literal["auto", "rdma", "net"]
KINDS: Final[tuple[Kind, ...]] = ("auto", "rdma", "net")
#: Addresses may move to other devices: they are looked up again after so long [s], and so long
#: after a failure.
LOOK_UP_S: Final = 60.0
RETRY_S: Final = 10.0
_WORD_BYTES: Final = 4  # port_xmit_data counts words (InfiniBand specification, PortCounters)
#: A counter of 32 bits stays at its largest value, after a third of a second at 400 Gb/s.
_STUCK: Final = 2**32 - 1


class Unreadable(Exception):
    """No counters of an rnic; one line: what, why."""


class Port(NamedTuple):
    """An RDMA port: its folder in /sys, and its name as DEVICE/PORT."""

    path: Path
    name: str

    def read(self) -> Reading:
        """Raises Unreadable, OSError."""
        sent, received = (
            int((self.path / "counters" / name).read_bytes())
            for name in ("port_xmit_data", "port_rcv_data")
        )
        if _STUCK in (sent, received):
            raise Unreadable(f"{self.path}/counters are of 32 bits and full; give --throughput net")
        return Reading(f"rdma:{self.name}", sent * _WORD_BYTES, received * _WORD_BYTES)


class Interface(NamedTuple):
    """A network interface. cached: it shows what it counted when it was last read, and counts
    again in the background then, as uplinks of mlx5 do."""

    name: str
    cached: bool = False

    def read(self) -> Reading:
        """Raises OSError. An interface that was made again is another source."""
        index = socket.if_nametoindex(self.name)
        return Reading(f"net:{self.name}#{index}", *interfaces.byte_counts(index))


class PortCounters:
    """Reads the counters of rnics by their addresses; for one thread.

    sources  what to read of some rnics, whatever ``kind``: rdma:DEVICE/PORT or net:INTERFACE
    sysfs    where the kernel's devices are shown
    """

    def __init__(
        self,
        kind: Kind = "auto",
        sources: Mapping[str, str] | None = None,
        *,
        sysfs: Path = Path("/sys"),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._kind, self._given, self._sysfs, self._clock = kind, sources or {}, sysfs, clock
        self._interfaces: dict[str, str] = {}
        self._found: dict[str, Port | Interface] = {}  # by address
        self._failed: dict[str, str] = {}
        self._look_again_s = 0.0

    def prepare(self, rnics: Iterable[str]) -> bool:
        """Make cached counters of these count; whether any does: read them a moment later."""
        cached = False
        for real_ip in rnics:
            found = self._found.get(real_ip)
            if isinstance(found, Interface) and found.cached:
                cached = True
                with suppress(OSError):  # reading it says so
                    found.read()
        return cached

    def doubt(self, real_ip: str) -> str:
        """Why the counters that were read may lack most of the traffic; empty: there is no such
        reason."""
        found, interface = self._found.get(real_ip), self._interfaces.get(real_ip)
        if real_ip in self._given or not isinstance(found, Port) or interface is None:
            return ""
        count = _text(self._sysfs / "class/net" / interface / "device/sriov_numvfs")
        if count in ("", "0"):
            return ""
        return f"bytes of its {count} virtual functions may not be counted; see --throughput-source"

    def read(self, real_ip: str) -> Reading:
        """The counters now; raises Unreadable, for RETRY_S without a further attempt."""
        now_s = self._clock()
        if now_s >= self._look_again_s:
            self._look_again_s = now_s + LOOK_UP_S
            self._found, self._failed = {}, {}
            self._interfaces = interfaces.by_address()
        if real_ip in self._failed:
            raise Unreadable(self._failed[real_ip])
        try:
            if real_ip not in self._found:
                self._found[real_ip] = self._find(real_ip)
            return self._found[real_ip].read()
        except (OSError, ValueError, Unreadable) as why:
            self._look_again_s = min(self._look_again_s, now_s + RETRY_S)
            self._failed[real_ip] = text = " ".join(str(why).split())
            raise Unreadable(text) from why

    def _find(self, real_ip: str) -> Port | Interface:
        """The RDMA port or the interface whose counters are those of the rnic."""
        if real_ip in self._given:
            kind, _, name = self._given[real_ip].partition(":")
            return self._port(*name.split("/")) if kind == "rdma" else Interface(name)
        interface = self._interfaces.get(real_ip)
        if interface is None:
            raise Unreadable("no interface here has this address")
        uplink = self._is_uplink(interface)
        if self._kind == "net" or (uplink and self._kind == "auto"):
            return Interface(interface, cached=uplink)
        port = self._port_behind(interface)
        if port is not None and (self._kind == "rdma" or (port.path / "counters").is_dir()):
            return port
        if self._kind == "auto":
            return Interface(interface)
        raise Unreadable(f"interface {interface} has no RDMA port; give --throughput auto or net")

    def _is_uplink(self, interface: str) -> bool:
        """Whether the interface, or one below it (of a bond, a VLAN), is a port of an offloaded
        switch."""
        own = self._sysfs / "class/net" / interface
        return self._is_ours(own, interface) and any(
            _text(each / "phys_switch_id") for each in (own, *own.glob("lower_*"))
        )

    def _port_behind(self, interface: str) -> Port | None:
        """The RDMA port of an interface, by its PCI function, or by the interface's own GID."""
        own = self._sysfs / "class/net" / interface
        if not self._is_ours(own, interface):
            return None
        with suppress(OSError):
            number = int((own / "dev_port").read_bytes()) + 1
            for device in sorted(os.listdir(own / "device/infiniband")):
                if (port := self._port(device, str(number))).path.is_dir():
                    return port
        for gid in sorted(self._sysfs.glob("class/infiniband/*/ports/*/gid_attrs/ndevs/0")):
            with suppress(OSError):  # of a GID that is not in use
                if gid.read_text().strip() == interface:
                    return self._port(gid.parts[-6], gid.parts[-4])
        return None

    def _is_ours(self, own: Path, interface: str) -> bool:
        """Whether /sys shows this process's network namespace, and not one whose devices happen to
        have the same names."""
        try:
            shown = set(os.listdir(own.parent))
            same = int((own / "ifindex").read_bytes()) == socket.if_nametoindex(interface)
        except (OSError, ValueError):
            return False
        return same and {name for _, name in socket.if_nameindex()} <= shown

    def _port(self, device: str, number: str) -> Port:
        return Port(
            self._sysfs / "class/infiniband" / device / "ports" / number, f"{device}/{number}"
        )


def _text(file: Path) -> str:
    """What a file of /sys says; empty where the device has no such thing."""
    try:
        return file.read_text().strip()
    except (OSError, ValueError):
        return ""
