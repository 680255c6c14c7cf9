"""Texts that would change a terminal, and an incident full of them."""

from __future__ import annotations

import json
from typing import Any

from schemas.documents.incident import Incident, decode_incident

#: Clears the screen (ESC, and C1's CSI), rings, overwrites the line, turns the text round, hides.
CONTROL = "a\x1b[2J\x9b2J\x07\r\u202e\u2066\u200b\x7fz"
ESCAPED = r"a\x1b[2J\x9b2J\x07\r\u202e\u2066\u200b\x7fz"
MARKUP = "[/red]:rat:[bold]"


def is_printable(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


def hostile_incident(**changes: Any) -> Incident:
    document = {
        "incident_id": "abc", "version": 1, "state": "open", "fabric": CONTROL,
        "component": f"host:{CONTROL}", "kind": "host", "layer": "host", "symptom": "loss",
        "issue_type": CONTROL, "direction": "both", "opened_at": "2026-01-01T00:00:00Z",
        "detected_at": "2026-01-01T00:00:02Z", "updated_at": "2026-01-01T00:00:02Z",
        "closed_at": None, "severity": "P0", "confidence": 1.0, "p_value": 1e-9,
        "tie_set": [f"host:{CONTROL}", f"rnic:{CONTROL}"], "parent": CONTROL, "paths_bad": 1,
        "paths_total": 2, "jobs": [CONTROL], "tenants": [CONTROL], "strategy": CONTROL,
        "evidence": {
            "text": f"{CONTROL}\n{CONTROL}", "examples": [CONTROL], "source_hosts": 3,
            "layers": {CONTROL: {"lost": 1, "sent": 2}},
        },
        **changes,
    }  # fmt: skip
    return decode_incident(json.dumps(document).encode())
