"""One incident from its first document to its last. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from localizer.explanation import document, refined
from localizer.explanation.confidence import cap
from localizer.host_evidence.finding import HostFinding, Question
from localizer.incidents.belief import Belief
from localizer.verdicts.verdict import I64, Verdict
from schemas.component_ids import kind_of
from schemas.documents.incident import SMALLEST_P, Incident, Severity, State
from schemas.documents.times import rfc3339, seconds_of


@dataclass(frozen=True, slots=True)
class Impact:
    """Whom a verdict hits."""

    severity: Severity
    jobs: list[str]
    tenants: list[str]


@dataclass(slots=True)
class TrackedIncident:
    """An incident that is open, or was until lately; times in seconds since the epoch.

    bad       rows of all paths that were bad so far
    strayed   seconds in a row in which the same paths named another component
    typed_by  effect of the verdict that the issue types are from
    renewal_s  of the newest verdict: seconds in which its evidence renews itself
    relocated  the topology is another one than when it was written last
    finding   what the evidence of hosts decided, if it did
    belief    how probable its culprit is by all windows since it began
    written   the confidence that was written last
    """

    incident_id: str
    verdict: Verdict
    opened_s: int
    detected_s: float
    last_bad_s: int
    bad: I64
    version: int = 0
    state: State = "open"
    parent: str | None = None
    written_s: int = 0
    closed_s: int | None = None
    strayed: int = 0
    typed_by: float = 0.0
    renewal_s: int = 1
    relocated: bool = False
    finding: HostFinding | None = None
    belief: Belief = field(default_factory=Belief)
    written: float = 0.0
    severity: Severity = "P2"
    jobs: list[str] = field(default_factory=list)
    tenants: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, doc: Incident) -> TrackedIncident:
        """An incident that a former process wrote; its bad paths are not known.

        Raises ValueError when one of its times cannot be read.
        """
        doc, finding = refined.taken_out(doc)
        verdict = Verdict(
            doc.component, doc.tie_set, doc.layer, doc.symptom,
            max(doc.p_value, SMALLEST_P), _below_one(doc),
            np.empty(0, np.int64), doc.paths_total, _whole(doc.opened_at),
            instead_of=document.instead_of(doc), issue=document.issue_types(doc),
            tie_set_probability=document.tie_set_probability(doc),
            alternatives=document.alternatives(doc),
            drifted=document.drifted(doc), untraced=document.untraced(doc), restored=doc.evidence,
        )  # fmt: skip
        updated, effect = _whole(doc.updated_at), doc.evidence.get("effect")
        belief = Belief().add(verdict, verdict.first_s, updated + 1)
        return cls(
            doc.incident_id, verdict, _whole(doc.opened_at), _whole(doc.detected_at),
            updated, verdict.bad, doc.version, doc.state, doc.parent, updated,
            None if doc.closed_at is None else _whole(doc.closed_at),
            typed_by=effect if isinstance(effect, float) else 0.0, finding=finding,
            belief=belief, written=verdict.confidence,
            severity=doc.severity, jobs=doc.jobs, tenants=doc.tenants,
        )  # fmt: skip

    def add_impact(self, impact: Impact) -> None:
        """Add whom a verdict hits; the severity never becomes milder."""
        self.severity = min(self.severity, impact.severity)  # "P0" < "P1"
        self.jobs = sorted({*self.jobs, *impact.jobs})
        self.tenants = sorted({*self.tenants, *impact.tenants})

    def weigh(self, second: int, verdict: Verdict) -> None:
        """Count the window of a verdict on it, which ends with a second."""
        if verdict.measured is not None:
            start_s = second + 1 - verdict.measured.window_s
            self.belief = self.belief.add(
                verdict.about(self.verdict.component), start_s, second + 1
            )

    def weigh_anew(self, second: int, verdict: Verdict) -> None:
        """The same of the first verdict on another class: what was known speaks of the former."""
        self.belief = Belief()
        self.weigh(second, verdict)

    def renumber(self, rows: I64) -> None:
        """Follow its bad paths to their new rows: (old P,) new row, -1 where one was dropped."""
        self.bad, newest = (new[new >= 0] for new in (rows[self.bad], rows[self.verdict.bad]))
        self.verdict = replace(self.verdict, bad=newest)

    @property
    def question(self) -> Question:
        """What its probes leave open."""
        known = self.verdict
        return Question(known.component, tuple(_component_first(known)), known.symptom)

    def learn(self, found: HostFinding | None) -> bool:
        """Take a finding, if it is worth more than the one that it has; whether it is."""
        known = self.finding
        if found is None or found == known:
            return False
        if known is None or known.component not in self.question.tie_set or found.replaces(known):
            self.finding = found
            return True
        return False

    def document(self, fabric: str, second: int, strategy: str) -> Incident:
        """The next version of its document."""
        self.version += 1
        self.written_s = second
        verdict = self.belief.applied(self.verdict)
        self.written = verdict.confidence
        plain = Incident(
            incident_id=self.incident_id, version=self.version, state=self.state,
            fabric=fabric, component=verdict.component, kind=kind_of(verdict.component),
            layer=verdict.layer, symptom=verdict.symptom, issue_type=verdict.issue.stated,
            direction=verdict.direction,
            opened_at=_utc(self.opened_s), detected_at=_utc(self.detected_s),
            updated_at=_utc(second),
            closed_at=None if self.closed_s is None else _utc(self.closed_s),
            severity=self.severity, confidence=round(verdict.confidence, 4),
            p_value=verdict.p_value, tie_set=_component_first(verdict), parent=self.parent,
            paths_bad=len(self.bad) or len(verdict.bad), paths_total=verdict.total,
            jobs=self.jobs, tenants=self.tenants, strategy=strategy,
            evidence=document.render(verdict),
        )  # fmt: skip
        return refined.applied(plain, self.finding)


def _below_one(doc: Incident) -> float:
    """The confidence of a document, capped where a former release wrote 1."""
    return doc.confidence if doc.confidence < 1.0 else cap(doc.kind, doc.symptom)


def _component_first(verdict: Verdict) -> list[str]:
    """The tie set in its order, or, where untraced routes add to it, after the component."""
    if not verdict.possible:
        return verdict.tie_set
    return [verdict.component, *(name for name in verdict.tied if name != verdict.component)]


def _utc(seconds: float) -> str:
    return rfc3339(round(seconds * 1e3) * 1_000_000)


def _whole(text: str) -> int:
    return int(seconds_of(text))
