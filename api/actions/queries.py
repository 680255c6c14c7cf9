"""Actions in ClickHouse: stored once by incident and key, read in the order of their times."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from api.actions.documents import Action, Handling, NewAction, named
from api.queries.database import Store
from api.queries.incidents import latest
from schemas.documents.times import rfc3339

#: Actions on one incident, at most [count].
MOST_ACTIONS: Final = 1000
_COLUMNS: Final = (
    "incident_id, key, kind, actor, assignee, verdict, text, version,"
    " toUnixTimestamp64Micro(at) AS at_us"
)
_OF: Final = (
    f"SELECT {_COLUMNS} FROM incident_actions FINAL WHERE incident_id = {{id:String}}"  # noqa: S608  # fixed
    " ORDER BY at, key LIMIT {most:UInt32}"
)
_INSERT: Final = (
    "INSERT INTO incident_actions"
    " (incident_id, key, kind, actor, assignee, verdict, text, version, tenants, at)"
    " SELECT {id:String}, {key:String}, {kind:String}, {actor:String}, {assignee:String},"
    " {verdict:String}, {text:String}, {version:UInt32}, {tenants:Array(String)},"
    " fromUnixTimestamp64Micro({at_us:Int64})"
)
_HANDLING: Final = (
    "SELECT incident_id, status, by, assignee, verdict,"
    " toUnixTimestamp64Micro(since) AS since_us FROM incident_handling"
    " WHERE incident_id IN {ids:Array(String)}"
)


class NoIncident(LookupError):
    """The incident is not stored, or not the caller's to see."""


class OtherContent(ValueError):
    """The key was used for another action on the incident."""


class TooManyActions(ValueError):
    """The incident has MOST_ACTIONS actions."""


class Stored(NamedTuple):
    """An action, and whether it is a new one and no repetition."""

    action: Action
    new: bool


def add(
    store: Store, incident_id: str, key: str, by: str, wanted: NewAction, now_us: int
) -> Stored:
    """Store an action; raises NoIncident, OtherContent or TooManyActions.

    key     a second action with it is a repetition of the first, and must be equal
    now_us  since the epoch [us]
    """
    incident = latest(store, incident_id)
    if incident is None:
        raise NoIncident(f"there is no incident {incident_id!r}")
    before = actions(store, incident_id)
    # Two actions have an order, whatever the resolution of the clock.
    at_us = max([now_us, *(each.at_us + 1 for each in before)])
    made = {
        "id": incident_id, "key": key, "kind": wanted.kind, "actor": by,
        "assignee": wanted.assignee or "", "verdict": wanted.verdict or "",
        "text": wanted.text or "", "version": incident.version, "at_us": at_us,
    }  # fmt: skip
    action = _action({**made, "incident_id": incident_id})
    for each in before:
        if each.action.key == key:
            if _content(each.action) != _content(action):
                raise OtherContent(f"key {key!r} was used for another action; use another key")
            return Stored(each.action, new=False)
    if len(before) >= MOST_ACTIONS:
        raise TooManyActions(f"an incident has {MOST_ACTIONS} actions at most")
    store.execute(_INSERT, {**made, "tenants": incident.tenants})
    return Stored(action, new=True)


class Timed(NamedTuple):
    """An action and its time [us since the epoch]."""

    action: Action
    at_us: int


def actions(store: Store, incident_id: str) -> list[Timed]:
    """Actions on an incident, oldest first."""
    rows = store.rows(_OF, {"id": incident_id, "most": MOST_ACTIONS})
    return [Timed(_action(row), int(row["at_us"])) for row in rows]


def handling(store: Store, ids: list[str]) -> dict[str, Handling]:
    """incident_id -> what people made of it, for those of ``ids`` that have any action."""
    if not ids:
        return {}
    out = {}
    for row in store.rows(_HANDLING, {"ids": ids}):
        since_us = row.pop("since_us")
        at = None if since_us is None else rfc3339(1000 * int(since_us))
        out[str(row.pop("incident_id"))] = named({**row, "at": at})
    return out


def _action(row: dict[str, Any]) -> Action:
    return Action(
        incident_id=row["incident_id"], key=row["key"], kind=row["kind"], by=row["actor"],
        assignee=row["assignee"] or None, verdict=row["verdict"] or None, text=row["text"] or None,
        version=int(row["version"]), at=rfc3339(1000 * int(row["at_us"])),
    )  # fmt: skip


def _content(action: Action) -> tuple[str | None, ...]:
    return action.kind, action.by, action.assignee, action.verdict, action.text
