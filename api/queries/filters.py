"""Query parameters of the list of incidents -> conditions in SQL.

The text of every condition is fixed; values are passed as parameters.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from schemas.component_ids import KINDS
from schemas.documents import incident

_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)


def storable(time: datetime) -> datetime:
    """The time limited to 1970..2200, the range of the column."""
    if time.year <= _FIRST.year:
        return _FIRST
    return _LAST if time.year >= _LAST.year else time.astimezone(UTC)


_Time = Annotated[AwareDatetime, AfterValidator(storable)]
_PRINTABLE: Final = r"^[^\x00-\x1f\x7f]+$"
_Name = Annotated[str, Field(min_length=1, max_length=500, pattern=_PRINTABLE)]
_Text = Annotated[str, Field(min_length=1, max_length=200, pattern=_PRINTABLE)]
_EXAMPLE: Final = "2026-01-31T12:00:00Z"
_ACTIVE: Final = ("open", "ongoing")

#: Children that need no row beside their cause, because it is stored, not resolved before them and
#: not less severe. Severities sort as texts: P0 < P1 < P2.
_COVERED: Final = (
    "SELECT child.incident_id"
    " FROM (SELECT incident_id, parent, state, severity FROM incidents_latest WHERE parent != '')"
    " AS child"
    " INNER JOIN (SELECT incident_id, state, severity FROM incidents_latest) AS cause"
    " ON child.parent = cause.incident_id"
    " WHERE (cause.state != 'resolved' OR child.state = 'resolved')"
    " AND cause.severity <= child.severity"
)
LISTED: Final = f"(parent = '' OR incident_id NOT IN ({_COVERED}))"
_TEXT: Final = (
    "arrayStringConcat(arrayConcat([component, symptom, replaceAll(symptom, '_', ' '), issue_type,"
    " replaceAll(issue_type, '_', ' '), severity, state, layer, fabric, incident_id, explanation],"
    " tie_set, jobs, tenants), '\\n')"
)
_FOUND: Final = "multiSearchAllPositionsCaseInsensitiveUTF8"
_CONDITIONS: Final = {
    "component": "(component = {component:String} OR has(tie_set, {component:String}))",
    "kind": "kind IN {kind:Array(String)}",
    "state": "state IN {state:Array(String)}",
    "severity": "severity IN {severity:Array(String)}",
    "text": f"NOT has({_FOUND}({_TEXT}, {{text:Array(String)}}), 0)",
    "job": "has(jobs, {job:String})",
    "tenant": "has(tenants, {tenant:String})",
    "fabric": "fabric = {fabric:String}",
    "since": "opened_at >= parseDateTime64BestEffort({since:String}, 6, 'UTC')",
    "until": "opened_at < parseDateTime64BestEffort({until:String}, 6, 'UTC')",
}
ORDERS: Final = {
    "newest": "opened_at DESC, incident_id",
    "urgent": "state = 'resolved', severity, opened_at DESC, incident_id",
}
_Order = Literal["newest", "urgent"]


class Filters(BaseModel):
    """Conditions on incidents; all given ones must hold. An unknown parameter is an error."""

    model_config = ConfigDict(extra="forbid")

    component: _Name | None = Field(
        None, description="Component id such as tor:asw-3-1: the culprit, or in its tie set"
    )
    kind: list[Literal[KINDS]] = Field(  # type: ignore[valid-type]  # the tuple is the single source
        [], max_length=20, description="Kind of the culprit; repeat it for any of several"
    )
    state: list[incident.State | Literal["active"]] = Field(
        [], max_length=8, description="active: open or ongoing; repeat it for any of several"
    )
    severity: list[incident.Severity] = Field(
        [], max_length=8, description="Repeat it for any of several"
    )
    text: _Text | None = Field(
        None,
        description="Words that must all occur, in any case, in the component, tie set, symptom,"
        " issue type, state, severity, layer, fabric, id, jobs, tenants or explanation",
    )
    job: _Name | None = Field(None, description="A training job that is affected")
    tenant: _Name | None = Field(None, description="A tenant that is affected")
    fabric: _Name | None = None
    since: _Time | None = Field(
        None, description="opened_at at or after this time, RFC 3339 with zone", examples=[_EXAMPLE]
    )
    until: _Time | None = Field(
        None, description="opened_at before this time, RFC 3339 with zone", examples=[_EXAMPLE]
    )
    include_children: bool = Field(
        False, description="Also incidents that another incident explains"
    )
    include_uncovered: bool = Field(
        False,
        description="Also those of them whose cause is not stored, is resolved while they are not,"
        " or is less severe",
    )
    order: _Order = Field(
        "newest", description="urgent: active before resolved, then by severity, then newest"
    )
    limit: int = Field(50, ge=1, le=500)
    offset: int = Field(0, ge=0, le=1_000_000)

    def where(self, without: Collection[str] = ()) -> tuple[str, dict[str, Any]]:
        """Condition over incidents_latest, and its parameters; some filters may be left out."""
        given = self.model_dump(mode="json", exclude_defaults=True, include=set(_CONDITIONS))
        given = {name: value for name, value in given.items() if value and name not in without}
        conditions = [_CONDITIONS[name] for name in given]
        if "state" in given:
            given["state"] = self.states()
        if "text" in given:
            given["text"] = list(dict.fromkeys(given["text"].split()))
        if self.include_uncovered and not self.include_children:
            conditions.append(LISTED)
        elif not self.include_children:
            conditions.append("parent = ''")
        return " AND ".join(conditions) or "1", given

    def states(self) -> list[str]:
        """The requested states, with "active" expanded; empty: any."""
        wanted = [one for each in self.state for one in (_ACTIVE if each == "active" else (each,))]
        return list(dict.fromkeys(wanted))

    def count_selected(self, counts: dict[str, dict[str, int]]) -> int:
        """Incidents that match, of ``counts`` by state and severity [count]."""
        states, severities = self.states(), self.severity
        return sum(
            number
            for state, by_severity in counts.items()
            for severity, number in by_severity.items()
            if (not states or state in states) and (not severities or severity in severities)
        )
