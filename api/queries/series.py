"""Loss and round trips of an incident's bad paths, beside other paths of the same hosts."""

from __future__ import annotations

import math
from typing import Any, Final

from api.documents import PathSeries, Series, finite
from api.queries.database import Store
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

#: Time before the first bad second that is shown, and after the last [s].
_BEFORE_S: Final = 600
_AFTER_S: Final = 120
_LONGEST_S: Final = 4 * 3600
_MOST_POINTS: Final = 360
#: Windows begin every 5 s and are 30 s long: a point each 10 s, or fewer.
_STEP_S: Final = 10
_MOST_PATHS: Final = 2000
_NONE: Final = PathSeries([], [], [])

_BAD: Final = (
    "SELECT DISTINCT path_id FROM anomalies_unique WHERE incident_id = {id:String}"
    " LIMIT {most:UInt32}"
)
_HOSTS: Final = "SELECT DISTINCT src_node_sn FROM anomalies_unique WHERE incident_id = {id:String}"
_LAYERS: Final = "SELECT DISTINCT layer FROM anomalies_unique WHERE incident_id = {id:String}"
_POINTS: Final = (
    "SELECT toUnixTimestamp(window_start) AS at, path_id IN bad AS is_bad,"  # noqa: S608  # fixed
    " sum(sent) AS all_sent, sum(lost) AS all_lost, quantile(0.5)(rtt_p50_us) AS p50"
    " FROM path_windows_latest"
    " WHERE fabric = {fabric:String} AND window_start >= toDateTime({since:Int64})"
    " AND window_start < toDateTime({until:Int64})"
    " AND toUnixTimestamp(window_start) % {step:UInt32} = 0"
    f" AND layer IN ({_LAYERS}) AND (path_id IN bad OR src_node_sn IN ({_HOSTS}))"
    " GROUP BY at, is_bad ORDER BY at, is_bad"
)


def series(store: Store, incident: Incident, now_s: float) -> Series:
    """Points of the incident's time, of ten minutes before it and two after it."""
    opened_s = seconds_of(incident.opened_at)
    ended_s = now_s if incident.closed_at is None else seconds_of(incident.closed_at)
    since = int(opened_s - _BEFORE_S) // _STEP_S * _STEP_S
    until = int(min(ended_s + _AFTER_S, now_s, since + _LONGEST_S))
    step = _STEP_S * max(1, math.ceil((until - since) / _STEP_S / _MOST_POINTS))
    rows = store.rows(
        f"WITH bad AS ({_BAD}) {_POINTS}",  # fixed fragments
        {
            "id": incident.incident_id, "fabric": incident.fabric, "most": _MOST_PATHS,
            "since": since, "until": max(until, since), "step": step,
        },
    )  # fmt: skip
    times = sorted({int(row["at"]) for row in rows})
    return Series(
        opened_s=opened_s,
        closed_s=None if incident.closed_at is None else ended_s,
        step_s=step,
        times=times,
        bad=_path_series(times, [row for row in rows if row["is_bad"]]),
        others=_path_series(times, [row for row in rows if not row["is_bad"]]),
    )


def _path_series(times: list[int], rows: list[dict[str, Any]]) -> PathSeries:
    known = {int(row["at"]): row for row in rows}
    if not known:
        return _NONE
    sent, loss, rtt = [], [], []
    for at in times:
        row = known.get(at)
        probes = int(row["all_sent"]) if row else 0
        sent.append(probes)
        loss.append(int(row["all_lost"]) / probes if row and probes else None)
        rtt.append(finite(row["p50"]) if row else None)
    return PathSeries(sent, loss, rtt)
