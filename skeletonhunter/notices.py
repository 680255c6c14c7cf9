"""What operators say in files: placements and maintenance, as NDJSON or a JSON array."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from schemas.maintenance import Maintenance
from schemas.placement import Placement
from schemas.times import seconds_of
from skeletonhunter.errors import BadInput

Document = TypeVar("Document", bound=msgspec.Struct)


def read_placements(path: Path | None) -> list[Placement]:
    """Raises BadInput naming file, line and what to do."""
    found = _read(path, Placement, "placement")
    for doc in found:
        try:
            seconds_of(doc.valid_from)
        except ValueError as why:
            raise BadInput(f"{path}: {doc.node_id}: valid_from: {why}") from why
    return found


def read_maintenance(path: Path | None) -> list[Maintenance]:
    """Raises BadInput naming file, line and what to do."""
    return _read(path, Maintenance, "maintenance")


def _read(path: Path | None, kind: type[Document], name: str) -> list[Document]:
    if path is None:
        return []
    try:
        raw = path.read_bytes()
    except OSError as why:
        raise BadInput(f"{path}: {why.strerror}; give a readable NDJSON file") from why
    if raw.lstrip()[:1] == b"[":
        return list(_decode(raw, list[kind], str(path), name))  # type: ignore[valid-type]  # a type made at run time
    return [
        _decode(line, kind, f"{path}:{number}", name)
        for number, line in enumerate(raw.split(b"\n"), 1)
        if line.strip()
    ]


def _decode(raw: bytes, kind: Any, where: str, name: str) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as why:
        raise BadInput(f"{where}: {why}; see schemas/json/{name}.schema.json") from why
