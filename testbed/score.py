"""Incidents against the truth: who was named, how fast, and what was made up.

A match: same fabric, the truth's component is the incident's (top-1) or in its tie set of at most
four (class), detected between the fault's start and a minute after its end. One truth matches one
incident, all others are false; incidents with a parent are consequences and not counted. Verdicts
on agents and dead hosts are scored only against such truths, and others only against others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec
import numpy as np
from scipy.optimize import linear_sum_assignment

from testbed.truth import NOT_NETWORK, Truth, seconds_of

GRACE_S: Final = 60.0
MAX_TIE_SET: Final = 4


class ScoreError(ValueError):
    """Incidents cannot be read; one line."""


class Blame(Protocol):
    """What scoring needs of an incident; schemas.incident.Incident has it."""

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
    def detected_at(self) -> str: ...
    @property
    def tie_set(self) -> Sequence[str]: ...
    @property
    def parent(self) -> str | None: ...


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """An incident as ``diagnose --format json`` prints it, reduced to what scoring needs."""

    incident_id: str
    fabric: str
    component: str
    symptom: str
    detected_at: str
    version: int = 1
    tie_set: list[str] = []
    parent: str | None = None


class Match(msgspec.Struct, frozen=True):
    """A truth that was found; seconds from the fault's start to the detection."""

    truth: Truth
    incident_id: str
    component: str
    top1: bool
    seconds: float


class Score(msgspec.Struct, frozen=True):
    """The outcome; ``false`` holds (incident id, component, symptom) of extra incidents."""

    matched: list[Match]
    missed: list[Truth]
    false: list[tuple[str, str, str]]

    @property
    def truths(self) -> int:
        return len(self.matched) + len(self.missed)

    @property
    def precision(self) -> float:
        """Share of incidents that are true; 1 when nothing was blamed."""
        blamed = len(self.matched) + len(self.false)
        return len(self.matched) / blamed if blamed else 1.0

    @property
    def recall(self) -> float:
        """Share of faults found, by class; 1 when nothing was broken."""
        return len(self.matched) / self.truths if self.truths else 1.0

    @property
    def top1(self) -> int:
        """Faults whose component was named itself."""
        return sum(match.top1 for match in self.matched)

    @property
    def seconds(self) -> list[float]:
        """Time to detect of every fault that was found [s]."""
        return [match.seconds for match in self.matched]

    @property
    def perfect(self) -> bool:
        """Everything found, nothing made up."""
        return not self.missed and not self.false


def score(truths: Sequence[Truth], incidents: Iterable[Blame]) -> Score:
    """Match incidents (any versions, the last of each id counts) with truths, one to one.

    Of all matchings one with the most pairs is taken, then the most top-1, then the soonest.
    """
    last: dict[str, Blame] = {}
    for incident in incidents:
        known = last.get(incident.incident_id)
        if known is None or incident.version >= known.version:
            last[incident.incident_id] = incident
    counted = [incident for incident in last.values() if not incident.parent]
    worth = np.zeros((len(truths), len(counted)))
    for i, truth in enumerate(truths):
        for j, incident in enumerate(counted):
            worth[i, j] = _worth(truth, incident)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    pairs = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if worth[i, j] > 0}
    used = set(pairs.values())
    return Score(
        matched=[
            Match(
                truth=truths[i],
                incident_id=counted[j].incident_id,
                component=counted[j].component,
                top1=counted[j].component == truths[i].component,
                seconds=round(seconds_of(counted[j].detected_at) - seconds_of(truths[i].start), 3),
            )
            for i, j in sorted(pairs.items())
        ],
        missed=[truth for i, truth in enumerate(truths) if i not in pairs],
        false=[
            (incident.incident_id, incident.component, incident.symptom)
            for j, incident in enumerate(counted)
            if j not in used
        ],
    )


def _worth(truth: Truth, incident: Blame) -> float:
    """0 = no match; a pair outweighs any number of top-1, top-1 outweighs any delay."""
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


def read_incidents(lines: Iterable[bytes], where: str = "incidents") -> list[Claim]:
    """Parse JSON lines; raises ScoreError naming the line."""
    decoder = msgspec.json.Decoder(Claim)
    claims = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                claims.append(decoder.decode(line))
            except msgspec.MsgspecError as why:
                raise ScoreError(f"{where}, line {number}: {why}") from why
    return claims


def load_incidents(path: Path) -> list[Claim]:
    """Read a file of JSON lines; raises ScoreError."""
    try:
        return read_incidents(path.read_bytes().splitlines(), str(path))
    except OSError as why:
        raise ScoreError(f"{path}: {why.strerror}; give what diagnose --format json wrote") from why


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
            "p95_seconds": float(np.percentile(result.seconds, 95)) if result.seconds else None,
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
        f"false   {component}  {symptom}  {name}" for name, component, symptom in result.false
    ]
    mean = f", mean {np.mean(result.seconds):.1f} s to detect" if result.seconds else ""
    lines.append(
        f"{len(result.matched)} of {result.truths} faults found ({result.top1} named exactly), "
        f"{len(result.false)} false{mean}"
    )
    return "\n".join(lines)
