"""JSON Schemas of the documents, generated from the structs that decode them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from schemas.documents.coverage import Coverage
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Anomaly, Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.requests.evidence import Evidence
from schemas.documents.requests.request import Request
from schemas.documents.tasks.job import Job
from schemas.documents.tasks.skeleton import Skeleton
from schemas.documents.topology import Topology

#: Version of all documents; see ``schemas.message_headers``.
VERSION: Final = 1
#: Fields that hold RFC 3339 times.
_TIMES: Final = frozenset({
    "opened_at", "detected_at", "updated_at", "closed_at", "window_start", "window_end", "at",
    "valid_from", "from", "until", "asked_at", "expires_at", "since", "start", "end",
})  # fmt: skip
_FIELD: Final = re.compile(r" {4}(\w+(?:, \w+)*) {2,}(\S.*)")
FOLDER: Final = Path(__file__).parent / "json"
DOCUMENTS: Final[dict[str, type[msgspec.Struct]]] = {
    "anomaly": Anomaly,
    "coverage": Coverage,
    "evidence": Evidence,
    "heartbeat": Heartbeat,
    "incident": Incident,
    "job": Job,
    "maintenance": Maintenance,
    "placement": Placement,
    "request": Request,
    "skeleton": Skeleton,
    "topology": Topology,
}


def schema(name: str) -> dict[str, Any]:
    """JSON Schema 2020-12 of one document."""
    body = msgspec.json.schema(DOCUMENTS[name], schema_hook=_anything)
    for struct in body.get("$defs", {}).values():
        _describe(struct)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:skeletonhunter:{name}:{VERSION}",
        "$comment": f"schema-version {VERSION}; new optional fields do not raise it",
        **body,
        "examples": [_examples()[name]],
    }


def _describe(struct: dict[str, Any]) -> None:
    """Give properties what the docstring of their struct says of them, and times their format."""
    said = _fields_of(struct.get("description", ""))
    for name, field in struct.get("properties", {}).items():
        if name in said:
            field["description"] = said[name]
        for kind in (field, *field.get("anyOf", [])):
            # an empty text may stand for a time where it is the default
            if name in _TIMES and kind.get("type") == "string" and field.get("default") != "":
                kind["format"] = "date-time"


def _fields_of(docstring: str) -> dict[str, str]:
    """Field -> text, of the lines ``name, other   text`` and what is indented below them."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in docstring.split("\n")[1:]:
        if match := _FIELD.fullmatch(line):
            names = match[1].split(", ")
            found.update(dict.fromkeys(names, match[2]))
        elif names and line.startswith(" " * 8):
            found.update({name: f"{found[name]} {line.strip()}" for name in names})
        else:
            names = []
    return found


@cache
def _examples() -> dict[str, Any]:
    examples: dict[str, Any] = json.loads((FOLDER / "examples.json").read_text())
    return examples


def _anything(kind: type) -> dict[str, Any]:
    """Schema of a field that msgspec cannot describe: ``evidence`` holds any JSON."""
    if kind is object:
        return {"description": "any JSON value"}
    raise NotImplementedError(f"{kind} is not a JSON type")


def files() -> dict[str, str]:
    """File name -> text of every schema."""
    return {
        f"{name}.schema.json": json.dumps(schema(name), indent=2, sort_keys=True) + "\n"
        for name in DOCUMENTS
    }


def write(folder: Path) -> list[Path]:
    """Write all schemas into a folder, created if missing; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in files().items():
        (folder / name).write_text(text)
        written.append(folder / name)
    return written
