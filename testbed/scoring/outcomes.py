"""The outcome of each fault: component named, time to detect; alone and in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from testbed.scoring.truth import Truth


class Match(msgspec.Struct, frozen=True):
    """A truth that was found; seconds from the fault's start to the detection.

    tied        components in the incident's tie set, itself included
    symptom     of the incident; issue_type: its likeliest issue type
    """

    truth: Truth
    incident_id: str
    component: str
    top1: bool
    seconds: float
    tied: int = 1
    symptom: str = ""
    issue_type: str | None = None


class Row(msgspec.Struct, frozen=True):
    """One truth and its outcome.

    found       named itself or in a tie set of at most four; top1: named itself
    tied        found in the tie set only
    seconds     to detect, None when missed
    same_symptom, same_type    whether the incident has the truth's symptom and issue type
    """

    truth: Truth
    found: bool
    top1: bool
    tied: bool
    seconds: float | None
    same_symptom: bool
    same_type: bool


class Group(msgspec.Struct, frozen=True):
    """A group of truths, and the time to detect of those that are found [s]."""

    name: str
    truths: int
    found: int
    top1: int
    typed: int
    mean_seconds: float | None
    p95_seconds: float | None


def groups(rows: Sequence[Row], name_of: Callable[[Truth], str]) -> list[Group]:
    """Rows grouped by ``name_of`` their truth, in order of the names."""
    named: dict[str, list[Row]] = {}
    for row in rows:
        named.setdefault(name_of(row.truth), []).append(row)
    out = []
    for name, group in sorted(named.items()):
        seconds = [row.seconds for row in group if row.seconds is not None]
        out.append(
            Group(
                name=name,
                truths=len(group),
                found=sum(row.found for row in group),
                top1=sum(row.top1 for row in group),
                typed=sum(row.same_type for row in group),
                mean_seconds=float(np.mean(seconds)) if seconds else None,
                p95_seconds=p95(seconds),
            )
        )
    return out


def p95(seconds: Sequence[float]) -> float | None:
    """95th percentile [s]; None without values."""
    return float(np.percentile(seconds, 95)) if seconds else None
