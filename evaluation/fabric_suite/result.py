"""What a played fault suite came to: faults found and missed, issue types, false incidents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from evaluation.fabric_suite import issue_types
from evaluation.fabric_suite.issue_types import TypeScore
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from testbed.scoring import score as scoring
from testbed.scoring import truth as truths
from testbed.scoring.outcomes import Match
from testbed.scoring.score import Score
from testbed.scoring.truth import Truth


class Result(NamedTuple):
    """The faults of a suite in the order in which they were injected, and the incidents.

    names    of the suite's faults, one for each truth
    records  ping records that the pipeline read
    seconds  wall time of the whole suite [s]
    busy     one line with a figure where the machine was too busy for claims about time, else ""
    """

    names: list[str]
    truths: list[Truth]
    incidents: list[Incident]
    score: Score
    records: int
    seconds: float
    busy: str = ""

    @property
    def matches(self) -> dict[str, Match | None]:
        """Name of each fault -> the incident that names it; None for a missed fault."""
        found = {(each.truth.start, each.truth.component): each for each in self.score.matched}
        return {
            name: found.get((truth.start, truth.component))
            for name, truth in zip(self.names, self.truths, strict=True)
        }

    @property
    def types(self) -> dict[str, TypeScore]:
        """Name of each fault -> whether its issue type is named."""
        newest: dict[str, Incident] = {}
        for incident in self.incidents:
            known = newest.get(incident.incident_id)
            if known is None or incident.version >= known.version:
                newest[incident.incident_id] = incident
        return {
            name: issue_types.typed(truth.issue_type, newest[match.incident_id] if match else None)
            for (name, match), truth in zip(self.matches.items(), self.truths, strict=True)
        }

    @property
    def missed(self) -> list[str]:
        """A line for each missed fault, with the incidents of its time."""
        matches = self.matches
        return [
            f"{name} at {truth.component} ({truth.symptom}) is missed; {during(truth, self)}"
            for name, truth in zip(self.names, self.truths, strict=True)
            if matches[name] is None
        ]

    def write(self, directory: Path) -> None:
        """truth.json and incidents.jsonl, for ``check score``."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "truth.json").write_bytes(truths.encode(self.truths))
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in self.incidents)
        (directory / "incidents.jsonl").write_bytes(lines)


def scored(
    names: list[str], made: list[Truth], incidents: list[Incident], records: int, seconds: float,
    busy: str = "",
) -> Result:  # fmt: skip
    """The result of these faults and incidents."""
    score = scoring.score(made, incidents)
    return Result(names, made, incidents, score, records, seconds, busy)


def during(truth: Truth, result: Result) -> str:
    """The incidents that were opened while a fault lasted, or that there are none."""
    opened = incidents_during(truth, result.incidents)
    return f"incidents meanwhile: {', '.join(opened)}" if opened else "no incident meanwhile"


def incidents_during(truth: Truth, incidents: Sequence[Incident]) -> list[str]:
    """``component symptom`` of each incident detected between a fault's start and its end."""
    end_s = seconds_of(truth.end) if truth.end else float("inf")
    return [
        f"{incident.component} {incident.symptom}"
        for incident in incidents
        if seconds_of(truth.start) <= seconds_of(incident.detected_at) <= end_s
        and not incident.parent
    ]


def table(result: Result) -> str:
    """For people: a line for each fault, a line for each false incident, then the counts.

    type    see ``issue_types.Outcome``; probes: the same by probes alone, where evidence of hosts
            is in the incident
    """
    types = result.types
    lines = [_line("fault", "component", "found", "named", "s", "type", "probes", "stated type")]
    for (name, match), truth in zip(result.matches.items(), result.truths, strict=True):
        how = "no" if match is None else "yes" if match.top1 else "class"
        named = match.component if match else "-"
        after = f"{match.seconds:.1f}" if match else "-"
        of = types[name]
        alone = of.probes if of.decided else ""
        lines.append(
            _line(name, truth.component, how, named, after, of.outcome, alone, of.stated or "-")
        )
    lines += result.missed
    for incident_id, component, symptom in result.score.false:
        lines.append(f"false: {component} {symptom} ({incident_id})")
    if result.busy:
        lines.append(result.busy)
    score = result.score
    lines.append(
        f"{len(score.matched)} of {score.truths} found ({score.top1} named exactly), "
        f"{len(score.false)} false; {result.records} records in {result.seconds:.0f} s"
    )
    lines.append(issue_types.summary(types.values()))
    return "\n".join(lines)


def _line(
    name: str, component: str, found: str, named: str, after: str, of_type: str, probes: str,
    stated: str,
) -> str:  # fmt: skip
    return (
        f"{name:28} {component:30} {found:5} {named:30} {after:>5} {of_type:8} {probes:8} {stated}"
    )
