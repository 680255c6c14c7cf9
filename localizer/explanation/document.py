"""The evidence of an incident document, rendered from the typed evidence of a verdict."""

from __future__ import annotations

from localizer.explanation.parameters import DEFAULT
from localizer.verdicts.verdict import Drifted, IssueTypes, Untraced, Verdict
from schemas.documents.incident import Incident


def render(verdict: Verdict) -> dict[str, object]:
    """The free-form evidence that people and the page read."""
    if verdict.restored is not None:
        return verdict.restored
    out: dict[str, object] = {}
    if verdict.alternatives:
        out["alternatives"] = verdict.alternatives
    if verdict.instead_of is not None:
        out["instead_of"] = verdict.instead_of
    if verdict.five_tuples is not None:
        out["share_of_five_tuples"] = verdict.five_tuples
    if verdict.tie_set_probability:
        out["tie_set_probability"] = verdict.tie_set_probability
    if verdict.issue.flapping is not None:
        out["flapping"] = verdict.issue.flapping
    if verdict.issue.probability:
        out["issue_types"] = verdict.issue.probability
    out["text"] = verdict.text
    if verdict.hosts:
        out["hosts"] = len(verdict.hosts)
        out["host_names"] = verdict.hosts[: DEFAULT.hosts_named]
    if (measured := verdict.measured) is not None:
        out |= measured.contrast._asdict()
        out["layers"] = measured.layers
        out["effect"] = round(measured.effect, 6)
        out["window_s"] = measured.window_s
        out["source_hosts"] = measured.source_hosts
        out["examples"] = measured.examples
    if (far := verdict.drifted) is not None:
        out["drift"] = {"percent": round(far.percent, 2), "hours": far.hours}
    if verdict.untraced is not None:
        out["untraced"] = verdict.untraced._asdict()
        out["warning"] = verdict.untraced.warning
    if measured is not None and measured.lof is not None:
        out["lof"] = measured.lof
    return out


def issue_types(document: Incident) -> IssueTypes:
    """The issue types that a document holds; what is malformed is left out."""
    evidence = document.evidence
    flapping = evidence.get("flapping")
    return IssueTypes(
        document.issue_type,
        _probabilities(evidence.get("issue_types")),
        flapping if isinstance(flapping, bool) else None,
    )


def tie_set_probability(document: Incident) -> dict[str, float]:
    """The probability of each member of the tie set that a document holds."""
    return _probabilities(document.evidence.get("tie_set_probability"))


def alternatives(document: Incident) -> dict[str, float]:
    """The probability of other classes that a document holds."""
    return _probabilities(document.evidence.get("alternatives"))


def drifted(document: Incident) -> Drifted | None:
    """How far a component has drifted, of an incident about drift."""
    known = document.evidence.get("drift")
    if known is None:
        return None
    facts = known if isinstance(known, dict) else {}
    return Drifted(_number(facts.get("percent")), _number(facts.get("hours")))


def untraced(document: Incident) -> Untraced | None:
    """What routes were not known when the document was written."""
    if "warning" not in document.evidence:
        return None
    known = document.evidence.get("untraced")
    facts = known if isinstance(known, dict) else {}
    return Untraced(int(_number(facts.get("paths"))), int(_number(facts.get("of"))))


def instead_of(document: Incident) -> str | None:
    """The component that too few source hosts saw at fault."""
    known = document.evidence.get("instead_of")
    return None if known is None else str(known)


def _probabilities(known: object) -> dict[str, float]:
    if not isinstance(known, dict):
        return {}
    return {str(name): float(p) for name, p in known.items() if isinstance(p, int | float)}


def _number(known: object) -> float:
    return float(known) if isinstance(known, int | float) else 0.0
