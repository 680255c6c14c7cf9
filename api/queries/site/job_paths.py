"""Containers of a job, and the windows of its paths, for the queries about jobs."""

from __future__ import annotations

from typing import Final

from api.queries.database import Store

#: What is recent, and for how long curves are [s].
RECENT_S: Final = 300
SERIES_S: Final = 3600
#: The newest word on each container: of skh.placement, else of the topology document.
_PLACED: Final = (
    "SELECT fabric, node_id, argMax(p.node_sn, valid_from) AS host,"
    " argMax(p.state, valid_from) AS phase, argMax(p.job, valid_from) AS work,"
    " argMax(p.tenant, valid_from) AS owner, argMax(p.rnics, valid_from) AS ports"
    " FROM placement AS p GROUP BY fabric, node_id"
)
_DRAWN: Final = (
    "SELECT fabric, name AS node_id, host, 'ready' AS phase, job AS work, tenant AS owner,"
    " rnics AS ports FROM topology_components FINAL WHERE kind = 'container'"
    " AND (fabric, valid_from) IN (SELECT fabric, max(valid_from) FROM topology_components"
    " WHERE valid_from <= now64(3) GROUP BY fabric)"
    " AND (fabric, node_id) NOT IN (SELECT fabric, node_id FROM placement)"
)
CONTAINERS: Final = f"({_PLACED} UNION ALL {_DRAWN})"
_IDS: Final = f"SELECT fabric, node_id FROM {CONTAINERS} WHERE work = {{job:String}}"  # noqa: S608  # fixed
#: Windows that were written twice count twice: shares and medians are the same.
PATHS: Final = (
    f"FROM path_windows AS w WHERE ((fabric, src_node_id) IN ({_IDS})"
    f" OR (fabric, dst_node_id) IN ({_IDS})) AND toUnixTimestamp(window_start) % 30 = 0"
    " AND window_start >= toDateTime({since:Int64}) AND window_start < toDateTime({until:Int64})"
)
_NEWEST: Final = (
    "SELECT toUnixTimestamp(max(window_end)) AS newest, count() AS n FROM path_windows"  # noqa: S608  # fixed
    f" WHERE ingested_at > now() - {SERIES_S} AND (fabric, src_node_id) IN ({_IDS})"
)


def newest(store: Store, name: str) -> int | None:
    """End of the newest half minute of a job's paths [s since the epoch]; None: none is stored."""
    (row,) = store.rows(_NEWEST, {"job": name})
    return int(row["newest"]) // 30 * 30 if int(row["n"]) else None
