"""Incidents as ``diagnose --format json`` prints them, reduced to the fields that scoring needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from testbed.faults.issue_types import PUBLISHED


class ScoreError(ValueError):
    """Incidents cannot be read; one line."""


class ScoredIncident(Protocol):
    """What scoring needs of an incident; schemas.documents.incident.Incident has it."""

    @property
    def incident_id(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def fabric(self) -> str: ...
    @property
    def component(self) -> str: ...
    @property
    def symptom(self) -> str: ...
    @property
    def issue_type(self) -> str | None: ...
    @property
    def detected_at(self) -> str: ...
    @property
    def tie_set(self) -> Sequence[str]: ...
    @property
    def parent(self) -> str | None: ...
    @property
    def evidence(self) -> Mapping[str, object]: ...


class ReportedIncident(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``diagnose --format json``."""

    incident_id: str
    fabric: str
    component: str
    symptom: str
    detected_at: str
    version: int = 1
    issue_type: str | None = None
    tie_set: list[str] = []
    parent: str | None = None
    evidence: dict[str, object] = {}


def likeliest_type(incident: ScoredIncident) -> str | None:
    """The likeliest issue type of an incident, also where the incident is not sure enough to state
    it; None where it is not one of the catalogue."""
    ranked = incident.evidence.get("issue_types")
    if not isinstance(ranked, dict) or not ranked:
        return incident.issue_type
    name = max(ranked, key=lambda each: ranked[each])
    return str(name) if name in PUBLISHED else None


def read_incidents(lines: Iterable[bytes], where: str = "incidents") -> list[ReportedIncident]:
    """Parse JSON lines; raises ScoreError naming the line."""
    decoder = msgspec.json.Decoder(ReportedIncident)
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(decoder.decode(line))
            except msgspec.MsgspecError as why:
                raise ScoreError(f"{where}, line {number}: {why}") from why
    return found


def load_incidents(path: Path) -> list[ReportedIncident]:
    """Read a file of JSON lines; raises ScoreError."""
    try:
        return read_incidents(path.read_bytes().splitlines(), str(path))
    except OSError as why:
        raise ScoreError(f"{path}: {why.strerror}; give what diagnose --format json wrote") from why
