"""The formats that an import reads, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from controller.inventory.formats import cable_list, ibnetdiscover, lldp, netbox, sonic
from controller.inventory.found import Found, joined

Read = Callable[[bytes, str], Found]
FORMATS: Final[dict[str, Read]] = {
    "lldp": lldp.read,
    "ibnetdiscover": ibnetdiscover.read,
    "netbox": netbox.read,
    "sonic": sonic.read,
    "csv": cable_list.read,
}


def read(
    files: Iterable[tuple[str, bytes]],
    source: str,
    *,
    hosts: Iterable[tuple[str, bytes]] = (),
    host_roles: Collection[str] = (),
) -> Found:
    """What some files of one format say, and hosts files beside them.

    files       names and contents
    source      one of FORMATS; ``Found``s of several formats are joined with ``found.joined``
    host_roles  of NetBox: slugs of the roles of hosts; none: ``netbox.HOST_ROLES``
    """
    own: Read = FORMATS[source]
    if source == "netbox" and host_roles:

        def own(raw: bytes, file: str) -> Found:
            return netbox.read(raw, file, host_roles)

    parts = [own(raw, file) for file, raw in files]
    parts += [cable_list.read(raw, file) for file, raw in hosts]
    return joined(parts)
