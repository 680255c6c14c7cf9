"""Query parameters of the list of incidents -> conditions in SQL.

The text of every condition is fixed; values are passed as parameters.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.actions.documents import Status
from api.queries.orders import Order
from api.queries.patterns import PRINTABLE
from api.queries.times import Time
from schemas.component_ids import KINDS
from schemas.documents import incident

_Name = Annotated[str, Field(min_length=1, max_length=500, pattern=PRINTABLE)]
_Names = list[_Name]
_Text = Annotated[str, Field(min_length=1, max_length=200, pattern=PRINTABLE)]
_ACTIVE: Final = ("open", "ongoing")

#: What an incident covers if it is the parent, as texts: its id, whether what it covers is resolved
#: (+) or not (-), and the severity of that. It is stored, not resolved before it and not less
#: severe; severities sort as texts: P0 < P1 < P2. Few columns: the view has many, and each costs.
_COVERS: Final = (
    "SELECT concat(incident_id, arrayJoin(if(state = 'resolved', ['+'], ['-', '+'])),"
    " arrayJoin(['P0', 'P1', 'P2']) AS least)"
    " FROM (SELECT incident_id, state, severity FROM incidents FINAL"
    " ORDER BY version DESC LIMIT 1 BY incident_id) WHERE severity <= least"
)
#: Those that need a row of their own: they have no parent, or none that covers them.
LISTED: Final = (
    f"(parent = '' OR concat(parent, if(state = 'resolved', '+', '-'), severity)"
    f" NOT IN ({_COVERS}))"
)
_TEXT: Final = (
    "arrayStringConcat(arrayConcat([component, symptom, replaceAll(symptom, '_', ' '), issue_type,"
    " replaceAll(issue_type, '_', ' '), severity, state, layer, fabric, incident_id, explanation],"
    " tie_set, jobs, tenants), '\\n')"
)
_FOUND: Final = "multiSearchAllPositionsCaseInsensitiveUTF8"
_CONDITIONS: Final = {
    "component": "(component IN {component:Array(String)}"
    " OR hasAny(tie_set, {component:Array(String)}))",
    "kind": "kind IN {kind:Array(String)}",
    "state": "state IN {state:Array(String)}",
    "severity": "severity IN {severity:Array(String)}",
    "text": f"NOT has({_FOUND}({_TEXT}, {{text:Array(String)}}), 0)",
    "symptom": "symptom IN {symptom:Array(String)}",
    "issue_type": "issue_type IN {issue_type:Array(String)}",
    "job": "hasAny(jobs, {job:Array(String)})",
    "tenant": "hasAny(tenants, {tenant:Array(String)})",
    "fabric": "fabric IN {fabric:Array(String)}",
    "handling": "(incident_id IN (SELECT incident_id FROM incident_handling"
    " WHERE status IN {handling:Array(String)}) OR (has({handling:Array(String)}, 'new')"
    " AND incident_id NOT IN (SELECT incident_id FROM incident_handling)))",
    "assignee": "incident_id IN (SELECT incident_id FROM incident_handling"
    " WHERE assignee IN {assignee:Array(String)})",
    "since": "opened_at >= parseDateTime64BestEffort({since:String}, 6, 'UTC')",
    "until": "opened_at < parseDateTime64BestEffort({until:String}, 6, 'UTC')",
}


class Filters(BaseModel):
    """Conditions on incidents; all given ones must hold. An unknown parameter is an error."""

    model_config = ConfigDict(extra="forbid")

    component: list[_Name] = Field(
        [],
        max_length=50,
        description="Component id such as tor:asw-3-1: the culprit, or in its tie set; repeat it"
        " for any of several",
    )
    kind: list[Literal[KINDS]] = Field(  # type: ignore[valid-type]  # the tuple is the single source
        [], max_length=20, description="Kind of the culprit; repeat it for any of several"
    )
    state: list[Literal[incident.State, "active"]] = Field(
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
    symptom: list[incident.Symptom] = Field([], max_length=20)
    issue_type: _Names = Field([], max_length=50, description="As stated, such as rnic_port_down")
    job: _Names = Field([], max_length=50, description="A training job that is affected")
    tenant: _Names = Field([], max_length=50, description="A tenant that is affected")
    fabric: _Names = Field([], max_length=50)
    handling: list[Status] = Field(
        [], max_length=3, description="What people made of it; new: acknowledged by no one"
    )
    assignee: _Names = Field([], max_length=50, description="Who takes care of it")
    since: Time | None = Field(
        None, description="opened_at at or after this time: RFC 3339 with zone, or -15m, -6h, -7d"
    )
    until: Time | None = Field(None, description="opened_at before this time, in the same forms")
    include_children: bool = Field(
        False, description="Also incidents that another incident explains"
    )
    include_uncovered: bool = Field(
        False,
        description="Also those of them whose cause is not stored, is resolved while they are not,"
        " or is less severe",
    )
    order: Order = Field(
        "newest",
        description="newest and oldest: by opened_at; updated: the latest change first; urgent:"
        " active before resolved, then by severity, then newest",
    )
    limit: int = Field(50, ge=1, le=500)
    offset: int = Field(0, ge=0, le=1_000_000)
    cursor: str | None = Field(
        None,
        max_length=1000,
        pattern="^[A-Za-z0-9_-]+$",
        description="Of an earlier answer: what comes after its last incident, also while"
        " incidents are added. The filters and the order must be the same",
    )

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
