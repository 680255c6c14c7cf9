"""Scores incidents against the truth: found and missed faults, time to detect, false incidents.

An incident matches a truth of the same fabric whose component it names (top-1) or has in its tie
set of at most four (class), if it is detected between the fault's start and a minute after its end.
One truth matches one incident; all other incidents are false. Incidents with a parent are
consequences and are not counted. Incidents on agents and hosts match only truths on agents and
hosts, all others only the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
from scipy.optimize import linear_sum_assignment

from schemas.documents.times import seconds_of
from testbed.scoring.outcomes import Group, Match, Row, groups, p95
from testbed.scoring.reported_incidents import (
    ReportedIncident,
    ScoredIncident,
    ScoreError,
    likeliest_type,
    load_incidents,
    read_incidents,
)
from testbed.scoring.truth import NOT_NETWORK, Truth

__all__ = [
    "Group",
    "Match",
    "ReportedIncident",
    "Row",
    "Score",
    "ScoreError",
    "ScoredIncident",
    "load_incidents",
    "read_incidents",
    "score",
    "to_json",
    "to_text",
]  # fmt: skip

GRACE_S: Final = 60.0
MAX_TIE_SET: Final = 4
PIPELINE: Final = "judging_failed"  # an error of SkeletonHunter itself is not about the fabric


class Score(msgspec.Struct, frozen=True):
    """The outcome; ``false`` holds (incident id, component, symptom) of extra incidents, and
    ``duplicates`` the ids among them that blame what another incident was matched for."""

    matched: list[Match]
    missed: list[Truth]
    false: list[tuple[str, str, str]]
    duplicates: list[str] = []

    @property
    def truths(self) -> int:
        return len(self.matched) + len(self.missed)

    @property
    def precision(self) -> float:
        """Share of incidents that match a fault; 1 without incidents."""
        blamed = len(self.matched) + len(self.false)
        return len(self.matched) / blamed if blamed else 1.0

    @property
    def recall(self) -> float:
        """Share of faults found, by class; 1 without faults."""
        return len(self.matched) / self.truths if self.truths else 1.0

    @property
    def top1(self) -> int:
        """Number of faults whose component itself is named."""
        return sum(match.top1 for match in self.matched)

    @property
    def seconds(self) -> list[float]:
        """Time to detect of every fault that was found [s]."""
        return [match.seconds for match in self.matched]

    @property
    def p95_seconds(self) -> float | None:
        """Time within which 95 % of the faults that were found were found [s]."""
        return p95(self.seconds)

    @property
    def rows(self) -> list[Row]:
        """Every truth by its start."""
        found = [
            Row(
                truth=match.truth,
                found=True,
                top1=match.top1,
                tied=not match.top1,
                seconds=match.seconds,
                same_symptom=match.symptom == match.truth.symptom,
                same_type=match.issue_type == match.truth.issue_type is not None,
            )
            for match in self.matched
        ]
        missed = [Row(truth, False, False, False, None, False, False) for truth in self.missed]
        return sorted([*found, *missed], key=lambda row: (row.truth.start, row.truth.component))

    def by_symptom(self) -> list[Group]:
        """Rows grouped by the truth's symptom."""
        return groups(self.rows, lambda truth: truth.symptom)

    def by_issue_type(self) -> list[Group]:
        """Rows grouped by the truth's issue type; the symptom stands for those without one."""
        return groups(self.rows, lambda truth: truth.issue_type or truth.symptom)

    @property
    def perfect(self) -> bool:
        """Whether every fault is found and no incident is false."""
        return not self.missed and not self.false


def score(truths: Sequence[Truth], incidents: Iterable[ScoredIncident]) -> Score:
    """Match incidents (any versions, the last of each id counts) with truths, one to one.

    Of all matchings one with the most pairs is taken, then the most top-1, then the soonest.
    """
    last: dict[str, ScoredIncident] = {}
    for incident in incidents:
        known = last.get(incident.incident_id)
        if known is None or incident.version >= known.version:
            last[incident.incident_id] = incident
    counted = [
        incident for incident in last.values()
        if not incident.parent and incident.symptom != PIPELINE
    ]  # fmt: skip
    worth = np.zeros((len(truths), len(counted)))
    for i, truth in enumerate(truths):
        for j, incident in enumerate(counted):
            worth[i, j] = _worth(truth, incident)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    pairs = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if worth[i, j] > 0}
    used = set(pairs.values())
    extra = [j for j in range(len(counted)) if j not in used]
    return Score(
        matched=[
            Match(
                truth=truths[i],
                incident_id=counted[j].incident_id,
                component=counted[j].component,
                top1=counted[j].component == truths[i].component,
                seconds=round(seconds_of(counted[j].detected_at) - seconds_of(truths[i].start), 3),
                tied=max(1, len(counted[j].tie_set)),
                symptom=counted[j].symptom,
                issue_type=likeliest_type(counted[j]),
            )
            for i, j in sorted(pairs.items())
        ],
        missed=[truth for i, truth in enumerate(truths) if i not in pairs],
        false=[(counted[j].incident_id, counted[j].component, counted[j].symptom) for j in extra],
        duplicates=[counted[j].incident_id for j in extra if worth[list(pairs), j].any()],
    )


def _worth(truth: Truth, incident: ScoredIncident) -> float:
    """Weight of a pair, 0 = no match: a match outweighs any top-1, top-1 outweighs any delay."""
    if incident.fabric != truth.fabric:
        return 0.0
    if (incident.symptom in NOT_NETWORK) != (truth.symptom in NOT_NETWORK):
        return 0.0
    top1 = incident.component == truth.component
    if not top1 and not (
        truth.component in incident.tie_set and len(incident.tie_set) <= MAX_TIE_SET
    ):
        return 0.0
    detected, start = seconds_of(incident.detected_at), seconds_of(truth.start)
    if detected < start or (truth.end and detected > seconds_of(truth.end) + GRACE_S):
        return 0.0
    return 1e6 + 1e2 * top1 + 1 / (1 + detected - start)


def to_json(result: Score) -> bytes:
    """One JSON object: the pairs and the figures."""
    return msgspec.json.encode(
        {
            "truths": result.truths,
            "matched": result.matched,
            "missed": result.missed,
            "false": result.false,
            "precision": result.precision,
            "recall": result.recall,
            "top1": result.top1,
            "class": len(result.matched),
            "mean_seconds": float(np.mean(result.seconds)) if result.seconds else None,
            "p95_seconds": result.p95_seconds,
            "duplicates": result.duplicates,
            "by_symptom": result.by_symptom(),
            "by_issue_type": result.by_issue_type(),
        }
    )


def to_text(result: Score) -> str:
    """A few lines for people; the last one is the score."""
    lines = [
        f"found   {m.truth.component}  {m.truth.symptom}  after {m.seconds:.1f} s"
        + ("" if m.top1 else f"  (named {m.component}, same class)")
        for m in result.matched
    ]
    lines += [f"missed  {t.component}  {t.symptom}  from {t.start}" for t in result.missed]
    lines += [
        f"false   {component}  {symptom}  {name}"
        + ("  (blamed already)" if name in result.duplicates else "")
        for name, component, symptom in result.false
    ]
    mean = f", mean {np.mean(result.seconds):.1f} s to detect" if result.seconds else ""
    lines.append(
        f"{len(result.matched)} of {result.truths} faults found ({result.top1} named exactly), "
        f"{len(result.false)} false{mean}"
    )
    return "\n".join(lines)
