"""The api's questions to ClickHouse. Values travel as parameters; the text is fixed fragments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from api.documents import IncidentDetail, Summary
from schemas import incident
from schemas.components import KINDS
from schemas.incident import Incident, decode_incident


class Store(Protocol):
    """What the api needs of a database. Raises ConnectionError when it does not answer."""

    def rows(
        self, sql: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]: ...


_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)


def _storable(time: datetime) -> datetime:
    """Into what the column holds: a bound outside of 1970..2200 bounds nothing."""
    if time.year <= _FIRST.year:
        return _FIRST
    return _LAST if time.year >= _LAST.year else time.astimezone(UTC)


_Time = Annotated[AwareDatetime, AfterValidator(_storable)]
_Name = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]
_EXAMPLE: Final = "2026-01-31T12:00:00Z"


class Filters(BaseModel):
    """Which incidents; all that are given must hold. An unknown name is an error, not ignored."""

    model_config = ConfigDict(extra="forbid")

    component: _Name | None = Field(
        None, description="Component id such as tor:asw-3-1: the culprit, or in its tie set"
    )
    kind: Literal[KINDS] | None = Field(None, description="Kind of the culprit")  # type: ignore[valid-type]  # the tuple is the single source
    state: incident.State | Literal["active"] | None = Field(
        None, description="active: open or ongoing"
    )
    severity: incident.Severity | None = None
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
    limit: int = Field(50, ge=1, le=500)
    offset: int = Field(0, ge=0, le=1_000_000)

    def where(self) -> tuple[str, dict[str, Any]]:
        """Condition over incidents_latest, and its parameters."""
        given = self.model_dump(mode="json", exclude_none=True, include=set(_CONDITIONS))
        conditions = [_CONDITIONS[name] for name in given]
        if not self.include_children:
            conditions.append("parent = ''")
        if self.state == "active":
            conditions.append("state != 'resolved'")
        elif self.state is not None:
            conditions.append("state = {state:String}")
            given["state"] = self.state
        return " AND ".join(conditions) or "1", given


_CONDITIONS: Final = {
    "component": "(component = {component:String} OR has(tie_set, {component:String}))",
    "kind": "kind = {kind:String}",
    "severity": "severity = {severity:String}",
    "job": "has(jobs, {job:String})",
    "tenant": "has(tenants, {tenant:String})",
    "fabric": "fabric = {fabric:String}",
    "since": "opened_at >= parseDateTime64BestEffort({since:String}, 6, 'UTC')",
    "until": "opened_at < parseDateTime64BestEffort({until:String}, 6, 'UTC')",
}


def find(store: Store, filters: Filters) -> tuple[list[Incident], int]:
    """A page of incidents, newest first, and how many match in all."""
    where, values = filters.where()
    counted = store.rows(f"SELECT count() AS n FROM incidents_latest WHERE {where}", values)  # noqa: S608  # fixed fragments
    rows = store.rows(
        f"SELECT document FROM incidents_latest WHERE {where}"  # noqa: S608  # fixed fragments
        " ORDER BY opened_at DESC, incident_id"
        " LIMIT {limit:UInt32} OFFSET {offset:UInt32}",
        {**values, "limit": filters.limit, "offset": filters.offset},
    )
    return _documents(rows), int(counted[0]["n"])


def get(store: Store, incident_id: str) -> IncidentDetail | None:
    """All that is kept about one incident, or None when there is none of this id."""
    wanted = {"id": incident_id}
    versions = _documents(
        store.rows(
            "SELECT document FROM incidents FINAL WHERE incident_id = {id:String} ORDER BY version",
            wanted,
        )
    )
    if not versions:
        return None
    children = store.rows(
        "SELECT document FROM incidents_latest"
        " WHERE parent = {id:String} ORDER BY opened_at, incident_id LIMIT 1000",
        wanted,
    )
    return IncidentDetail(incident=versions[-1], versions=versions, children=_documents(children))


def summary(store: Store) -> Summary:
    """What is being watched just now."""
    counts = store.rows(
        "SELECT state = 'resolved' AS resolved, severity, count() AS n FROM incidents_latest"
        " WHERE parent = '' GROUP BY resolved, severity ORDER BY severity"
    )
    watched = store.rows(
        "SELECT uniqExact(path_id) AS paths FROM path_windows WHERE ingested_at > now() - 300"
    )
    newest = store.rows(
        "SELECT dateDiff('second', max(ingested_at), now()) AS age, count() AS n FROM path_windows"
    )
    return Summary(
        paths_watched=int(watched[0]["paths"]),
        active={row["severity"]: int(row["n"]) for row in counts if not row["resolved"]},
        resolved=sum(int(row["n"]) for row in counts if row["resolved"]),
        stored_age_s=max(int(newest[0]["age"]), 0) if newest[0]["n"] else None,
    )


def _documents(rows: list[dict[str, Any]]) -> list[Incident]:
    return [decode_incident(row["document"].encode()) for row in rows]
