"""How components are: incidents about them, what their probes had, whether any probe sees them."""

from __future__ import annotations

from typing import Any, Final

from api.paths.documents import (
    Component,
    ComponentDetail,
    ComponentIncident,
    ComponentList,
    Health,
    Observability,
)
from api.paths.filters import ComponentFilters, ComponentQuestion
from api.paths.queries import LATEST, MEASURED, ONCE, WITHIN, measured
from api.queries.database import Store
from schemas.component_ids import KINDS, component, kind_of, name_of
from schemas.documents.incident import decode_incident

#: Kind of component -> its name at an end of a path. In the underlay a host's own endpoint has the
#: host's name for a container's.
_NAMES: Final = {
    "tor": "{end}_asw", "rnic": "{end}_real_ip", "host": "{end}_node_sn", "pod": "{end}_pod",
    "container": "if({end}_node_id = {end}_node_sn, '', {end}_node_id)",
}  # fmt: skip
#: Names of a kind that are compared at a time [count]; beyond that those with most loss are.
_MOST_NAMES: Final = 50_000
_MOST_INCIDENTS: Final = 50
_HEALTH: Final[tuple[Health, ...]] = ("bad", "suspect", "unknown", "ok")  # the worst first
_ACTIVE: Final = (
    "SELECT fabric, arrayJoin(arrayDistinct(arrayPushFront(tie_set, component))) AS id,"
    " countIf(component = id) AS blamed, count() AS active, min(severity) AS worst"
    " FROM (SELECT fabric, component, tie_set, severity FROM incidents_latest"
    " WHERE state != 'resolved') WHERE {which} GROUP BY fabric, id"
)
_UNSEEN: Final = (
    "SELECT fabric, uncovered_names, untraced_names FROM coverage FINAL"
    " ORDER BY fabric, at DESC LIMIT 1 BY fabric"
)
_INCIDENTS: Final = (
    "SELECT document FROM incidents FINAL WHERE (incident_id, version) IN ("
    "SELECT incident_id, version FROM incidents_latest"
    " WHERE component = {id:String} OR has(tie_set, {id:String})"
    " ORDER BY opened_at DESC, incident_id LIMIT {most:UInt32} BY fabric)"
    " ORDER BY opened_at DESC, incident_id"
)

Key = tuple[str, str]  # fabric, component id
Rows = dict[Key, dict[str, Any]]


class SeveralFabrics(ValueError):
    """The component's name is one of several fabrics."""


def components(store: Store, wanted: ComponentFilters) -> ComponentList:
    """Components of a kind: probed ones, those of incidents, and those that no probe crosses."""
    values = {"prefix": f"{wanted.kind}:"}
    active = _active(store, "startsWith(id, {prefix:String})", values)
    probed = _probed(store, wanted.kind, None, wanted.bounds_s())
    unseen = {key: how for key, how in _unseen(store).items() if kind_of(key[1]) == wanted.kind}
    items = [
        each
        for key in active.keys() | probed.keys() | unseen.keys()
        if _asked(key, wanted)
        and (each := _component(key, active, probed, unseen)).health in (wanted.health or _HEALTH)
    ]
    items.sort(key=_worst_first)
    return ComponentList(
        total=len(items), limit=wanted.limit, offset=wanted.offset,
        items=items[wanted.offset : wanted.offset + wanted.limit],
    )  # fmt: skip


