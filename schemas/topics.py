"""Every Kafka edge as data: created, consumed, drawn and documented from this one table."""

from __future__ import annotations

from typing import Final, NamedTuple

ARROW: Final = "application/vnd.apache.arrow.stream"
NDJSON: Final = "application/x-ndjson"
JSON: Final = "application/json"
CSV: Final = "text/csv"
CONTENT_TYPE: Final = "content-type"  # name of the message header


class Topic(NamedTuple):
    """An edge. ``compacted`` topics keep the newest document per key for ever."""

    name: str
    key: str
    payload: str
    producer: str
    consumers: tuple[str, ...]
    partitions: int
    compacted: bool = False


PINGS: Final = Topic(
    "skh.pings", "src node_sn", "ping records: Arrow stream, NDJSON or CSV (header content-type)",
    "probers", ("streams.ingest", "streams.sink.sink"), 4,
)  # fmt: skip
HEARTBEATS: Final = Topic(
    "skh.heartbeats", "node_sn", "JSON heartbeat", "probers", ("streams.heartbeats",), 4
)
THROUGHPUT: Final = Topic(
    "skh.throughput", "src node_sn", "rnic tx/rx bytes per second", "probers", ("controller",), 4
)
WINDOWS: Final = Topic(
    "skh.windows", "fabric", "Arrow chunks of closed panes and windows; heartbeats; punctuations",
    "streams.ingest", ("streams.localize.stage", "streams.sink.sink"), 4,
)  # fmt: skip
ANOMALIES: Final = Topic(
    "skh.anomalies",
    "path_id",
    "JSON anomaly",
    "streams.localize.stage",
    ("consumers", "streams.sink.sink"),
    4,
)
INCIDENTS: Final = Topic(
    "skh.incidents", "incident_id", "JSON incident, whole document per state change",
    "streams.localize.stage", ("consumers", "api", "streams.sink.sink"), 4, compacted=True,
)  # fmt: skip
TOPOLOGY: Final = Topic(
    "skh.topology",
    "fabric",
    "JSON topology",
    "controller",
    ("streams.localize.stage",),
    1,
    compacted=True,
)
PLACEMENT: Final = Topic(
    "skh.placement", "container", "JSON placement", "controller", ("streams.localize.stage",), 4,
    compacted=True,
)  # fmt: skip
MAINTENANCE: Final = Topic(
    "skh.maintenance", "component and from", "JSON maintenance", "people",
    ("streams.localize.stage",), 1,
    compacted=True,
)  # fmt: skip
DEAD_LETTER: Final = Topic(
    "skh.dead-letter", "source topic", "raw bytes; headers reason, topic, partition, offset",
    "any", ("people", "streams.sink.sink"), 1,
)  # fmt: skip

ALL: Final = (
    PINGS, HEARTBEATS, THROUGHPUT, WINDOWS, ANOMALIES, INCIDENTS, TOPOLOGY, PLACEMENT, MAINTENANCE,
    DEAD_LETTER,
)  # fmt: skip
