"""The ping record: 45 columns, the result of one burst of probes on one five-tuple path.

Names and units are those of the published ``samples.csv``. This module is data only and imports
nothing large, because the agent on a training host uses it too.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DIALS: Final = ("success", "timeout", "refused", "unreachable", "error")
TASK_TYPES: Final = ("RDMA_PING", "TCP_PING", "UDP_PING", "ICMP_PING", "TRACEROUTE")
#: Those that the peer's kernel answers: such an answer says nothing of an agent.
AGENTLESS: Final = ("TCP_PING", "ICMP_PING")
LAYERS: Final = ("overlay", "underlay")
DEFAULT_FABRIC: Final = "default"


class Column(NamedTuple):
    """One column of the record: its name, type on the wire and meaning."""

    name: str
    type: str  # "string" | "float64" | "int64" | "int32"
    doc: str


_ENDPOINT = (
    ("asw", "access switch (the ToR) of the endpoint's rnic"),
    ("cluster_id", "cluster id"),
    ("cluster_name", "cluster name"),
    ("dsw", "distribution switch above the ToR"),
    ("idc", "data centre; names the fabric, empty means 'default'"),
    ("ip", "address of the container's endpoint"),
    ("logic_site", "logical site"),
    ("node_id", "container id"),
    ("node_sn", "host serial number"),
    ("pod", "pod (point of delivery) of the host"),
    ("port", "UDP/TCP port or queue pair's source port of the five-tuple"),
    ("real_ip", "address of the host's rnic"),
    ("region_id", "region id"),
    ("region_name", "region name"),
    ("security_domain", "security domain (source only)"),
    ("tenant_id", "tenant of the container (source: also spelt tenant_id)"),
    ("zone_id", "zone id"),
)


def _ends() -> list[Column]:
    return [
        Column(f"{end}_{name}", "int32" if name == "port" else "string", f"{who}: {doc}")
        for end, who in (("src", "source"), ("dst", "destination"))
        for name, doc in _ENDPOINT
        if (end, name) != ("dst", "security_domain")
    ]


_OTHERS = [
    Column("agent_type", "string", "layer of the probe: overlay | underlay"),
    Column("dial", "string", "outcome: success | timeout | refused | unreachable | error"),
    Column("dscp", "int32", "DSCP of the probe, 0..63"),
    Column("extra_stats", "string", "JSON object of EXTRA_STATS, all keys optional"),
    Column("host_ip", "string", "management address of the source host"),
    Column(
        "latency",
        "float64",
        "round-trip time [us]; null without an answer",
    ),
    Column("loss_rate", "float64", "share of the record's probes that were lost, 0..1"),
    Column("ping_time", "int64", "send time of the first probe [ns since the epoch]"),
    Column("ptp_ts", "int64", "PTP time stamp [ns], where the host has PTP"),
    Column("route", "string", "JSON array of hop names in order, null for a silent hop"),
    Column("task_start_time", "int64", "start of the probe round [ns since the epoch]"),
    Column("task_type", "string", " | ".join(TASK_TYPES)),
]

#: The 45 columns in the order of samples.csv (alphabetical).
COLUMNS: Final[tuple[Column, ...]] = tuple(sorted([*_OTHERS, *_ends()]))
NAMES: Final[tuple[str, ...]] = tuple(column.name for column in COLUMNS)

#: Columns without which a record is rejected (a dead letter).
REQUIRED: Final = ("agent_type", "dial", "dst_ip", "ping_time", "src_ip", "task_type")

#: Older names of columns that readers accept.
ALIASES: Final = {"tenant_id": "src_tenant_id"}

#: Keys of extra_stats. In memory and in ClickHouse they are typed columns of these names; Arrow
#: and Parquet producers may send them as columns of their own, which saves parsing JSON text.
EXTRA_STATS: Final[tuple[Column, ...]] = (
    Column("sent", "int32", "probes in this record's burst; 1 when absent"),
    Column("lost", "int32", "probes of the burst without an answer; loss_rate x sent when absent"),
    Column("jitter_us", "float64", "mean difference of consecutive round trips in the burst [us]"),
    Column("p50_us", "float64", "median round trip in the burst [us]"),
    Column("p99_us", "float64", "99th percentile round trip in the burst [us]"),
    Column("prober_delay_us", "float64", "time the prober itself added [us]"),
    Column("responder_delay_us", "float64", "time the responder added [us]"),
    Column("timestamp", "string", "where times were taken: hw | kernel | user"),
    Column("cpu_steal", "float64", "share of CPU time stolen from the prober, 0..1"),
)
