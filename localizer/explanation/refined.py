"""A finding in an incident document: put in, and taken out again after a restart. Pure.

What probes say stays in the document, so that a localizer that goes on with it judges as the one
before did.
"""

from __future__ import annotations

import msgspec

from localizer.explanation.confidence import cap
from localizer.host_evidence.finding import UNCHANGED, HostFinding
from schemas.component_ids import kind_of
from schemas.documents.incident import Incident, Symptom

_FIELD = "host_evidence"


class _Before(msgspec.Struct, frozen=True):
    """The document as probes alone would have it."""

    component: str
    tie_set: list[str]
    issue_type: str | None
    confidence: float
    text: str | None = None


class _HostEvidence(msgspec.Struct, frozen=True):
    """``evidence.host_evidence`` of an incident."""

    text: str
    component: str
    issue_type: str | None
    decides: bool
    symptom: Symptom
    probes: _Before


def applies(finding: HostFinding, tie_set: list[str]) -> bool:
    """Whether a finding is about what the incident is about by now."""
    return finding.component in tie_set


def applied(document: Incident, finding: HostFinding | None) -> Incident:
    """The document with what the host's evidence decided; unchanged where there is none."""
    if finding is None or not applies(finding, document.tie_set):
        return document
    text = document.evidence.get("text")
    before = _Before(
        document.component, document.tie_set, document.issue_type, document.confidence,
        text if isinstance(text, str) else None,
    )  # fmt: skip
    stated = document.issue_type if finding.issue_type == UNCHANGED else finding.issue_type
    shown = _HostEvidence(
        finding.text,
        finding.component,
        finding.issue_type,
        finding.decides,
        finding.symptom,
        before,
    )
    evidence = {
        **document.evidence,
        "text": "; ".join(filter(None, (before.text, finding.text))),
        _FIELD: msgspec.to_builtins(shown),
    }
    if not finding.decides:
        return msgspec.structs.replace(document, issue_type=stated, evidence=evidence)
    name = finding.component
    return msgspec.structs.replace(
        document, component=name, kind=kind_of(name), issue_type=stated, evidence=evidence,
        tie_set=[name, *(each for each in document.tie_set if each != name)],
        confidence=_confidence(document, name),
    )  # fmt: skip


def taken_out(document: Incident) -> tuple[Incident, HostFinding | None]:
    """The document as probes alone would have it, and the finding that it held; what is malformed
    is none."""
    if _FIELD not in document.evidence:
        return document, None
    evidence = dict(document.evidence)
    try:
        known = msgspec.convert(evidence.pop(_FIELD), _HostEvidence)
    except msgspec.ValidationError:
        return msgspec.structs.replace(document, evidence=evidence), None
    before = known.probes
    if before.text is None:
        evidence.pop("text", None)
    else:
        evidence["text"] = before.text
    found = HostFinding(known.component, known.issue_type, known.text, known.decides, known.symptom)
    plain = msgspec.structs.replace(
        document, component=before.component, kind=kind_of(before.component),
        tie_set=before.tie_set, issue_type=before.issue_type, confidence=before.confidence,
        evidence=evidence,
    )  # fmt: skip
    return plain, found


def _confidence(document: Incident, name: str) -> float:
    """Of the whole tie set, which is one component now, as far as experience allows."""
    members = document.evidence.get("tie_set_probability")
    each = members if isinstance(members, dict) else {}
    whole = sum(p for p in each.values() if isinstance(p, int | float))
    return round(min(max(whole, document.confidence), cap(kind_of(name), document.symptom)), 4)
