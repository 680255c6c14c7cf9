"""Files with which an agent can be tried on this machine alone: ping list and sender key."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from controller.ping_lists.same_rail import same_rail
from schemas.documents.topology import Host, Rnic, Topology
from streams.admission.sender_keys import KeyRingFile

NODE_SN: Final = "this-host"
_FABRIC: Final = "default"
_ADDRESSES: Final = ("127.0.0.10", "127.0.0.11", "127.0.0.12")


def write_ping_list(data: Path) -> Path:
    """Write pinglist.json, unless it is there: three loopback addresses that probe each other."""
    path = data / "pinglist.json"
    if not path.exists():
        rnics = [Rnic(address, rail) for rail, address in enumerate(_ADDRESSES)]
        lists = same_rail(Topology(hosts=[Host(NODE_SN, rnics)]))
        path.write_bytes(msgspec.json.format(msgspec.json.encode(lists[NODE_SN])))
    return path


def write_sender_key(data: Path, ring: KeyRingFile) -> Path:
    """Write sender.key, this host's key of the ring, readable by its owner only."""
    path = data / "sender.key"
    path.touch(mode=0o600)
    path.write_text(ring().host_key(_FABRIC, NODE_SN).document() + "\n")
    return path
