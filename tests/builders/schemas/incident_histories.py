"""Histories of incidents as skh.incidents has them: versions that follow each other, mixed."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from builders.schemas.incidents import INCIDENT
from schemas.documents.incident import Incident

COMPONENTS = ("tor:t1", "tor:t2", "link:spine:s1|tor:t1")


def version(number: int, incident_id: str = "AAAA", **changes: Any) -> Incident:
    """A version of an incident; it is open, P1 and of tor:t1 unless something else is given."""
    fields: dict[str, Any] = {"component": "tor:t1", "severity": "P1", "tie_set": ["tor:t1"]}
    fields |= {"state": "open" if number == 1 else "ongoing", **changes}
    return msgspec.structs.replace(INCIDENT, incident_id=incident_id, version=number, **fields)


@st.composite
def histories(draw: st.DrawFn, incidents: int = 4) -> list[Incident]:
    """Versions of some incidents in an order in which a topic may have them."""
    ids = [f"incident-{number}" for number in range(incidents)]
    lines = []
    for incident_id in ids:
        parents = st.sampled_from([None, None, *(each for each in ids if each < incident_id)])
        count = draw(st.integers(1, 5))
        line = [
            version(
                number + 1,
                incident_id,
                severity=draw(st.sampled_from(["P0", "P1", "P2"])),
                component=draw(st.sampled_from(COMPONENTS)),
                parent=draw(parents),
                confidence=draw(st.sampled_from([0.3, 0.9])),
            )
            for number in range(count)
        ]
        if draw(st.booleans()):
            line.append(msgspec.structs.replace(line[-1], version=count + 1, state="resolved"))
        lines.append(line)
    order = draw(st.permutations([n for n, line in enumerate(lines) for _ in line]))
    return [lines[n].pop(0) for n in order]
