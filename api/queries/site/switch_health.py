"""Loss of the paths over each switch: over ToRs by what windows say, over the others by routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from api.documents import finite
from api.queries.database import Store
from api.queries.site.first_minute import ONCE

#: Agents trace a five-tuple now and then: its route is looked for so long around [s].
_TRACED_S: Final = 900
#: An rnic explains losses by itself where more than this share of its paths lose, while on less
#: than half of its ToR's rnics they do [1].
_DARK: Final = 0.8
#: Least loss of a path that counts as bad [1], as on the page.
_BAD: Final = 0.01
_TUPLE: Final = "src_ip, dst_ip, toUInt16(src_port), toUInt16(dst_port)"
_PATHS: Final = (
    "SELECT path_id, any(src_real_ip) AS src, any(dst_real_ip) AS dst, any(src_asw) AS src_tor,"  # noqa: S608  # fixed
    f" any(dst_asw) AS dst_tor, any(cityHash64(layer, {_TUPLE})) AS five_tuple,"
    " sum(w.sent) AS all_sent, sum(w.lost) AS all_lost, quantile(0.5)(w.rtt_p50_us) AS p50"
    " FROM path_windows AS w WHERE fabric = {fabric:String}"
    " AND window_start >= toDateTime({since:Int64}) AND window_start < toDateTime({until:Int64})"
    f" AND {ONCE} GROUP BY path_id"
)
#: A traceroute that a fault cut short does not replace a whole one.
_ROUTES: Final = (
    f"SELECT cityHash64(agent_type, {_TUPLE}) AS five_tuple,"  # noqa: S608  # fixed
    " argMax(route, (dial IN ('success', 'refused'), ping_time)) AS newest,"
    " arrayFilter(hop -> hop != '', JSONExtract(newest, 'Array(String)')) AS hops"
    " FROM pings WHERE task_type = 'TRACEROUTE' AND route NOT IN ('', 'null')"
    " AND toStartOfHour(ping_time) >= toStartOfHour(toDateTime({traced_since:Int64}))"
    " AND ping_time >= toDateTime({traced_since:Int64})"
    " AND ping_time < toDateTime({traced_until:Int64})"
    " AND if(src_idc = '', 'default', src_idc) = {fabric:String} GROUP BY five_tuple"
)
_OWN: Final = (
    "SELECT rnic FROM (SELECT rnic, dark, avg(dark) OVER (PARTITION BY tor) AS share FROM"  # noqa: S608  # fixed
    f" (SELECT end.1 AS rnic, any(end.2) AS tor, avg(bad) > {_DARK} AS dark FROM"
    f" (SELECT arrayJoin([(src, src_tor), (dst, dst_tor)]) AS end, all_lost >= {_BAD} * all_sent"
    " AS bad FROM paths WHERE all_sent > 0) GROUP BY rnic)) WHERE dark AND share < 0.5"
)
_HEALTH: Final = (
    f"WITH paths AS ({_PATHS}), routes AS ({_ROUTES}), own AS ({_OWN})"  # noqa: S608  # fixed
    " SELECT arrayJoin(arrayDistinct(arrayConcat(arrayFilter(tor -> tor != '', [src_tor, dst_tor]),"
    " r.hops))) AS switch, sum(p.all_sent) AS probes, sum(p.all_lost) AS missed,"
    " quantile(0.5)(p.p50) AS rtt FROM paths AS p LEFT JOIN routes AS r"
    " ON p.five_tuple = r.five_tuple WHERE p.src NOT IN own AND p.dst NOT IN own"
    " GROUP BY switch HAVING probes > 0"
)


class SwitchHealth(NamedTuple):
    """Probes over a switch, those that were lost, and the median of its paths' round trips [us]."""

    sent: int
    lost: int
    rtt_us: float | None


UNKNOWN: Final = SwitchHealth(0, 0, None)


def switch_health(
    store: Store, fabric: str, since: int, until: int, names: Mapping[str, str]
) -> dict[str, SwitchHealth]:
    """Switch -> the health of the paths over it, without those that an rnic explains.

    names  address of a switch, as traceroutes show it -> its name
    """
    rows = store.rows(
        _HEALTH,
        {
            "fabric": fabric, "since": since, "until": until,
            "traced_since": since - _TRACED_S, "traced_until": until + _TRACED_S,
        },
    )  # fmt: skip
    found: dict[str, SwitchHealth] = {}
    for row in rows:
        name = names.get(row["switch"], row["switch"])
        new = SwitchHealth(int(row["probes"]), int(row["missed"]), finite(row["rtt"]))
        old = found.get(name, UNKNOWN)  # of another address of the same switch
        found[name] = SwitchHealth(
            old.sent + new.sent, old.lost + new.lost, max(old.rtt_us or 0, new.rtt_us or 0) or None
        )
    return found
