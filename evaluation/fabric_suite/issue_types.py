"""Whether the incident of a fault names its issue type: stated, among the probable ones, or open.

Only a stated type that is the fault's own counts as named exactly. What probes alone would have
stated stays in an incident when the evidence of a host decides, so both are read from it. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, get_args

from localizer.explanation.refined import taken_out
from schemas.documents.incident import Incident

#: exactly   the incident states the fault's type
#: probable  it states none; the fault's type is in its ranking (``evidence.issue_types``)
#: open      it states none, nor is the fault's type in its ranking
#: wrong     it states another type
#: missed    no incident names the fault
#: untyped   the fault is none of the catalogue, and its incident states no type
Outcome = Literal["exactly", "probable", "open", "wrong", "missed", "untyped"]

_COUNTED: Final = tuple(each for each in get_args(Outcome) if each != "untyped")


class TypeScore(NamedTuple):
    """The issue type of one fault.

    true     of the catalogue; None: the fault has none
    stated   by the incident; probes: what it would state without evidence of hosts
    decided  the evidence of a host is in the incident
    """

    true: str | None
    stated: str | None
    outcome: Outcome
    probes: Outcome
    decided: bool


def typed(true: str | None, incident: Incident | None) -> TypeScore:
    """Score the newest version of a fault's incident; None: the fault is missed."""
    if incident is None:
        return TypeScore(true, None, "missed", "missed", False)
    plain, finding = taken_out(incident)
    stated = incident.issue_type
    return TypeScore(true, stated, _outcome(true, incident), _outcome(true, plain), bool(finding))


def _outcome(true: str | None, incident: Incident) -> Outcome:
    stated = incident.issue_type
    if stated is not None:
        return "exactly" if stated == true else "wrong"
    if true is None:
        return "untyped"
    ranked = incident.evidence.get("issue_types")
    return "probable" if isinstance(ranked, dict) and true in ranked else "open"


def summary(scores: Iterable[TypeScore]) -> str:
    """One line: how many types are named exactly, and what became of the others."""
    known = list(scores)
    of_type = [each for each in known if each.true is not None]
    line = f"issue types: {_counts(of_type, [each.outcome for each in of_type])}"
    if wrong := sum(each.true is None and each.outcome == "wrong" for each in known):
        line += f"; {wrong} stated for faults of no type"
    if decided := sum(each.decided for each in known):
        alone = _counts(of_type, [each.probes for each in of_type])
        line += f"; evidence of hosts is in {decided} incidents, by probes alone {alone}"
    return line


def _counts(faults: list[TypeScore], outcomes: list[Outcome]) -> str:
    found = Counter(outcomes)
    others = [f"{found[each]} {each}" for each in _COUNTED if each != "exactly" and found[each]]
    what = f"{found['exactly']} of {len(faults)} exactly"
    return f"{what} ({', '.join(others)})" if others else what
