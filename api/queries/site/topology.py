"""A fabric: its newest topology document, or what windows tell of it; health, incidents, paths."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from api.documents import finite
from api.queries import incidents
from api.queries.database import Store
from api.queries.site import marks
from api.queries.site.first_minute import ONCE, WINDOW_S, first_minute
from api.queries.site.incident_paths import incident_paths
from api.queries.site.switch_health import UNKNOWN, switch_health
from api.site_documents import HostNode, RnicNode, SwitchNode, TopologyView
from schemas.component_ids import component
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339_of_ms

#: Rnics that are drawn at most: more than any drawing can show.
MOST_RNICS: Final = 16_384
_MOST_COMPONENTS: Final = 200_000
_HEALTH_S: Final = 60

_DOCUMENT_FABRICS: Final = "SELECT DISTINCT fabric FROM topology_components ORDER BY fabric"
_WINDOW_FABRICS: Final = (
    "SELECT DISTINCT fabric FROM path_windows WHERE ingested_at > now() - 3600 ORDER BY fabric"
)
_DOCUMENT: Final = (
    "SELECT component, kind, name, pod, host, rail, tor, ends, addresses,"
    " toUnixTimestamp64Milli(valid_from) AS valid_ms FROM topology_components FINAL"
    " WHERE fabric = {fabric:String} AND kind != 'container'"
    " AND NOT (kind = 'link' AND arrayExists(each -> startsWith(each, 'rnic:'), ends))"
    " AND valid_from = (SELECT max(valid_from) FROM topology_components"
    " WHERE fabric = {fabric:String} AND valid_from <= now64(3)) LIMIT {most:UInt32}"
)
_LEARNT: Final = (
    "SELECT end.1 AS rnic, any(end.2) AS host, any(end.3) AS tor, any(end.4) AS above,"
    " any(end.5) AS pod FROM (SELECT arrayJoin([(src_real_ip, src_node_sn, src_asw, src_dsw,"
    " src_pod), (dst_real_ip, dst_node_sn, dst_asw, dst_dsw, dst_pod)]) AS end FROM path_windows"
    " WHERE fabric = {fabric:String} AND ingested_at > now() - 3600)"
    " WHERE rnic != '' GROUP BY rnic ORDER BY pod, host, rnic LIMIT {most:UInt32}"
)
_NEWEST: Final = (
    "SELECT toUnixTimestamp(max(window_end)) AS newest, count() AS n FROM path_windows"
    " WHERE fabric = {fabric:String} AND ingested_at > now() - 3600"
)
#: Windows that were written twice count twice: shares and medians are the same.
_HEALTH: Final = (
    "SELECT arrayJoin([src_real_ip, dst_real_ip]) AS rnic, sum(sent) AS all_sent,"  # noqa: S608  # fixed
    " sum(lost) AS all_lost, quantile(0.5)(rtt_p50_us) AS p50 FROM path_windows"
    " WHERE fabric = {fabric:String} AND window_start >= toDateTime({since:Int64})"
    " AND window_start < toDateTime({until:Int64})"
    f" AND {ONCE} GROUP BY rnic"
)
_UNCOVERED: Final = (
    "SELECT uncovered_names FROM coverage FINAL WHERE fabric = {fabric:String}"
    " ORDER BY at DESC LIMIT 1"
)
_NO_DOCUMENT: Final = (
    "No topology document of this fabric is stored: hosts, rnics and ToRs are those of the last"
    " hour's probes, switches above and their links only what records name. Publish one:"
    " `skeletonhunter topology import` and `skeletonhunter topology publish`."
)
_NOTHING: Final = "Neither a topology document nor a window of the last hour is stored."
_NO_WINDOWS: Final = "No probe of the last hour is stored: health is not known."


class TooManyRnics(ValueError):
    """A fabric has more than MOST_RNICS rnics."""


class _Fabric(NamedTuple):
    switches: list[SwitchNode]
    links: list[tuple[int, int]]
    hosts: list[HostNode]
    rnics: list[tuple[str, int, int, int]]  # name, host, rail, tor
    valid_from: str | None
    addresses: dict[str, str]  # of a switch as traceroutes show it -> its name


def topology(store: Store, fabric: str | None, incident_id: str | None) -> TopologyView | None:
    """The fabric, by default that of the incident or the first; None: no such incident. Raises
    TooManyRnics."""
    shown = incidents.latest(store, incident_id) if incident_id else None
    if incident_id and shown is None:
        return None
    documents = [row["fabric"] for row in store.rows(_DOCUMENT_FABRICS)]
    fabrics = sorted({*documents, *(row["fabric"] for row in store.rows(_WINDOW_FABRICS))})
    fabric = fabric or (shown.fabric if shown else None) or next(iter(documents or fabrics), "")
    known = fabric in documents
    found = _of_document(store, fabric) if known else _of_windows(store, fabric)
    source = "document" if known else "records" if found.rnics else "none"
    since_s, until_s = _times(store, fabric, shown)
    health = _health(store, fabric, since_s, until_s)
    missing = {"document": [], "records": [_NO_DOCUMENT], "none": [_NOTHING]}[source]
    if source == "document" and until_s is None:
        missing = [_NO_WINDOWS]
    uncovered = store.rows(_UNCOVERED, {"fabric": fabric})
    return TopologyView(
        fabric=fabric, fabrics=fabrics, source=source, missing=missing,
        valid_from=found.valid_from, since_s=since_s, until_s=until_s,
        switches=_healthy(store, fabric, found, since_s, until_s), links=found.links,
        hosts=found.hosts,
        rnics=[RnicNode(*each, *health.get(each[0], (0, 0, None))) for each in found.rnics],
        incidents=marks.active(store, fabric, shown),
        uncovered=list(uncovered[0]["uncovered_names"]) if uncovered else [],
        paths=incident_paths(store, shown, found.addresses)
        if shown and shown.fabric == fabric else None,
    )  # fmt: skip


def _healthy(
    store: Store, fabric: str, found: _Fabric, since: int | None, until: int | None
) -> list[SwitchNode]:
    """The switches with the probes over them."""
    if since is None or until is None:
        return found.switches
    health = switch_health(store, fabric, since, until, found.addresses)
    return [
        SwitchNode(each.component, each.name, each.pod, *health.get(each.name, UNKNOWN))
        for each in found.switches
    ]


def _of_document(store: Store, fabric: str) -> _Fabric:
    rows = store.rows(_DOCUMENT, {"fabric": fabric, "most": _MOST_COMPONENTS})
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row)
    rnics = kinds.get("rnic", [])
    _check(len(rnics))
    switches = sorted(
        (row for kind in ("tor", "agg", "spine") for row in kinds.get(kind, [])),
        key=lambda row: (row["pod"], row["name"]),
    )
    at = {row["component"]: number for number, row in enumerate(switches)}
    hosts = sorted(kinds.get("host", []), key=lambda row: (row["pod"], row["name"]))
    host_at = {row["name"]: number for number, row in enumerate(hosts)}
    rnics.sort(key=lambda row: (host_at.get(row["host"], -1), row["rail"], row["name"]))
    return _Fabric(
        [SwitchNode(row["component"], row["name"], row["pod"]) for row in switches],
        sorted(
            (at[a], at[b]) for a, b in (row["ends"] for row in kinds.get("link", []))
            if a in at and b in at
        ),
        [HostNode(row["name"], row["pod"]) for row in hosts],
        [
            (row["name"], host_at.get(row["host"], -1), int(row["rail"]),
             at.get(component("tor", row["tor"]), -1)) for row in rnics
        ],
        rfc3339_of_ms(int(rows[0]["valid_ms"])) if rows else None,
        {address: row["name"] for row in switches for address in row["addresses"]},
    )  # fmt: skip


def _of_windows(store: Store, fabric: str) -> _Fabric:
    rows = store.rows(_LEARNT, {"fabric": fabric, "most": MOST_RNICS + 1})
    _check(len(rows))
    pods = {row["tor"]: row["pod"] for row in rows if row["tor"]}
    tors = [SwitchNode(component("tor", name), name, pods[name]) for name in sorted(pods)]
    above = sorted({row["above"] for row in rows} - {"", *pods})
    switches = [*tors, *(SwitchNode(component("spine", name), name, "") for name in above)]
    at = {switch.name: number for number, switch in enumerate(switches)}
    hosts = sorted({(row["pod"], row["host"]) for row in rows})
    host_at = {name: number for number, (_, name) in enumerate(hosts)}
    links = {(at[row["tor"]], at[row["above"]]) for row in rows if row["tor"] and row["above"]}
    return _Fabric(
        switches, sorted((a, b) for a, b in links if a != b),
        [HostNode(name, pod) for pod, name in hosts],
        [(row["rnic"], host_at[row["host"]], 0, at.get(row["tor"], -1)) for row in rows],
        None, {},
    )  # fmt: skip


def _check(rnics: int) -> None:
    if rnics > MOST_RNICS:
        raise TooManyRnics(
            f"this fabric has more than {MOST_RNICS} rnics, which no drawing shows; ask"
            " /api/v1/matrix by pod instead"
        )


def _times(store: Store, fabric: str, shown: Incident | None) -> tuple[int | None, int | None]:
    """The newest minute, or the first one of an incident."""
    if shown is not None:
        return first_minute(shown)
    (row,) = store.rows(_NEWEST, {"fabric": fabric})
    if not int(row["n"]):
        return None, None
    until = int(row["newest"]) // WINDOW_S * WINDOW_S
    return until - _HEALTH_S, until


def _health(
    store: Store, fabric: str, since: int | None, until: int | None
) -> dict[str, tuple[int, int, float | None]]:
    """Rnic -> probes, lost ones, round trip."""
    if since is None or until is None:
        return {}
    rows = store.rows(_HEALTH, {"fabric": fabric, "since": since, "until": until})
    return {
        row["rnic"]: (int(row["all_sent"]), int(row["all_lost"]), finite(row["p50"]))
        for row in rows
    }