def detail(store: Store, name: str, wanted: ComponentQuestion) -> ComponentDetail | None:
    """A component of any kind; None where nothing is known of it. Raises SeveralFabrics."""
    kind = kind_of(name)
    if kind not in KINDS:
        return None
    active = _active(store, "id = {id:String}", {"id": name})
    probed: Rows = {}
    if kind in _NAMES:
        probed = _probed(store, kind, name, wanted.bounds_s())
    unseen = {key: how for key, how in _unseen(store).items() if key[1] == name}
    rows = store.rows(_INCIDENTS, {"id": name, "most": _MOST_INCIDENTS})
    past = [decode_incident(row["document"].encode()) for row in rows]
    fabrics = {each.fabric for each in past} | {fabric for fabric, _ in (*active, *probed, *unseen)}
    if wanted.fabric is not None:
        fabrics &= {wanted.fabric}
    if len(fabrics) > 1:
        raise SeveralFabrics(f"{name} is in {', '.join(sorted(fabrics)[:10])}; give fabric")
    if not fabrics:
        return None
    (fabric,) = fabrics
    return ComponentDetail(
        component=_component((fabric, name), active, probed, unseen),
        incidents=[
            ComponentIncident(
                incident_id=each.incident_id, blamed=each.component == name,
                component=each.component, symptom=each.symptom, severity=each.severity,
                state=each.state, opened_at=each.opened_at, closed_at=each.closed_at,
            )
            for each in past
            if each.fabric == fabric
        ],
    )  # fmt: skip


def _active(store: Store, which: str, values: dict[str, Any]) -> Rows:
    rows = store.rows(_ACTIVE.replace("{which}", which), values)
    return {(row["fabric"], row["id"]): row for row in rows}


def _probed(store: Store, kind: str, name: str | None, bounds: dict[str, int]) -> Rows:
    """What probes that start or end at a component of a kind had; name: the only one."""
    names = [_NAMES[kind].replace("{end}", end) for end in ("src", "dst")]
    ends = ", ".join(f"toString({each})" for each in names)
    values: dict[str, Any] = {**bounds, "most": _MOST_NAMES}
    where, which = "name != ''", "1"
    if name is not None:
        where = "name = {name:String}"
        which = f"({' OR '.join(f'{each} = {{name:String}}' for each in names)})"
        values["name"] = name_of(name)
    rows = store.rows(
        "SELECT fabric, name, uniqExact(w.path_id) AS paths,"  # noqa: S608  # fixed fragments
        f" {MEASURED} FROM {LATEST} ARRAY JOIN arrayDistinct([{ends}]) AS name"
        f" PREWHERE {WITHIN} AND {ONCE} AND {which} WHERE {where} GROUP BY fabric, name"
        " ORDER BY all_lost / greatest(all_sent, 1) DESC, name LIMIT {most:UInt32}",
        values,
    )
    return {(row["fabric"], component(kind, row["name"])): row for row in rows}


def _unseen(store: Store) -> dict[Key, Observability]:
    out: dict[Key, Observability] = {}
    for row in store.rows(_UNSEEN):
        out |= {(row["fabric"], name): "untraced" for name in row["untraced_names"]}
        out |= {(row["fabric"], name): "uncovered" for name in row["uncovered_names"]}
    return out


def _asked(key: Key, wanted: ComponentFilters) -> bool:
    fabric, name = key
    return (not wanted.fabric or fabric in wanted.fabric) and (
        wanted.text is None or wanted.text.lower() in name.lower()
    )


def _component(key: Key, active: Rows, probed: Rows, unseen: dict[Key, Observability]) -> Component:
    incident, row = active.get(key), probed.get(key)
    health: Health = "unknown" if row is None else "ok"
    if incident is not None:
        health = "bad" if int(incident["blamed"]) else "suspect"
    return Component(
        component=key[1], fabric=key[0], kind=kind_of(key[1]), health=health,
        observability=unseen.get(key, "unknown" if row is None else "probed"),
        active=int(incident["active"]) if incident else 0,
        severity=incident["worst"] if incident else None,
        paths=int(row["paths"]) if row else 0,
        measured=measured(row) if row else None,
    )  # fmt: skip


def _worst_first(each: Component) -> tuple[int, str, float, str, str]:
    loss = each.measured.loss if each.measured else None
    return (
        _HEALTH.index(each.health),
        each.severity or "",
        -(loss or 0.0),
        each.fabric,
        each.component,
    )
