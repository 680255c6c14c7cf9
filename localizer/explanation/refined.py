"""A finding in an incident document: put in, and taken out again after a restart. Pure.

What probes say stays in the document, so that a localizer that goes on with it judges as the one
before did.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from localizer.explanation.confidence import cap, jeffreys
from localizer.explanation.issue_types import NONE
from localizer.explanation.parameters import DEFAULT
from localizer.host_evidence.finding import UNCHANGED, HostFinding
from schemas.component_ids import kind_of
from schemas.documents.incident import Incident, Symptom

_FIELD, _TYPES = "host_evidence", "issue_types"


class _Before(msgspec.Struct, frozen=True):
    """The document as probes alone would have it."""

    component: str
    tie_set: list[str]
    issue_type: str | None
    confidence: float
    text: str | None = None
    issue_types: dict[str, float] | None = None


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
        text if isinstance(text, str) else None, _numbers(document.evidence.get(_TYPES)),
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
    if finding.issue_type != UNCHANGED:
        evidence[_TYPES] = _types(before.issue_types or {}, finding.issue_type or NONE)
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
    if before.issue_types is None:
        evidence.pop(_TYPES, None)
    else:
        evidence[_TYPES] = before.issue_types
    found = HostFinding(known.component, known.issue_type, known.text, known.decides, known.symptom)
    plain = msgspec.structs.replace(
        document, component=before.component, kind=kind_of(before.component),
        tie_set=before.tie_set, issue_type=before.issue_type, confidence=before.confidence,
        evidence=evidence,
    )  # fmt: skip
    return plain, found


def _types(known: Mapping[str, float], decided: str) -> dict[str, float]:
    """Probabilities of issue types after one was decided, as surely as what was never tried."""
    sure = jeffreys(DEFAULT.untried, DEFAULT.untried)
    others = {name: p for name, p in known.items() if name != decided}
    left = (1.0 - sure) / (sum(others.values()) or 1.0)
    return {decided: round(sure, 3)} | {name: round(p * left, 3) for name, p in others.items()}


def _numbers(known: object) -> dict[str, float] | None:
    if not isinstance(known, dict):
        return None
    return {str(name): float(p) for name, p in known.items() if isinstance(p, int | float)}


def _confidence(document: Incident, name: str) -> float:
    """Of the whole tie set, which is one component now, as far as experience allows."""
    members = document.evidence.get("tie_set_probability")
    each = members if isinstance(members, dict) else {}
    whole = sum(p for p in each.values() if isinstance(p, int | float))
    return round(min(max(whole, document.confidence), cap(kind_of(name), document.symptom)), 4)
