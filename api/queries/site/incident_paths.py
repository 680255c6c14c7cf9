"""Bad and good paths of an incident, with the switches that traceroutes showed on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from api.documents import finite
from api.queries.database import Store
from api.queries.site import marks
from api.queries.site.first_minute import ONCE, first_minute
from api.site_documents import DrawnPath, IncidentPaths
from schemas import identity
from schemas.documents.incident import Incident

#: Paths of each sort that are drawn, and among how many they are chosen: traced ones first.
_DRAWN: Final = 16
_CHOSEN: Final = 96
#: Agents trace a five-tuple now and then: the route is looked for so long around the beginning.
_TRACED_S: Final = 900
_BAD_IDS: Final = "SELECT path_id FROM anomalies WHERE incident_id = {id:String}"
_BAD_COUNT: Final = "SELECT uniqExact(path_id) AS n FROM anomalies WHERE incident_id = {id:String}"
_LAYERS: Final = "SELECT layer FROM anomalies WHERE incident_id = {id:String}"
_HOSTS: Final = "SELECT src_node_sn FROM anomalies WHERE incident_id = {id:String}"
#: A column of the table may not have the name of a column of the result.
_COLUMNS: Final = (
    "layer", "src_node_id", "src_ip", "src_real_ip", "src_asw", "dst_node_id", "dst_ip",
    "dst_real_ip", "dst_asw", "src_port", "dst_port",
)  # fmt: skip
#: Windows that were written twice count twice: shares and medians are the same.
_PATHS: Final = (
    "SELECT path_id, "  # noqa: S608  # fixed
    + ", ".join(f"any({name}) AS its_{name}" for name in _COLUMNS)
    + ", sum(sent) AS all_sent, sum(lost) AS all_lost, quantile(0.5)(rtt_p50_us) AS p50"
    " FROM path_windows WHERE fabric = {fabric:String}"
    " AND window_start >= toDateTime({since:Int64}) AND window_start < toDateTime({until:Int64})"
    f" AND {ONCE}"
)
_BAD: Final = (
    f"{_PATHS} AND path_id IN ({_BAD_IDS}) GROUP BY path_id"
    " ORDER BY all_lost / greatest(all_sent, 1) DESC, path_id LIMIT {most:UInt32}"
)
_GOOD: Final = (
    f"{_PATHS} AND path_id NOT IN ({_BAD_IDS}) AND src_node_sn IN ({_HOSTS})"
    f" AND layer IN ({_LAYERS}) GROUP BY path_id"
    " ORDER BY all_lost / greatest(all_sent, 1), path_id LIMIT {most:UInt32}"
)
_ROUTES: Final = (
    "SELECT path_id, argMax(route, ping_time) AS hops FROM pings"
    " WHERE ping_time >= toDateTime({since:Int64}) AND ping_time < toDateTime({until:Int64})"
    " AND task_type = 'TRACEROUTE' AND path_id IN {ids:Array(UInt64)} AND route != ''"
    " AND position(route, 'null') = 0 GROUP BY path_id"
)


def incident_paths(
    store: Store, incident: Incident, names: Mapping[str, str] | None = None
) -> IncidentPaths:
    """Paths of the incident's first minute, traced ones first.

    names  address of a switch, as traceroutes show it -> its name
    """
    at, until = first_minute(incident)
    values = {
        "id": incident.incident_id, "fabric": incident.fabric, "most": _CHOSEN,
        "since": at, "until": until,
    }  # fmt: skip
    bad = store.rows(_BAD, values)
    good = store.rows(_GOOD, values) if bad else []
    (count,) = store.rows(_BAD_COUNT, {"id": incident.incident_id})
    routes = {
        path: [(names or {}).get(hop, hop) for hop in hops]
        for path, hops in _routes(store, incident.fabric, [*bad, *good], at).items()
    }
    return IncidentPaths(
        incident=marks.one(store, incident), bad=_drawn(bad, routes), good=_drawn(good, routes),
        bad_total=int(count["n"]),
    )  # fmt: skip


def _drawn(rows: list[dict[str, Any]], routes: dict[int, list[str]]) -> list[DrawnPath]:
    paths = [_path(row, routes.get(int(row["path_id"]))) for row in rows]
    return sorted(paths, key=lambda path: not path.traced)[:_DRAWN]


def _path(row: dict[str, Any], route: list[str] | None) -> DrawnPath:
    ends = [name for name in dict.fromkeys((row["its_src_asw"], row["its_dst_asw"])) if name]
    return DrawnPath(
        src=row["its_src_real_ip"], dst=row["its_dst_real_ip"], layer=row["its_layer"],
        hops=ends if route is None else route, traced=route is not None,
        sent=int(row["all_sent"]), lost=int(row["all_lost"]), rtt_us=finite(row["p50"]),
    )  # fmt: skip


def _routes(store: Store, fabric: str, rows: list[dict[str, Any]], at: int) -> dict[int, list[str]]:
    """path_id -> hops, of paths whose own five-tuple was traced along or back."""
    if not rows:
        return {}
    along, back = _trace_ids(fabric, rows, "src", "dst"), _trace_ids(fabric, rows, "dst", "src")
    found = {
        int(row["path_id"]): _hops(row["hops"])
        for row in store.rows(
            _ROUTES,
            {"ids": [*along, *back], "since": at - _TRACED_S, "until": at + _TRACED_S},
        )
    }
    routes = {}
    for row, there, again in zip(rows, along, back, strict=True):
        hops = found.get(there) or found.get(again, [])[::-1]
        if hops:
            routes[int(row["path_id"])] = hops
    return routes


def _trace_ids(fabric: str, rows: list[dict[str, Any]], src: str, dst: str) -> list[int]:
    """path_ids that traceroutes of the same five-tuples have."""
    columns: dict[str, Any] = {
        "src_idc": [fabric] * len(rows),
        "agent_type": [row["its_layer"] for row in rows],
        "task_type": ["TRACEROUTE"] * len(rows),
    }
    for side, ours in (("src", src), ("dst", dst)):
        for name in ("node_id", "ip"):
            columns[f"{side}_{name}"] = [row[f"its_{ours}_{name}"] for row in rows]
        ports = [int(row[f"its_{ours}_port"]) for row in rows]
        columns[f"{side}_port"] = pa.array(ports, pa.int32())
    return [int(each) for each in identity.path_ids(pa.RecordBatch.from_pydict(columns))]


def _hops(route: str) -> list[str]:
    try:
        hops = json.loads(route)
    except ValueError:
        return []
    return [str(each) for each in hops if each] if isinstance(hops, list) else []
