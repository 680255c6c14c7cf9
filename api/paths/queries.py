"""Paths in ClickHouse: summaries, windows, the newest route, raw pings."""

from __future__ import annotations

import json
import math
from statistics import median
from typing import Any, Final

from api.paths.documents import (
    Endpoint,
    Measured,
    PathDetail,
    PathList,
    PathSummary,
    PathWindow,
    PingList,
    RawPing,
    Route,
)
from api.paths.filters import Order, PathFilters, PingFilters, WindowFilters
from api.queries import incidents
from api.queries.database import Store
from schemas.documents.times import rfc3339
from schemas.identity import path_id

_SECOND: Final = 1_000_000_000
#: Windows of 30 s begin every 5 s; those that begin at second 0 and 30 hold each probe once.
ONCE: Final = "toUnixTimestamp(window_start) % 30 = 0"
#: Conditions on the time, the path and what its path determines hold for all versions of a window
#: or for none: they come before FINAL chooses one, and most columns of other rows are not read.
LATEST: Final = "path_windows AS w FINAL"
WITHIN: Final = (
    "window_start >= toDateTime({since:Int64}) AND window_start < toDateTime({until:Int64})"
)
MEASURED: Final = (
    "sum(w.sent) AS all_sent, sum(w.lost) AS all_lost, min(w.rtt_min_us) AS rtt_min,"
    " quantile(0.5)(w.rtt_p25_us) AS rtt_p25, quantile(0.5)(w.rtt_p50_us) AS rtt_p50,"
    " quantile(0.5)(w.rtt_p75_us) AS rtt_p75, max(w.rtt_max_us) AS rtt_max"
)
_ENDS: Final = ", ".join(
    f"any({side}_{column}) AS {side}_{name}"
    for side in ("src", "dst")
    for column, name in (
        ("node_sn", "host"), ("real_ip", "rnic"), ("node_id", "container"), ("ip", "address"),
        ("port", "portno"), ("asw", "tor"), ("pod", "podname"),
    )
)  # fmt: skip
#: A path's windows, each once, with the names of its ends. The few rows are chosen first, and then
#: their versions: FINAL would cost as much again.
_WINDOWS: Final = (
    "SELECT toUnixTimestamp(window_start) AS begin, refused, sent AS all_sent, lost AS all_lost,"  # noqa: S608  # fixed
    " rtt_min_us AS rtt_min, rtt_p25_us AS rtt_p25, rtt_p50_us AS rtt_p50, rtt_p75_us AS rtt_p75,"
    " rtt_max_us AS rtt_max, fabric AS in_fabric, layer AS in_layer, task_type AS task,"
    f" {_ENDS.replace('any(', '').replace(')', '')} FROM path_windows"
    f" PREWHERE path_id = {{id:UInt64}} AND {WITHIN}"
    " AND toUnixTimestamp(window_start) % {step:UInt8} = 0"
    " ORDER BY window_start, window_end, records DESC LIMIT 1 BY window_start, window_end"
)
_ANY_WINDOW: Final = (
    f"SELECT 1 AS one FROM path_windows PREWHERE path_id = {{id:UInt64}} AND {WITHIN} LIMIT 1"  # noqa: S608  # fixed
)
_SUMMARY: Final = (
    "w.path_id AS id, any(w.fabric) AS in_fabric, any(w.layer) AS in_layer,"
    f" any(w.task_type) AS task, {_ENDS}, count() AS windows, {MEASURED}"
)
_ORDERS: Final[dict[Order, str]] = {
    "loss": "all_lost / nullIf(all_sent, 0) DESC NULLS LAST, id",
    "rtt": "rtt_p50 DESC NULLS LAST, id",
    "id": "id",
}
#: A traceroute may be so much older than the time that is asked for [s].
_ROUTE_AGE_S: Final = 3600
_SENT: Final = (
    "ping_time >= toDateTime64({since:Int64}, 9) AND ping_time < toDateTime64({until:Int64}, 9)"
)
_ROUTE: Final = (
    "SELECT toUnixTimestamp64Nano(ping_time) AS at_ns, route FROM pings"  # noqa: S608  # fixed
    " WHERE path_id = {id:UInt64} AND task_type = 'TRACEROUTE' AND route NOT IN ('', '[]')"
    f" AND {_SENT} ORDER BY ping_time DESC LIMIT 1"
)
_PINGS: Final = (
    "SELECT toUnixTimestamp64Nano(ping_time) AS at_ns, dial, sent, lost, latency,"  # noqa: S608  # fixed
    f" p50_us, p99_us, dscp, judged_as FROM pings_unique WHERE path_id = {{id:UInt64}} AND {_SENT}"
    " ORDER BY ping_time DESC, task_type LIMIT {limit:UInt32}"
)


