"""What an agent needs to be tried on this machine alone: topology, tokens, sender key."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from controller.service.tokens import agent_line, new_token, operator_line
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.topology import Host, Rnic, Topology
from streams.admission.sender_keys import KeyRingFile

NODE_SN: Final = "this-host"
OPERATOR: Final = "operator"
_ADDRESSES: Final = ("127.0.0.10", "127.0.0.11", "127.0.0.12")
#: This host, with three loopback addresses as its rnics, which probe each other.
TOPOLOGY: Final = Topology(
    fabric=DEFAULT_FABRIC,
    hosts=[Host(NODE_SN, [Rnic(address, rail) for rail, address in enumerate(_ADDRESSES)])],
)


def write_tokens(data: Path) -> Path:
    """Write the controller's file of tokens, unless it is there, and the tokens beside it.

    Of an operator and of this host, each readable by the owner only.
    """
    path = data / "tokens"
    if not path.exists():
        operator, agent = new_token(), new_token()
        _write(data / f"{OPERATOR}.token", operator + "\n")
        _write(data / f"{NODE_SN}.token", agent + "\n")
        lines = operator_line(OPERATOR, operator), agent_line((DEFAULT_FABRIC, NODE_SN), agent)
        _write(path, "".join(lines))
    return path


def write_sender_key(data: Path, ring: KeyRingFile) -> Path:
    """Write sender.key, this host's key of the ring, readable by its owner only."""
    path = data / "sender.key"
    _write(path, ring().host_key(DEFAULT_FABRIC, NODE_SN).document() + "\n")
    return path


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
