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


def gid_of(ip: str, root: Path = SYS) -> Gid:
    """The RoCEv2 entry that maps an IPv4 address; raises RdmaError."""
    seen = set()
    for gid, found in _entries(root):
        if found == ip:
            return gid
        seen.add(found)
    if not any(root.glob("*")):
        raise RdmaError(no_device())
    raise RdmaError(
        f"no RDMA device has a RoCEv2 GID of {ip} (seen: {', '.join(sorted(seen)) or 'none'}); "
        "give its network interface the address, or name the GID with --rdma-gid"
    )


def _entries(root: Path) -> Iterator[tuple[Gid, str]]:
    for table in sorted(root.glob("*/ports/*/gids")):
        for entry in sorted(table.iterdir(), key=lambda each: int(each.name)):
            kind = _read(table.parent / "gid_attrs" / "types" / entry.name)
            ip = ip_of_gid(_read(entry) or "::")
            if ip is not None and kind == _ROCE_V2:
                yield Gid(table.parts[-4], int(table.parts[-2]), int(entry.name)), ip


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
