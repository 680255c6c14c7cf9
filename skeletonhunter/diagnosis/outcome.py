"""What ``diagnose`` shows of a run, without the records: what is printed, and what is saved."""

from __future__ import annotations

from typing import Any

import msgspec

from schemas.documents.incident import Incident
from skeletonhunter.diagnosis.inputs import Inputs
from skeletonhunter.diagnosis.run import Diagnosis
from skeletonhunter.diagnosis.summary import summary, why_nothing


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run on files.

    summary   lines for stderr
    coverage  what was judged, as a document
    enough    whether loss could be judged
    missing   what each detector lacks
    nothing   why no second could be judged; None: some were
    """

    incidents: list[Incident]
    summary: list[str]
    coverage: dict[str, Any]
    enough: bool
    missing: list[str]
    nothing: str | None


def outcome_of(inputs: Inputs, done: Diagnosis) -> Outcome:
    """The outcome of a run that has ended."""
    return Outcome(
        incidents=done.incidents,
        summary=summary(inputs, done),
        coverage=done.coverage.document(),
        enough=done.coverage.enough,
        missing=done.coverage.missing(),
        nothing=None if done.coverage.seconds else why_nothing(inputs, done),
    )
