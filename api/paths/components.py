"""How components are: incidents about them, what their probes had, whether any probe sees them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from api.paths.documents import (
    Component,
    ComponentDetail,
    ComponentIncident,
    ComponentList,
    Health,
    Observability,
)
from api.paths.filters import ComponentFilters, ComponentQuestion
from api.paths.observability import Key, Known, Observed, known, known_of
from api.paths.queries import MEASURED, WITHIN, measured
from api.queries.database import Store
from schemas.component_ids import KINDS, component, kind_of, name_of
from schemas.documents.times import rfc3339

#: Kind of component -> its name at an end of a path. In the underlay a host's own endpoint has the
#: host's name for a container's.
_NAMES: Final = {
    "tor": "{end}_asw", "rnic": "{end}_real_ip", "host": "{end}_node_sn", "pod": "{end}_pod",
    "container": "if({end}_node_id = {end}_node_sn, '', {end}_node_id)",
}  # fmt: skip
#: Names of a kind that are compared at a time [count]; beyond that those with most loss are.
_MOST_NAMES: Final = 50_000
_MOST_INCIDENTS: Final = 50
_MOST_READ: Final = 2000
_HEALTH: Final[tuple[Health, ...]] = ("bad", "suspect", "unknown", "ok")  # the worst first
_ACTIVE: Final = (
    "SELECT fabric, arrayJoin(arrayDistinct(arrayPushFront(tie_set, component))) AS id,"
    " countIf(component = id) AS blamed, count() AS active, min(severity) AS worst"
    " FROM (SELECT fabric, component, tie_set, severity FROM incidents_latest"
    " WHERE state != 'resolved') WHERE {which} GROUP BY fabric, id"
)
#: Those of one component, active ones first: all of them, for no component has so many.
_INCIDENTS: Final = (
    "SELECT fabric, incident_id, component, symptom, severity, state,"
    " toUnixTimestamp64Micro(opened_at) AS opened_us,"
    " toUnixTimestamp64Micro(closed_at) AS closed_us"
    " FROM incidents_latest WHERE component = {id:String} OR has(tie_set, {id:String})"
    " ORDER BY state = 'resolved', opened_at DESC, incident_id LIMIT {most:UInt32} BY fabric"
)

#: Windows that hold each probe once, with the names of their ends. Columns by name: all others
#: would be read too.
_COLUMNS: Final = (
    "fabric, path_id, sent, lost, rtt_min_us, rtt_p25_us, rtt_p50_us, rtt_p75_us, rtt_max_us"
)
_ALL: Final = (
    f"SELECT {_COLUMNS}, {{source}} AS source, {{target}} AS target FROM path_half_minutes FINAL"  # noqa: S608  # fixed
    f" PREWHERE {WITHIN}"
)
#: Those at one name: its few rows are chosen before their versions, for FINAL would read the keys
#: of all.
_AT_ONE: Final = (
    f"SELECT fabric, uniqExact(w.path_id) AS paths, {MEASURED} FROM (SELECT {_COLUMNS}"  # noqa: S608  # fixed
    f" FROM path_half_minutes PREWHERE {WITHIN}"
    " AND ({source} = {name:String} OR {target} = {name:String})"
    " ORDER BY records DESC LIMIT 1 BY path_id, window_start) AS w GROUP BY fabric"
)
#: Added up by pair of names first, of which there are fewer.
_PROBED: Final = (
    "SELECT fabric, name, sum(p.paths) AS paths, sum(p.sent) AS all_sent, sum(p.lost) AS all_lost,"  # noqa: S608  # fixed
    " min(p.least) AS rtt_min, quantileArray(0.5)(p.quarter) AS rtt_p25,"
    " quantileArray(0.5)(p.half) AS rtt_p50, quantileArray(0.5)(p.more) AS rtt_p75,"
    " max(p.most) AS rtt_max"
    " FROM (SELECT fabric, source, target, uniqExact(path_id) AS paths, sum(w.sent) AS sent,"
    " sum(w.lost) AS lost, min(w.rtt_min_us) AS least,"
    " groupArray(w.rtt_p25_us) AS quarter, groupArray(w.rtt_p50_us) AS half,"
    " groupArray(w.rtt_p75_us) AS more, max(w.rtt_max_us) AS most"
    f" FROM ({_ALL}) AS w GROUP BY fabric, source, target) AS p"
    " ARRAY JOIN arrayDistinct([toString(source), toString(target)]) AS name"
    " WHERE name != '' GROUP BY fabric, name"
    " ORDER BY all_lost / greatest(all_sent, 1) DESC, name LIMIT {most:UInt32}"
)

Rows = dict[Key, dict[str, Any]]


class SeveralFabrics(ValueError):
    """The component's name is one of several fabrics."""


