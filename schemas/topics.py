"""Every Kafka topic as data: created, listed and documented from this table."""

from __future__ import annotations

from typing import Final, NamedTuple

ARROW: Final = "application/vnd.apache.arrow.stream"
NDJSON: Final = "application/x-ndjson"
JSON: Final = "application/json"
CSV: Final = "text/csv"
CONTENT_TYPE: Final = "content-type"  # name of the message header
SPOOLED: Final = "spooled"  # header of a message that its sender had kept on disk for a while

#: Producers and consumers that are no modules of this repository.
OPERATORS: Final = "operators"
SUBSCRIBERS: Final = "subscribers"


class Topic(NamedTuple):
    """A topic and the modules at its ends.

    key         what the message key holds
    producer    module or package that writes it, or OPERATORS
    consumers   modules or packages that read it, OPERATORS, or SUBSCRIBERS (any program)
    partitions  number of partitions when ``topics --create`` makes it
    compacted   the broker keeps the newest document of each key for ever
    kept_s      for so long it keeps the older ones too; of a topic that is not compacted, all
                documents [s]; 0: as long as the broker is configured to
    kept_bytes  of each partition at most, where it is not compacted [B]; 0: as configured
    """

    name: str
    key: str
    payload: str
    producer: str
    consumers: tuple[str, ...]
    partitions: int
    compacted: bool = False
    kept_s: int = 0
    kept_bytes: int = 0


PINGS: Final = Topic(
    "skh.pings", "src node_sn", "ping records: Arrow stream, NDJSON or CSV (header content-type)",
    "probers.publishing", ("streams.ingest", "streams.sink.sink"), 4,
)  # fmt: skip
HEARTBEATS: Final = Topic(
    "skh.heartbeats", "node_sn", "JSON heartbeat", "probers.publishing",
    ("streams.heartbeats", "streams.sink.sink"), 4,
)  # fmt: skip
THROUGHPUT: Final = Topic(
    "skh.throughput", "src node_sn",
    "rnic tx/rx bytes per second: Arrow stream or NDJSON (header content-type)",
    "probers.throughput", ("streams.readers.throughput_feed", "controller",
                           "streams.sink.sink"), 4,
)  # fmt: skip
WINDOWS: Final = Topic(
    "skh.windows", "fabric", "Arrow chunks of closed panes and windows; heartbeats; punctuations",
    "streams.ingest", ("streams.localize.stage", "streams.sink.sink"), 4,
)  # fmt: skip
ANOMALIES: Final = Topic(
    "skh.anomalies", "path_id", "JSON anomaly",
    "streams.localize.stage", (SUBSCRIBERS, "streams.sink.sink"), 4,
)  # fmt: skip
INCIDENTS: Final = Topic(
    "skh.incidents", "incident_id", "JSON incident, whole document per state change",
    "streams.localize.stage", (SUBSCRIBERS, "streams.readers.incidents", "streams.sink.sink",
                              "controller", "notifier.service"), 4,
    compacted=True,
)  # fmt: skip
#: Older documents are kept as long as somebody may judge their time again from skh.windows.
TOPOLOGY: Final = Topic(
    "skh.topology", "fabric", "JSON topology",
    OPERATORS, ("streams.readers.operator_feed", "controller", "streams.sink.sink"), 1,
    compacted=True, kept_s=7 * 24 * 3600,
)  # fmt: skip
PLACEMENT: Final = Topic(
    "skh.placement", "container", "JSON placement",
    "controller", ("streams.readers.operator_feed", "controller", "streams.sink.sink"), 4,
    compacted=True,
)  # fmt: skip
JOBS: Final = Topic(
    "skh.jobs", "job", "JSON job",
    "controller", ("controller", "streams.sink.sink"), 1, compacted=True,
)  # fmt: skip
SKELETONS: Final = Topic(
    "skh.skeletons", "fabric and job", "JSON skeleton: the last inference, used or declined",
    "controller", (SUBSCRIBERS, "streams.sink.sink"), 1, compacted=True,
)  # fmt: skip
MAINTENANCE: Final = Topic(
    "skh.maintenance", "fabric, component and from", "JSON maintenance",
    OPERATORS, ("streams.readers.operator_feed", "controller"), 1, compacted=True,
)  # fmt: skip
#: The record of what agents were asked; a controller that starts goes on with what holds.
REQUESTS: Final = Topic(
    "skh.requests", "request_id", "JSON request to a host's agent",
    "controller", ("streams.readers.request_feed", "controller", OPERATORS), 1,
    kept_s=7 * 24 * 3600, kept_bytes=256 * 1024 * 1024,
)  # fmt: skip
EVIDENCE: Final = Topic(
    "skh.evidence", "node_sn", "JSON evidence: results of a request, and how it ended",
    "probers.requests",
    ("streams.readers.request_feed", "streams.readers.host_evidence", "controller",
     "streams.sink.sink", SUBSCRIBERS), 4,
    kept_s=7 * 24 * 3600, kept_bytes=1024 * 1024 * 1024,
)  # fmt: skip
COVERAGE: Final = Topic(
    "skh.coverage", "fabric", "JSON coverage: what judged probes cross of the topology",
    "streams.localize.stage", (SUBSCRIBERS, "streams.sink.sink", "notifier.service"), 1,
    compacted=True,
)  # fmt: skip
#: One partition: what a channel has heard is in order with where reading goes on.
NOTIFIED: Final = Topic(
    "skh.notified", "incident:<incident_id>, or positions",
    "JSON, the notifier's own: what each channel has heard of an incident; where reading goes on",
    "notifier.feed.sent_log", ("notifier.feed.sent_log",), 1, compacted=True,
)  # fmt: skip
DEAD_LETTER: Final = Topic(
    "skh.dead-letter", "source topic", "raw bytes; headers reason, topic, partition, offset",
    "streams.dead_letters", (OPERATORS, "streams.sink.sink"), 1,
)  # fmt: skip

ALL: Final = (
    PINGS, HEARTBEATS, THROUGHPUT, WINDOWS, ANOMALIES, INCIDENTS, TOPOLOGY, PLACEMENT, JOBS,
    SKELETONS, MAINTENANCE, REQUESTS, EVIDENCE, COVERAGE, NOTIFIED,
    DEAD_LETTER,
)  # fmt: skip
