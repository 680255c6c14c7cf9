"""Verdicts of people on incidents -> precision in production, with its uncertainty."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from api.actions.documents import Feedback, Precision
from api.queries.database import Store
from api.queries.times import Time

#: Standard normal quantile of a two-sided interval of 95 %.
_Z: Final = 1.959963984540054
_VERDICTS: Final = ("right", "wrong_component", "false_alarm")
_MOST_GROUPS: Final = 200
_REVIEWED: Final = (
    "SELECT kind, symptom, countIf(verdict = 'right') AS right,"
    " countIf(verdict = 'wrong_component') AS wrong_component,"
    " countIf(verdict = 'false_alarm') AS false_alarm,"
    " countIf(verdict = '' AND state = 'resolved') AS not_reviewed"
    " FROM (SELECT incident_id, kind, symptom, state FROM incidents_latest WHERE {where}) AS known"
    " LEFT JOIN (SELECT incident_id, verdict FROM incident_handling) AS said"
    " ON known.incident_id = said.incident_id"
    " GROUP BY kind, symptom ORDER BY right + wrong_component + false_alarm DESC, kind, symptom"
)
_VERDICTS_NOW: Final = (
    "SELECT verdict, count() AS n FROM incident_handling WHERE verdict != '' GROUP BY verdict"
)


class FeedbackFilters(BaseModel):
    """Which incidents; an unknown parameter is an error."""

    model_config = ConfigDict(extra="forbid")

    fabric: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    since: Time | None = Field(None, description="opened_at at or after this time")
    until: Time | None = Field(None, description="opened_at before this time")


class _Interval(NamedTuple):
    low: float
    high: float


def wilson(right: int, of: int) -> _Interval:
    """95 % interval of a proportion, by Wilson's score; 0 to 1 without observations.

    Source  Wilson (1927), J. Am. Stat. Assoc. 22, 209-212
    """
    if of == 0:
        return _Interval(0.0, 1.0)
    share, square = right / of, _Z**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of**2))
    return _Interval(max(0.0, middle - half), min(1.0, middle + half))


def feedback(store: Store, wanted: FeedbackFilters) -> Feedback:
    """Precision by component kind and symptom, and over all."""
    where, values = _where(wanted)
    rows = store.rows(_REVIEWED.replace("{where}", where), values)
    reviewed = [row for row in rows if any(int(row[name]) for name in _VERDICTS)]
    total = {name: sum(int(row[name]) for row in reviewed) for name in _VERDICTS}
    return Feedback(
        total=_precision("", "", total),
        items=[_precision(row["kind"], row["symptom"], row) for row in reviewed[:_MOST_GROUPS]],
        not_reviewed=sum(int(row["not_reviewed"]) for row in rows),
    )


def verdicts(store: Store) -> dict[str, int]:
    """Verdict -> incidents whose last feedback it is [count]."""
    found = {row["verdict"]: int(row["n"]) for row in store.rows(_VERDICTS_NOW)}
    return {name: found.get(name, 0) for name in _VERDICTS}


def _precision(kind: str, symptom: str, counts: dict[str, Any]) -> Precision:
    right, wrong, false = (int(counts[name]) for name in _VERDICTS)
    of = right + wrong + false
    interval = wilson(right, of)
    return Precision(
        kind=kind, symptom=symptom, right=right, wrong_component=wrong, false_alarm=false,
        precision=right / of if of else None, low=interval.low, high=interval.high,
    )  # fmt: skip


def _where(wanted: FeedbackFilters) -> tuple[str, dict[str, Any]]:
    conditions, values = [], {}
    if wanted.fabric is not None:
        conditions.append("fabric = {fabric:String}")
        values["fabric"] = wanted.fabric
    for name, sign in (("since", ">="), ("until", "<")):
        time: datetime | None = getattr(wanted, name)
        if time is not None:
            conditions.append(f"opened_at {sign} fromUnixTimestamp64Micro({{{name}:Int64}})")
            values[name] = str(int(time.timestamp() * 1e6))
    return " AND ".join(conditions) or "1", values