def components(store: Store, wanted: ComponentFilters) -> ComponentList:
    """Components of a kind: probed ones, those of incidents, and those that no probe crosses."""
    values = {"prefix": f"{wanted.kind}:"}
    active = _active(store, "startsWith(id, {prefix:String})", values)
    bounds = wanted.bounds_s()
    probed = _probed(store, wanted.kind, bounds)
    observed = Observed.of(store)
    unseen = {key for key in observed.unseen if kind_of(key[1]) == wanted.kind}
    silent = {name for _, name in active.keys() - probed.keys() - unseen}
    view = _View(active, probed, observed, known_of(store, silent, observed), bounds["since"])
    items = [
        each
        for key in active.keys() | probed.keys() | unseen
        if _asked(key, wanted) and (each := view.of(key)).health in (wanted.health or _HEALTH)
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
    rows = store.rows(_INCIDENTS, {"id": name, "most": _MOST_READ})
    active = _active_of(name, rows)
    bounds = wanted.bounds_s()
    probed = _probed_one(store, name, bounds) if kind in _NAMES else {}
    observed = Observed.of(store)
    found = known(store, name, observed)
    fabrics = {row["fabric"] for row in rows} | {
        fabric for fabric, _ in (*probed, *observed.named(name), *found.keys)
    }
    if wanted.fabric is not None:
        fabrics &= {wanted.fabric}
    if len(fabrics) > 1:
        raise SeveralFabrics(f"{name} is in {', '.join(sorted(fabrics)[:10])}; give fabric")
    if not fabrics:
        return None
    (fabric,) = fabrics
    return ComponentDetail(
        component=_View(active, probed, observed, found, bounds["since"]).of((fabric, name)),
        incidents=[
            ComponentIncident(
                incident_id=each["incident_id"], blamed=each["component"] == name,
                component=each["component"], symptom=each["symptom"], severity=each["severity"],
                state=each["state"], opened_at=_time(each["opened_us"]) or "",
                closed_at=_time(each["closed_us"]),
            )
            for each in _newest([row for row in rows if row["fabric"] == fabric])
        ],
    )  # fmt: skip


def _active(store: Store, which: str, values: dict[str, Any]) -> Rows:
    rows = store.rows(_ACTIVE.replace("{which}", which), values)
    return {(row["fabric"], row["id"]): row for row in rows}


def _active_of(name: str, incidents: list[dict[str, Any]]) -> Rows:
    """The same of one component, from the rows of ``_INCIDENTS``."""
    out: Rows = {}
    for row in incidents:
        if row["state"] == "resolved":
            continue
        so_far = out.setdefault(
            (row["fabric"], name), {"blamed": 0, "active": 0, "worst": row["severity"]}
        )
        so_far["blamed"] += row["component"] == name
        so_far["active"] += 1
        so_far["worst"] = min(so_far["worst"], row["severity"])
    return out


def _newest(incidents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(incidents, key=lambda row: (-int(row["opened_us"]), row["incident_id"]))
    return ordered[:_MOST_INCIDENTS]


def _time(time_us: int | None) -> str | None:
    return None if time_us is None else rfc3339(1000 * int(time_us))


def _probed(store: Store, kind: str, bounds: dict[str, int]) -> Rows:
    """What probes that start or end at components of a kind had."""
    rows = store.rows(_of_kind(_PROBED, kind), {**bounds, "most": _MOST_NAMES})
    return {(row["fabric"], component(kind, row["name"])): row for row in rows}


def _probed_one(store: Store, name: str, bounds: dict[str, int]) -> Rows:
    """The same of one component, in each fabric that has it."""
    rows = store.rows(_of_kind(_AT_ONE, kind_of(name)), {**bounds, "name": name_of(name)})
    return {(row["fabric"], name): row for row in rows}


def _of_kind(statement: str, kind: str) -> str:
    """The statement with the names that components of this kind have at the ends of a path."""
    for column, end in (("{source}", "src"), ("{target}", "dst")):
        statement = statement.replace(column, _NAMES[kind].replace("{end}", end))
    return statement


def _asked(key: Key, wanted: ComponentFilters) -> bool:
    fabric, name = key
    return (not wanted.fabric or fabric in wanted.fabric) and (
        wanted.text is None or wanted.text.lower() in name.lower()
    )


class _View(NamedTuple):
    """What components are made of; since_s: begin of the asked time [s]."""

    active: Rows
    probed: Rows
    observed: Observed
    known: Known
    since_s: int

    def of(self, key: Key) -> Component:
        """One of them."""
        incident, row = self.active.get(key), self.probed.get(key)
        covered_s = self.known.covered.get(key)
        kind = kind_of(key[1])
        # No path ends at other kinds: that judged probes still cross them is all there is to know.
        crossed = kind not in _NAMES and covered_s is not None and covered_s >= self.since_s
        health: Health = "ok" if row is not None or crossed else "unknown"
        if incident is not None:
            health = "bad" if int(incident["blamed"]) else "suspect"
        otherwise: Observability = "unknown" if covered_s is None else "covered"
        return Component(
            component=key[1], fabric=key[0], kind=kind, health=health,
            observability=self.observed.unseen.get(key, otherwise if row is None else "probed"),
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
