"""The api's queries of ClickHouse, from fixed fragments of SQL; values are parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from api.documents import Summary
from api.queries.database import Store
from api.queries.filters import LISTED
from api.queries.orders import ORDERS, after, cursor
from schemas.documents.incident import Incident, decode_incident

if TYPE_CHECKING:
    from api.queries.filters import Filters

#: Incidents that have a series of their own at a scrape [count].
MOST_ACTIVE: Final = 200
_MAX_ID_CHARS: Final = 100  # longest incident id that a URL may contain


class Found(NamedTuple):
    """A page of incidents.

    counts    state -> severity -> incidents that match all filters but these two [count]
    explains  incident_id -> incidents that it explains, where any [count]
    next      cursor of what comes after them; None: nothing
    """

    items: list[Incident]
    counts: dict[str, dict[str, int]]
    explains: dict[str, int]
    next: str | None


def find(store: Store, filters: Filters) -> Found:
    """The incidents that match, in their order, each in its last version; raises BadCursor."""
    facets, values = filters.where(without=("state", "severity"))
    counted = store.rows(
        f"SELECT state, severity, count() AS n FROM incidents_latest WHERE {facets}"  # noqa: S608  # fixed fragments
        " GROUP BY state, severity ORDER BY state, severity",
        values,
    )
    counts: dict[str, dict[str, int]] = {}
    for row in counted:
        counts.setdefault(row["state"], {})[row["severity"]] = int(row["n"])
    where, values = filters.where()
    if filters.cursor is not None:
        behind, place = after(filters.order, filters.cursor)
        where, values = f"{where} AND {behind}", {**values, **place}
    order = ORDERS[filters.order]
    # Documents are long: read them for this page only, do not sort all of them.
    page = (
        f"SELECT incident_id, version FROM incidents_latest WHERE {where}"  # noqa: S608  # fixed fragments
        f" ORDER BY {order} LIMIT {{limit:UInt32}} OFFSET {{offset:UInt32}}"
    )
    rows = store.rows(
        f"SELECT document FROM incidents FINAL WHERE (incident_id, version) IN ({page})"  # noqa: S608  # as above
        f" ORDER BY {order}",
        {**values, "limit": filters.limit + 1, "offset": filters.offset},
    )
    items = _documents(rows[: filters.limit])
    more = cursor(filters.order, items[-1]) if len(rows) > filters.limit else None
    return Found(items, counts, _explains(store, items), more)


def _explains(store: Store, items: list[Incident]) -> dict[str, int]:
    ids = [each.incident_id for each in items if len(each.incident_id) <= _MAX_ID_CHARS]
    if not ids:
        return {}
    rows = store.rows(
        "SELECT parent, count() AS n FROM incidents_latest"
        " WHERE parent IN {ids:Array(String)} GROUP BY parent ORDER BY parent",
        {"ids": ids},
    )
    return {row["parent"]: int(row["n"]) for row in rows}


class History(NamedTuple):
    """Versions of an incident, oldest first, and what it explains."""

    versions: list[Incident]
    children: list[Incident]


def get(store: Store, incident_id: str) -> History | None:
    """One incident with its history and children, or None when the id is unknown."""
    wanted = {"id": incident_id}
    versions = _documents(
        store.rows(
            "SELECT document FROM incidents FINAL WHERE incident_id = {id:String} ORDER BY version",
            wanted,
        )
    )
    if not versions:
        return None
    children: list[Incident] = []
    # Few incidents explain others, and that none ever did is known without their last versions.
    if store.rows("SELECT 1 AS one FROM incidents WHERE parent = {id:String} LIMIT 1", wanted):
        rows = store.rows(
            "SELECT document FROM incidents_latest"
            " WHERE parent = {id:String} ORDER BY opened_at, incident_id LIMIT 1000",
            wanted,
        )
        children = _documents(rows)
    return History(versions, children)


def latest(store: Store, incident_id: str) -> Incident | None:
    """An incident in its last version, or None when the id is unknown."""
    rows = store.rows(
        "SELECT document FROM incidents_latest WHERE incident_id = {id:String}", {"id": incident_id}
    )
    return _documents(rows)[0] if rows else None


def known(store: Store, incident_id: str) -> bool:
    """Whether there is an incident with this id."""
    return latest(store, incident_id) is not None


class Active(NamedTuple):
    """An incident that is not resolved, as gauges show it; ``detected_s`` since the epoch."""

    fabric: str
    component: str
    kind: str
    layer: str
    symptom: str
    issue_type: str
    severity: str
    incident_id: str
    detected_s: float


def active(store: Store) -> list[Active]:
    """The most urgent incidents that are not resolved and not explained by others; bounded, since
    each is a series in a monitoring system."""
    rows = store.rows(
        "SELECT fabric, component, kind, layer, symptom, issue_type, severity, incident_id,"  # noqa: S608  # fixed
        " toUnixTimestamp64Micro(detected_at) / 1e6 AS detected_s"
        f" FROM incidents_latest WHERE state != 'resolved' AND {LISTED}"
        f" ORDER BY {ORDERS['urgent']} LIMIT {MOST_ACTIVE}"
    )
    return [Active(**row) for row in rows]


def summary(store: Store) -> Summary:
    """Paths and incidents at this moment."""
    counts = store.rows(
        "SELECT state = 'resolved' AS resolved, severity, count() AS n"  # noqa: S608  # fixed
        f" FROM incidents_latest WHERE {LISTED} GROUP BY resolved, severity ORDER BY severity"
    )
    watched = store.rows(  # a sixth of the windows, and some of each path
        "SELECT uniqExact(path_id) AS paths FROM path_half_minutes WHERE ingested_at > now() - 300"
    )
    if not int(watched[0]["paths"]):  # the first half minute is not over yet
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
