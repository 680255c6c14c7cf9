"""Every metric that the system exposes: name, type and meaning, in one place.

A package counts in plain numbers and hands out Samples; only the api knows Prometheus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple


class Metric(NamedTuple):
    """A name with its meaning. Counters end in ``_total`` and only rise while a process lives."""

    name: str
    type: Literal["counter", "gauge"]
    doc: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """A value of a metric now; ``labels`` are values in the order of ``metric.labels``."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


#: Called at each scrape, from the api's threads.
Source = Callable[[], Iterable[Sample]]

SINK_MESSAGES: Final = Metric(
    "skh_sink_messages_total", "counter", "Messages that the sink has read", ("topic",)
)
SINK_ROWS: Final = Metric(
    "skh_sink_rows_total", "counter", "Rows that ClickHouse has confirmed", ("table",)
)
SINK_INSERTS: Final = Metric(
    "skh_sink_inserts_total", "counter", "Insert statements that succeeded", ("table",)
)
SINK_INSERT_SECONDS: Final = Metric(
    "skh_sink_insert_seconds_total", "counter", "Time spent in successful inserts [s]"
)
SINK_INSERT_FAILURES: Final = Metric(
    "skh_sink_insert_failures_total", "counter",
    "Attempts to store a batch that failed and were repeated",
)  # fmt: skip
SINK_DEAD_LETTERS: Final = Metric(
    "skh_sink_dead_letters_total", "counter",
    "Messages or records that the sink could not use, by the topic they were in", ("topic",),
)  # fmt: skip
SINK_MISSING: Final = Metric(
    "skh_sink_missing_messages_total", "counter",
    "Messages that the broker had dropped before the sink read them (gaps in offsets)", ("topic",),
)  # fmt: skip
SINK_COMMIT_FAILURES: Final = Metric(
    "skh_sink_commit_failures_total", "counter",
    "Offset commits that failed; their messages are stored again, which changes nothing",
)  # fmt: skip
SINK_REBALANCES: Final = Metric(
    "skh_sink_rebalances_total", "counter", "Times that partitions were taken from this sink"
)
SINK_LAG: Final = Metric(
    "skh_sink_lag_messages", "gauge", "Messages in the broker that are not yet stored", ("topic",)
)
SINK_WAITING: Final = Metric(
    "skh_sink_waiting", "gauge", "1 while the sink waits for ClickHouse or the broker, else 0"
)
API_READY: Final = Metric("skh_api_ready", "gauge", "1 when /readyz would answer 200, else 0")
API_INCIDENTS: Final = Metric(
    "skh_incidents_active", "gauge", "Incidents not resolved, children left out", ("severity",)
)
API_PATHS: Final = Metric(
    "skh_paths_watched", "gauge", "Five-tuple paths with a window stored in the last five minutes"
)
STREAM_RECORDS: Final = Metric(
    "skh_stream_records_total", "counter",
    "Ping records taken in by this stream worker, by what became of them: judged, late, "
    "duplicate or dead_lettered; what a rebalance made it read again counts again", ("outcome",),
)  # fmt: skip
STREAM_HELD: Final = Metric(
    "skh_stream_records_held", "gauge", "Ping records in panes that have not closed yet"
)
STREAM_MESSAGES: Final = Metric(
    "skh_stream_messages_total", "counter", "Messages that this stream worker has read", ("topic",)
)
STREAM_MISSING: Final = Metric(
    "skh_stream_missing_messages_total", "counter",
    "Messages that the broker had dropped before the stream worker read them (gaps in offsets)",
    ("topic",),
)  # fmt: skip
STREAM_REPEATED: Final = Metric(
    "skh_stream_chunks_repeated_total", "counter",
    "Chunks of panes and windows that the localiser did not use: they were there already (after a "
    "restart), or came after their second had been judged",
)  # fmt: skip
STREAM_LAG: Final = Metric(
    "skh_stream_lag_seconds", "gauge",
    "How far judging is behind what the brokers have, beyond the lateness; rises while this stream "
    "worker is overloaded or a partition does not come",
)  # fmt: skip
STREAM_CATCHING_UP: Final = Metric(
    "skh_stream_catching_up", "gauge",
    "1 while this stream worker re-reads what it needs after a start or a rebalance: its lag then "
    "is no overload as long as it shrinks",
)  # fmt: skip
STREAM_FABRIC_FAILURES: Final = Metric(
    "skh_stream_fabric_failures_total", "counter",
    "Errors in judging a fabric; each costs at most one message, and no other fabric", ("fabric",),
)  # fmt: skip
STREAM_FABRIC_FAILING: Final = Metric(
    "skh_stream_fabric_failing", "gauge",
    "1 while a fabric is not judged after an error, or its pipeline incident is open", ("fabric",),
)  # fmt: skip
STREAM_LOCALIZER_SIZE: Final = Metric(
    "skh_localizer_size", "gauge",
    "Things that the localisers of this stream worker remember, by what", ("what",),
)  # fmt: skip
STREAM_COMMIT_STALLED: Final = Metric(
    "skh_stream_commit_stalled",
    "gauge",
    "Partitions with messages that are acknowledged and have not been committed for long",
)
STREAM_WAITING: Final = Metric(
    "skh_stream_waiting_bytes",
    "gauge",
    "Panes and windows that wait until slower partitions have come as far",
)
STREAM_STUCK: Final = Metric(
    "skh_stream_partitions_stuck",
    "gauge",
    "Partitions that have more to read and do not come while others do: nobody waits for them",
)
STREAM_EARLY: Final = Metric(
    "skh_stream_early_messages_total",
    "counter",
    "Messages published before slower partitions had come as far, because no more may wait",
)
STREAM_FINDINGS: Final = Metric(
    "skh_stream_findings_total", "counter", "Documents published by the localiser", ("kind",)
)
STREAM_SUPPRESSED: Final = Metric(
    "skh_stream_suppressed_total", "counter",
    "Components that were not told of, counted once a second each, because of maintenance or "
    "because placement does not call a container ready; what is read again counts again",
    ("reason",),
)  # fmt: skip
