"""RDMA devices of this machine: which of them has an address, and why there is none.

The kernel shows their GIDs in /sys, so that looking for one opens no device.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from probers.rdma.packet import ip_of_gid

SYS: Final = Path("/sys/class/infiniband")
_ROCE_V2: Final = "RoCE v2"


class RdmaError(RuntimeError):
    """No device, or it failed; one line: what, where, what to do."""


class Gid(NamedTuple):
    """An entry of the GID table of a device's port."""

    device: str
    port: int
    entry: int

    def __str__(self) -> str:
        return f"{self.device}/{self.port}, GID {self.entry}"


def gid_of(ip: str, root: Path = SYS, device: str = "*") -> Gid:
    """The RoCEv2 entry of an IPv4 or IPv6 address, of one device or of any; raises RdmaError."""
    seen = set()
    for gid, found in _entries(root, device):
        if found == ip:
            return gid
        seen.add(found)
    if not any(root.glob("*")):
        raise RdmaError(no_device())
    raise RdmaError(
        f"no RDMA device has a RoCEv2 GID of {ip} (seen: {', '.join(sorted(seen)) or 'none'}); "
        "give its network interface the address, or name the GID with --rdma-gid"
    )


def own_gid(ip: str, named: Gid | None, root: Path = SYS) -> Gid:
    """The GID of an own address: the named one, or the RoCEv2 one that has the address.

    Raises RdmaError, also where the named one has another address: peers send to that of their
    lists, and would authenticate their probes for another one.
    """
    if named is None:
        return gid_of(ip, root)
    if (found := address_of(named, root)) != ip:
        raise RdmaError(f"{named} has address {found}, and the list has {ip}; name a GID of {ip}")
    return named


def address_of(gid: Gid, root: Path = SYS) -> str:
    """The address of an entry, which may be link-local: it was named; raises RdmaError."""
    table = root / gid.device / "ports" / str(gid.port) / "gids"
    kind, ip = _entry(table / str(gid.entry), link_local=True)
    if ip is None or kind != _ROCE_V2:
        raise RdmaError(
            f"{gid} is {kind or 'empty'}, and not of {_ROCE_V2}; {table} shows the entries"
        )
    return ip


def first_gid(device: str, ipv6: bool | None = None, root: Path = SYS) -> Gid:
    """The first RoCEv2 entry of a device; raises RdmaError.

    ipv6  its IP version; None: IPv4 before IPv6
    """
    found = [(":" in ip, gid) for gid, ip in _entries(root, device)]
    for wanted in (False, True) if ipv6 is None else (ipv6,):
        for of_ipv6, gid in found:
            if of_ipv6 == wanted:
                return gid
    version = {None: "", False: " of IPv4", True: " of IPv6"}[ipv6]
    raise RdmaError(
        f"RDMA device {device} has no RoCEv2 GID{version} that is not link-local; give its network "
        "interface an address, or name the GID"
    )


def _entries(root: Path, device: str) -> Iterator[tuple[Gid, str]]:
    """RoCEv2 entries with their addresses, without link-local ones."""
    for table in sorted(root.glob(f"{device}/ports/*/gids")):
        for file in sorted(table.iterdir(), key=lambda each: int(each.name)):
            kind, ip = _entry(file)
            if ip is not None and kind == _ROCE_V2:
                yield Gid(table.parts[-4], int(table.parts[-2]), int(file.name)), ip


def _entry(file: Path, *, link_local: bool = False) -> tuple[str, str | None]:
    """Type and address of an entry."""
    kind = _read(file.parents[1] / "gid_attrs" / "types" / file.name)
    return kind, ip_of_gid(_read(file) or "::", link_local=link_local)


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:  # the kernel's answer for an empty entry
        return ""


def device_names() -> list[str]:
    """The machine's RDMA devices; raises RdmaError when there is none or pyverbs is missing."""
    library = pyverbs("device")
    try:
        names = [found.name.decode() for found in library.get_device_list()]
    except error() as why:
        raise RdmaError(no_device()) from why
    if not names:
        raise RdmaError(no_device())
    return names


def pyverbs(part: str) -> ModuleType:
    """A module of pyverbs; raises RdmaError where it is missing."""
    try:
        return import_module(f"pyverbs.{part}")
    except ImportError as why:
        raise RdmaError(
            f"RDMA_PING needs pyverbs ({why}); apt install python3-pyverbs ibverbs-providers, and "
            "run the agent with the distribution's Python"
        ) from why


def error() -> type[Exception]:
    """What pyverbs raises."""
    known: type[Exception] = pyverbs("pyverbs_error").PyverbsError
    return known


def no_device() -> str:
    """One line for a machine without any device."""
    return (
        "RDMA_PING needs an RDMA device and this machine has none (ibv_devices lists them); "
        "probe with UDP_PING, or add one: rdma link add rxe0 type rxe netdev INTERFACE"
    )
