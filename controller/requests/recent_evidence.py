"""The newest evidence about incidents, bounded in bytes. No I/O, no clock."""

from __future__ import annotations

from collections import deque

import msgspec

from controller.requests.parameters import DEFAULT, RequestParameters
from schemas.documents.requests.evidence import Evidence
from schemas.documents.requests.request import Request


class RecentEvidence:
    """What agents have answered to requests of incidents; the oldest goes first."""

    def __init__(self, parameters: RequestParameters = DEFAULT) -> None:
        self._most_bytes = parameters.evidence_bytes
        self._held: deque[tuple[str, Evidence, int]] = deque()
        self._bytes = 0

    def add(self, request: Request, evidence: Evidence) -> None:
        """Take what says something; that a request runs or was done says nothing."""
        nothing = not (evidence.reason or evidence.probes or evidence.routes or evidence.counters)
        if not request.incident_id or (nothing and not evidence.flow_table):
            return
        size = len(msgspec.json.encode(evidence))
        self._held.append((request.incident_id, evidence, size))
        self._bytes += size
        while self._bytes > self._most_bytes:
            self._bytes -= self._held.popleft()[2]

    def of(self, incident_id: str) -> list[Evidence]:
        """About one incident, in the order of arrival."""
        return [evidence for name, evidence, _ in self._held if name == incident_id]
