"""The panels of Grafana's dashboards: SQL with the macros of its ClickHouse source, or PromQL.

``$fabric`` is a variable of every dashboard (``%``: all fabrics), ``$job`` of the one that asks for
a job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Shape = Literal["table", "timeseries", "stat"]


@dataclass(frozen=True)
class Panel:
    """One panel; ``sql`` or ``promql`` is given.

    unit   Grafana's name of the unit
    about  what it shows, as a tool tip
    """

    title: str
    shape: Shape
    sql: str = ""
    promql: str = ""
    legend: str = ""
    unit: str = "none"
    about: str = ""
    width: int = 12
    height: int = 8


INCIDENTS: Final = [
    Panel(
        "Active incidents",
        "stat",
        width=6,
        height=4,
        promql="sum by (severity) (skh_incidents_active)",
        legend="{{severity}}",
        about="Not resolved, without those that another incident explains.",
    ),
    Panel(
        "Seconds to detection, median",
        "stat",
        width=6,
        height=4,
        unit="s",
        sql="SELECT median(dateDiff('millisecond', opened_at, detected_at)) / 1000 AS seconds "
        "FROM incidents_latest WHERE $__timeFilter(opened_at) AND fabric LIKE '$fabric' "
        "AND parent = ''",
        about="From the first bad second to the verdict, of incidents opened in this time.",
    ),
    Panel(
        "Incidents opened",
        "timeseries",
        height=4,
        sql="SELECT $__timeInterval(opened_at) AS time, severity, count() AS incidents "
        "FROM incidents_latest WHERE $__timeFilter(opened_at) AND fabric LIKE '$fabric' "
        "AND parent = '' GROUP BY time, severity ORDER BY time, severity",
    ),
    Panel(
        "What is wrong now",
        "table",
        width=24,
        height=8,
        sql="SELECT severity, component, symptom, issue_type, round(confidence, 2) AS confidence, "
        "opened_at, arrayStringConcat(jobs, ', ') AS jobs, "
        "arrayStringConcat(tie_set, ', ') AS tie_set, explanation, incident_id "
        "FROM incidents_latest WHERE state != 'resolved' AND parent = '' "
        "AND fabric LIKE '$fabric' ORDER BY severity, opened_at DESC LIMIT 100",
        about="One row for each cause; tie_set: what probes cannot tell apart.",
    ),
    Panel(
        "Components with most incidents",
        "table",
        height=9,
        sql="SELECT component, count() AS incidents, countIf(severity = 'P0') AS p0, "
        "round(sum(dateDiff('second', opened_at, coalesce(closed_at, now64(6)))) / 60) AS minutes, "
        "max(opened_at) AS last_opened FROM incidents_latest "
        "WHERE $__timeFilter(opened_at) AND fabric LIKE '$fabric' AND parent = '' "
        "GROUP BY component ORDER BY incidents DESC, minutes DESC, component LIMIT 20",
        about="What to replace: repeat offenders in this time.",
    ),
    Panel(
        "By issue type",
        "table",
        height=9,
        sql="SELECT if(issue_type = '', 'unknown', issue_type) AS issue_type, layer, "
        "count() AS incidents, uniqExact(component) AS components FROM incidents_latest "
        "WHERE $__timeFilter(opened_at) AND fabric LIKE '$fabric' AND parent = '' "
        "GROUP BY issue_type, layer ORDER BY incidents DESC, issue_type",
    ),
]
_MINUTES: Final = "FROM path_minutes WHERE $__timeFilter(minute) AND fabric LIKE '$fabric' "
FABRIC: Final = [
    Panel(
        "Loss",
        "timeseries",
        unit="percentunit",
        sql="SELECT $__timeInterval(minute) AS time, layer, sum(lost) / sum(sent) AS loss "
        f"{_MINUTES} GROUP BY time, layer HAVING sum(sent) > 0 ORDER BY time, layer",
        about="Lost probes of all probes, by layer.",
    ),
    Panel(
        "Round trip, median of paths",
        "timeseries",
        unit="µs",
        sql="SELECT $__timeInterval(minute) AS time, layer, "
        "quantile(0.5)(rtt_p50_us) AS p50, quantile(0.99)(rtt_p50_us) AS p99 "
        f"{_MINUTES} GROUP BY time, layer ORDER BY time, layer",
        about="p50 and p99 over paths, of each path's median.",
    ),
    Panel(
        "Worst ToR pairs",
        "table",
        height=10,
        sql="SELECT src_asw, dst_asw, sum(sent) AS probes, sum(lost) AS lost_probes, "
        "round(sum(lost) / sum(sent), 5) AS loss, round(quantile(0.5)(rtt_p50_us), 1) AS p50_us "
        f"{_MINUTES} GROUP BY src_asw, dst_asw HAVING probes > 0 "
        "ORDER BY loss DESC, p50_us DESC, src_asw, dst_asw LIMIT 50",
    ),
    Panel(
        "Worst rnics",
        "table",
        height=10,
        sql="SELECT rnic, sum(sent) AS probes, sum(lost) AS lost_probes, "  # noqa: S608  # fixed
        "round(sum(lost) / sum(sent), 5) AS loss FROM (SELECT sent, lost, "
        f"arrayJoin([src_real_ip, dst_real_ip]) AS rnic {_MINUTES}) "
        "GROUP BY rnic HAVING probes > 0 ORDER BY loss DESC, rnic LIMIT 50",
        about="Loss of the paths from and to an rnic.",
    ),
    Panel(
        "Paths and source hosts",
        "timeseries",
        sql="SELECT $__timeInterval(minute) AS time, uniqExact(path_id) AS paths, "
        f"uniqExact(src_node_sn) AS source_hosts {_MINUTES} GROUP BY time ORDER BY time",
    ),
    Panel(
        "Not covered",
        "table",
        sql="SELECT fabric, at, components, uncovered, untraced, "
        "arrayStringConcat(arraySlice(uncovered_names, 1, 20), ', ') AS names "
        "FROM coverage FINAL WHERE fabric LIKE '$fabric' ORDER BY at DESC LIMIT 1 BY fabric",
        about="Components that no judged probe crosses: their faults are not seen.",
    ),
]
_RAIL: Final = "ifNull(toString(src_rail), 'unknown') AS rail"
_TRAFFIC: Final = "FROM throughput_minutes WHERE $__timeFilter(minute) AND fabric LIKE '$fabric' "
FABRIC += [
    Panel(
        "Loss by rail",
        "timeseries",
        unit="percentunit",
        sql="SELECT $__timeInterval(minute) AS time, "  # noqa: S608  # fixed
        "ifNull(toString(r.rail), 'unknown') AS rail, sum(m.lost) / sum(m.sent) AS loss "
        "FROM (SELECT minute, fabric, src_real_ip, sent, lost "
        f"{_MINUTES}) AS m LEFT JOIN rnic_rails AS r "
        "ON r.fabric = m.fabric AND r.rnic = m.src_real_ip "
        "GROUP BY time, rail HAVING sum(m.sent) > 0 ORDER BY time, rail",
        about="By the rail of the source; unknown: its rnic is in no topology document.",
    ),
    Panel(
        "Traffic of all rnics",
        "timeseries",
        unit="Bps",
        sql="SELECT $__timeInterval(minute) AS time, sum(tx_bytes_per_s) "
        "/ uniqExact(minute) AS sent, sum(rx_bytes_per_s) / uniqExact(minute) AS received "
        f"{_TRAFFIC}GROUP BY time ORDER BY time",
        about="Bytes a second, as port counters of hosts show them.",
    ),
    Panel(
        "Busiest rnics",
        "table",
        sql="SELECT component, node_sn, round(avg(tx_bytes_per_s)) AS tx_bytes_per_s, "
        "round(avg(rx_bytes_per_s)) AS rx_bytes_per_s, max(tx_max_bytes_per_s) AS tx_max, "
        "max(rx_max_bytes_per_s) AS rx_max, sum(seconds) AS seconds "
        f"{_TRAFFIC}GROUP BY component, node_sn "
        "ORDER BY tx_bytes_per_s DESC, component LIMIT 20",
        about="Means over the seconds that were measured.",
    ),
    Panel(
        "What counters of ports counted",
        "table",
        sql="SELECT kind, counter, component, node_sn, device, sum(gained) AS gained, "
        "max(until) AS last_read FROM port_counter_gains "
        "WHERE $__timeFilter(until) AND fabric LIKE '$fabric' AND kind != 'other' "
        "GROUP BY kind, counter, component, node_sn, device "
        "ORDER BY gained DESC, counter, device LIMIT 50",
        about="Read when an incident asks a host for them, so no row is no proof of a clean port.",
    ),
]
_JOB: Final = "FROM job_path_minutes WHERE $__timeFilter(minute) AND job = '$job' "
_JOB_TRAFFIC: Final = "FROM job_throughput_minutes WHERE $__timeFilter(minute) AND job = '$job' "
JOBS: Final = [
    Panel(
        "Loss by rail",
        "timeseries",
        unit="percentunit",
        sql=f"SELECT $__timeInterval(minute) AS time, {_RAIL}, sum(lost) / sum(sent) AS loss "
        f"{_JOB}GROUP BY time, rail HAVING sum(sent) > 0 ORDER BY time, rail",
        about="Probes from and to the job, by the rail of the source.",
    ),
    Panel(
        "Round trip by rail, median of paths",
        "timeseries",
        unit="µs",
        sql=f"SELECT $__timeInterval(minute) AS time, {_RAIL}, "
        f"quantile(0.5)(rtt_p50_us) AS p50 {_JOB}GROUP BY time, rail ORDER BY time, rail",
    ),
    Panel(
        "Sent by rail",
        "timeseries",
        unit="Bps",
        sql="SELECT $__timeInterval(minute) AS time, ifNull(toString(rail), 'unknown') AS rail, "
        f"sum(tx_bytes_per_s) / uniqExact(minute) AS sent {_JOB_TRAFFIC}"
        "GROUP BY time, rail ORDER BY time, rail",
        about="A rail that sends less than the others waits or is broken.",
    ),
    Panel(
        "Incidents of the job",
        "table",
        sql="SELECT severity, state, component, symptom, opened_at, closed_at, incident_id "
        "FROM incidents_latest WHERE $__timeFilter(opened_at) AND has(jobs, '$job') "
        "AND parent = '' ORDER BY opened_at DESC LIMIT 50",
    ),
    Panel(
        "Worst paths",
        "table",
        height=10,
        sql="SELECT src_real_ip, dst_real_ip, src_port, layer, src_rail, dst_rail, "
        "sum(sent) AS probes, sum(lost) AS lost_probes, "
        "round(sum(lost) / sum(sent), 5) AS loss, round(max(rtt_p50_us), 1) AS p50_us "
        f"{_JOB}GROUP BY src_real_ip, dst_real_ip, src_port, layer, src_rail, dst_rail "
        "HAVING probes > 0 ORDER BY loss DESC, p50_us DESC, src_real_ip, dst_real_ip LIMIT 50",
    ),
    Panel(
        "Slowest rnics",
        "table",
        height=10,
        sql="SELECT component, node_sn, rail, round(avg(tx_bytes_per_s)) AS tx_bytes_per_s, "
        "round(avg(rx_bytes_per_s)) AS rx_bytes_per_s, max(tx_max_bytes_per_s) AS tx_max "
        f"{_JOB_TRAFFIC}GROUP BY component, node_sn, rail "
        "ORDER BY tx_bytes_per_s, component LIMIT 50",
        about="Rnics of the job that sent least.",
    ),
]
PIPELINE: Final = [
    Panel(
        "Verdicts behind",
        "timeseries",
        unit="s",
        promql="skh_stream_lag_seconds",
        legend="{{instance}}",
        about="Beyond the lateness of SKH_LATENESS_S.",
    ),
    Panel(
        "Records by outcome",
        "timeseries",
        unit="rowsps",
        legend="{{outcome}}",
        promql="sum by (outcome) (rate(skh_stream_records_total[1m]))",
    ),
    Panel(
        "Waiting to be stored",
        "timeseries",
        promql="sum by (topic) (skh_sink_lag_messages)",
        legend="{{topic}}",
    ),
    Panel(
        "Rows stored",
        "timeseries",
        unit="rowsps",
        legend="{{table}}",
        promql="sum by (table) (rate(skh_sink_rows_total[1m]))",
    ),
    Panel(
        "Refused, missing, dead letters",
        "timeseries",
        legend="{{__name__}} {{topic}}{{reason}}",
        promql='increase({__name__=~"skh_stream_refused_total|skh_stream_dead_letters_total|'
        "skh_sink_dead_letters_total|skh_stream_missing_messages_total|"
        'skh_sink_missing_messages_total"}[5m])',
    ),
    Panel(
        "Agents late",
        "timeseries",
        unit="s",
        legend="{{instance}}",
        promql="topk(10, skh_agent_scheduling_delay_seconds)",
        about="The ten agents whose timers are latest.",
    ),
    Panel(
        "Why records could not be used",
        "table",
        width=24,
        sql="SELECT topic, column, replaceRegexpAll(reason, '[0-9]+', 'N') AS why, "
        "sum(count) AS records, max(ingested_at) AS last FROM dead_letters FINAL "
        "WHERE $__timeFilter(ingested_at) GROUP BY topic, column, why "
        "ORDER BY records DESC, topic, why LIMIT 50",
    ),
]
DASHBOARDS: Final = {
    "incidents": ("SkeletonHunter: incidents", INCIDENTS),
    "fabric": ("SkeletonHunter: fabric", FABRIC),
    "jobs": ("SkeletonHunter: jobs", JOBS),
    "pipeline": ("SkeletonHunter: pipeline", PIPELINE),
}
