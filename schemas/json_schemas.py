"""JSON Schemas of the documents, generated from the structs that decode them."""

from __future__ import annotations

import json
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
from schemas.documents.topology import Topology

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
    "topology": Topology,
}


def schema(name: str) -> dict[str, Any]:
    """JSON Schema 2020-12 of one document."""
    body = msgspec.json.schema(DOCUMENTS[name], schema_hook=_anything)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body}


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