def paths(store: Store, wanted: PathFilters) -> PathList | None:
    """Paths with windows in the asked time; None: there is no such incident."""
    if wanted.incident is not None and incidents.latest(store, wanted.incident) is None:
        return None
    where, values = wanted.where()
    bounds = wanted.bounds_s()
    lossy = "all_lost > 0" if wanted.lossy else "1"
    rows = store.rows(
        f"SELECT *, count() OVER () AS total FROM (SELECT {_SUMMARY}"  # noqa: S608  # fixed fragments
        f" FROM {LATEST} PREWHERE {WITHIN} AND {ONCE} WHERE {where}"
        f" GROUP BY id HAVING {lossy})"
        f" ORDER BY {_ORDERS[wanted.order]} LIMIT {{limit:UInt32}}",
        {**values, **bounds, "limit": wanted.limit},
    )
    return PathList(
        since_at=rfc3339(bounds["since"] * _SECOND),
        until_at=rfc3339(bounds["until"] * _SECOND),
        total=int(rows[0]["total"]) if rows else 0,
        items=[_summary(row) for row in rows],
    )


def path(store: Store, number: int, wanted: WindowFilters) -> PathDetail | None:
    """A path with its windows in the asked time; None where it has none."""
    values = {"id": number, **wanted.bounds_s()}
    rows = store.rows(_WINDOWS, {**values, "step": int(wanted.step)})
    once = [row for row in rows if int(row["begin"]) % 30 == 0]
    if not once:
        return None
    summary = _summary({**rows[-1], **_added_up(once), "id": number, "windows": len(once)})
    return PathDetail(
        path=summary,
        windows=[
            PathWindow(
                window_start=rfc3339(int(row["begin"]) * _SECOND),
                refused=int(row["refused"]),
                measured=measured(row),
            )
            for row in rows
        ],
        route=_route(store, summary, values["since"] - _ROUTE_AGE_S, values["until"]),
    )


def pings(store: Store, number: int, wanted: PingFilters) -> PingList | None:
    """Ping records of a path, newest first; None where it has neither these nor windows in the
    asked time."""
    values = {"id": number, **wanted.bounds_s()}
    rows = store.rows(_PINGS, {**values, "limit": wanted.limit})
    if not rows and not store.rows(_ANY_WINDOW, values):
        return None
    return PingList([
        RawPing(
            at=rfc3339(int(row["at_ns"])), dial=row["dial"], sent=row["sent"], lost=row["lost"],
            latency_us=finite(row["latency"]), p50_us=finite(row["p50_us"]),
            p99_us=finite(row["p99_us"]), dscp=int(row["dscp"]), judged_as=row["judged_as"],
        )
        for row in rows
    ])  # fmt: skip


def _added_up(windows: list[dict[str, Any]]) -> dict[str, Any]:
    """The columns of ``MEASURED`` over rows of single windows."""

    def known(name: str) -> list[float]:
        return [float(row[name]) for row in windows if row[name] is not None]

    medians = {f"rtt_{name}": known(f"rtt_{name}") for name in ("p25", "p50", "p75")}
    return {
        "all_sent": sum(int(row["all_sent"]) for row in windows),
        "all_lost": sum(int(row["all_lost"]) for row in windows),
        "rtt_min": min(known("rtt_min"), default=None),
        "rtt_max": max(known("rtt_max"), default=None),
        **{name: median(values) if values else None for name, values in medians.items()},
    }


def measured(row: dict[str, Any]) -> Measured:
    """The columns of ``MEASURED``."""
    sent, lost = int(row["all_sent"]), int(row["all_lost"])
    return Measured(
        sent=sent, lost=lost, loss=round(lost / sent, 6) if sent else None,
        rtt_min_us=finite(row["rtt_min"]), rtt_p25_us=finite(row["rtt_p25"]),
        rtt_p50_us=finite(row["rtt_p50"]), rtt_p75_us=finite(row["rtt_p75"]),
        rtt_max_us=finite(row["rtt_max"]),
    )  # fmt: skip


def finite(value: float | None) -> float | None:
    """A figure to three digits; None where there is none."""
    return None if value is None or not math.isfinite(value) else round(float(value), 3)


def _summary(row: dict[str, Any]) -> PathSummary:
    ends = [
        Endpoint(
            host=row[f"{side}_host"], rnic=row[f"{side}_rnic"], container=row[f"{side}_container"],
            ip=row[f"{side}_address"], port=int(row[f"{side}_portno"]), tor=row[f"{side}_tor"],
            pod=row[f"{side}_podname"],
        )
        for side in ("src", "dst")
    ]  # fmt: skip
    return PathSummary(
        path_id=f"{int(row['id']):016x}", fabric=row["in_fabric"], layer=row["in_layer"],
        task_type=row["task"], src=ends[0], dst=ends[1], windows=int(row["windows"]),
        measured=measured(row),
    )  # fmt: skip


def _route(store: Store, of: PathSummary, since_s: int, until_s: int) -> Route | None:
    """The newest route of the five-tuple: its traceroutes have a path id of their own."""
    traced = path_id(
        (
            of.fabric, of.layer, "TRACEROUTE", of.src.container, of.src.ip, of.dst.container,
            of.dst.ip,
        ),
        of.src.port, of.dst.port,
    )  # fmt: skip
    rows = store.rows(_ROUTE, {"id": traced, "since": since_s, "until": until_s})
    if not rows:
        return None
    return Route(at=rfc3339(int(rows[0]["at_ns"])), hops=json.loads(rows[0]["route"]))
