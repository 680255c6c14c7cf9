"""Documents beside the records: placements and maintenance (NDJSON or JSON array), heartbeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from schemas.documents import heartbeat
from schemas.documents.decoding import DocumentError, decode
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from skeletonhunter.diagnosis import agent_output
from skeletonhunter.errors import BadInput

Document = TypeVar("Document", bound=msgspec.Struct)


class Located(NamedTuple, Generic[Document]):
    """A document and its place."""

    document: Document
    where: str  # file:line, or file[index] in a JSON array


def read_placements(path: Path | None) -> list[Located[Placement]]:
    """Placements of a file; raises BadInput with file, line and remedy."""
    return _read(path, Placement, "placement")


def read_maintenance(path: Path | None) -> list[Located[Maintenance]]:
    """Maintenance windows of a file; raises BadInput with file, line and remedy."""
    return _read(path, Maintenance, "maintenance")


def read_heartbeats(path: Path | None) -> tuple[list[Heartbeat], list[str]]:
    """Heartbeats of NDJSON or of an agent's ``--publish file:``, and why other lines are invalid.

    Raises BadInput when the file holds no valid heartbeat.
    """
    if path is None:
        return [], []
    beats, invalid = [], []
    for number, line in enumerate(_bytes(path).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            if agent_output.begins_like(line):
                found = agent_output.read(line)
                beats += [found] if isinstance(found, Heartbeat) else []
            else:
                beats.append(heartbeat.decode(line))
        except (ValueError, RecursionError) as why:  # of JSON, UTF-8 or the heartbeat
            invalid.append(f"{path}:{number}: {' '.join(str(why).split())[:300]}")
    if not beats:
        first = f"; {invalid[0]}" if invalid else ""
        raise BadInput(f"{path}: no heartbeats{first}; give NDJSON of the agents' heartbeats")
    return beats, invalid


def _read(path: Path | None, kind: type[Document], name: str) -> list[Located[Document]]:
    if path is None:
        return []
    raw = _bytes(path)
    if raw.lstrip()[:1] == b"[":
        every = _decode(raw, list[kind], str(path), name)  # type: ignore[valid-type]  # a type made at run time
        return [Located(each, f"{path}[{index}]") for index, each in enumerate(every)]
    return [
        Located(_decode(line, kind, f"{path}:{number}", name), f"{path}:{number}")
        for number, line in enumerate(raw.split(b"\n"), 1)
        if line.strip()
    ]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as why:
        raise BadInput(f"{path}: {why.strerror}; give a readable NDJSON file") from why


def _decode(raw: bytes, kind: Any, where: str, name: str) -> Any:
    try:
        return decode(raw, kind)
    except DocumentError as why:
        raise BadInput(f"{where}: {why}; see schemas/json/{name}.schema.json") from why
