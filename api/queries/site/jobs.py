"""Jobs: where they run, who is slow, whether it is the network."""

from __future__ import annotations

from statistics import median
from typing import Any, Final

from api.documents import finite
from api.queries.database import Store
from api.queries.filters import LISTED
from api.queries.orders import ORDERS
from api.queries.site.job_paths import CONTAINERS, PATHS, RECENT_S, SERIES_S, newest
from api.queries.site.job_verdict import verdict
from api.site_documents import JobContainer, JobIncident, JobLine, JobList, JobSeries, JobView
from schemas.documents.incident import decode_incident
from schemas.documents.times import rfc3339_of_ms

_MOST_JOBS: Final = 500
_MOST_CONTAINERS: Final = 2000
_LIST: Final = (
    "SELECT work, fabric, groupUniqArray(10)(owner) AS owners, countIf(phase = 'ready') AS ready,"  # noqa: S608  # fixed
    " countIf(phase != 'gone') AS present, uniqExactIf(host, phase != 'gone') AS hosts"
    f" FROM {CONTAINERS} WHERE work != '' GROUP BY work, fabric ORDER BY work, fabric"
    " LIMIT 10000"
)
_ACTIVE: Final = (
    "SELECT arrayJoin(jobs) AS work, fabric, severity, count() AS n FROM incidents_latest"  # noqa: S608  # fixed
    f" WHERE state != 'resolved' AND {LISTED} GROUP BY work, fabric, severity ORDER BY severity"
)
_OF_JOB: Final = (
    f"SELECT * FROM {CONTAINERS} WHERE work = {{job:String}}"  # noqa: S608  # fixed
    " ORDER BY phase = 'gone', fabric, node_id LIMIT {most:UInt32}"
)
_COUNT: Final = f"SELECT count() AS n FROM {CONTAINERS} WHERE work = {{job:String}}"  # noqa: S608  # fixed
_SERIES: Final = (
    "SELECT toUnixTimestamp(window_start) AS at, sum(w.sent) AS all_sent,"
    f" sum(w.lost) AS all_lost, quantile(0.5)(w.rtt_p50_us) AS p50 {PATHS}"
    " GROUP BY at ORDER BY at"
)
_ENDS: Final = (
    "SELECT arrayJoin([src_node_id, dst_node_id]) AS node_id, sum(w.sent) AS all_sent,"
    f" sum(w.lost) AS all_lost, quantile(0.5)(w.rtt_p50_us) AS p50 {PATHS} GROUP BY node_id"
)
_TOTAL: Final = (
    f"SELECT uniqExact(path_id) AS paths, sum(w.sent) AS all_sent, sum(w.lost) AS all_lost,"
    f" quantile(0.5)(w.rtt_p50_us) AS p50 {PATHS}"
)
_INCIDENTS: Final = (
    "SELECT document FROM incidents_latest WHERE has(jobs, {job:String})"  # noqa: S608  # fixed
    f" ORDER BY {ORDERS['urgent']} LIMIT 50"
)


def jobs(store: Store) -> JobList:
    """Jobs with containers or with active incidents; those with incidents first."""
    active: dict[tuple[str, str], dict[str, int]] = {}
    for row in store.rows(_ACTIVE):
        counts = active.setdefault((row["work"], row["fabric"]), {})
        counts[row["severity"]] = int(row["n"])
    placed = {(row["work"], row["fabric"]): row for row in store.rows(_LIST)}
    lines = [_line(key, placed.get(key, {}), active.get(key, {})) for key in {*placed, *active}]
    lines.sort(key=lambda line: (min(line.active, default="P9"), line.job, line.fabric))
    return JobList(lines[:_MOST_JOBS], len(lines))


def _line(key: tuple[str, str], row: dict[str, Any], active: dict[str, int]) -> JobLine:
    return JobLine(
        job=key[0], fabric=key[1], active=active,
        tenants=sorted(each for each in row.get("owners", ()) if each),
        ready=int(row.get("ready", 0)), containers=int(row.get("present", 0)),
        hosts=int(row.get("hosts", 0)),
    )  # fmt: skip


def known(store: Store, name: str) -> bool:
    """Whether a container or an incident names a job."""
    some = store.rows(_OF_JOB, {"job": name, "most": 1})
    return bool(some or store.rows(_INCIDENTS, {"job": name}))


def job(store: Store, name: str) -> JobView | None:
    """One job; None when neither a container nor an incident names it."""
    rows = store.rows(_OF_JOB, {"job": name, "most": _MOST_CONTAINERS})
    incidents = [_incident(row["document"]) for row in store.rows(_INCIDENTS, {"job": name})]
    if not rows and not incidents:
        return None
    (count,) = store.rows(_COUNT, {"job": name})
    until = newest(store, name)
    ends, total, series = _probed(store, name, until)
    as_of = None if until is None else rfc3339_of_ms(1000 * until)
    containers = _containers(rows, ends)
    return JobView(
        job=name,
        fabrics=sorted({row["fabric"] for row in rows}),
        tenants=sorted({row["owner"] for row in rows} - {""}),
        verdict=verdict(incidents, total, as_of),
        as_of=as_of, paths=int(total.get("paths", 0)),
        containers=containers, containers_total=int(count["n"]), incidents=incidents,
        series=series,
    )  # fmt: skip


def _probed(
    store: Store, name: str, until: int | None
) -> tuple[dict[str, dict[str, Any]], dict[str, Any], JobSeries]:
    """By container and in sum over the last minutes; over time in the last hour."""
    if until is None:
        return {}, {}, JobSeries([], [], [], [])
    values = {"job": name, "since": until - RECENT_S, "until": until}
    ends = {row["node_id"]: row for row in store.rows(_ENDS, values)}
    (total,) = store.rows(_TOTAL, values)
    points = store.rows(_SERIES, {**values, "since": until - SERIES_S})
    series = JobSeries(
        [int(row["at"]) for row in points],
        [int(row["all_sent"]) for row in points],
        [_share(row) for row in points],
        [finite(row["p50"]) for row in points],
    )
    return ends, total, series


def _share(row: dict[str, Any]) -> float | None:
    sent = int(row["all_sent"])
    return int(row["all_lost"]) / sent if sent else None


def _containers(rows: list[dict[str, Any]], ends: dict[str, dict[str, Any]]) -> list[JobContainer]:
    """Those that lose most first, then the slowest."""
    rtts = {name: finite(row["p50"]) for name, row in ends.items()}
    known = [rtt for row in rows if (rtt := rtts.get(row["node_id"]))]
    usual = median(known) if known else None
    found = []
    for row in rows:
        end, rtt = ends.get(row["node_id"], {}), rtts.get(row["node_id"])
        found.append(JobContainer(
            node_id=row["node_id"], node_sn=row["host"], state=row["phase"],
            rnics=list(row["ports"]), sent=int(end.get("all_sent", 0)),
            lost=int(end.get("all_lost", 0)), rtt_us=rtt,
            slowness=round(rtt / usual, 2) if rtt and usual else None,
        ))  # fmt: skip
    found.sort(key=lambda each: (
        each.state == "gone", -round(each.lost / max(each.sent, 1), 3), -(each.slowness or 0),
        each.node_id,
    ))  # fmt: skip
    return found


def _incident(document: str) -> JobIncident:
    each = decode_incident(document.encode())
    return JobIncident(
        incident_id=each.incident_id, component=each.component, kind=each.kind,
        symptom=each.symptom, severity=each.severity, state=each.state, opened_at=each.opened_at,
        closed_at=each.closed_at, text=str(each.evidence.get("text", "")),
    )  # fmt: skip
