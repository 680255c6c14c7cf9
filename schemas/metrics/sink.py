"""Metrics of the sink."""

from __future__ import annotations

from typing import Final

from schemas.metrics import Metric

SINK_MESSAGES: Final = Metric(
    "skh_sink_messages_total", "counter",
    "Messages that the sink has read", ("topic",),
)  # fmt: skip
SINK_ROWS: Final = Metric(
    "skh_sink_rows_total", "counter",
    "Rows that ClickHouse has confirmed", ("table",),
)  # fmt: skip
SINK_INSERTS: Final = Metric(
    "skh_sink_inserts_total", "counter", "Insert statements that succeeded", ("table",)
)
SINK_INSERT_SECONDS: Final = Metric(
    "skh_sink_insert_seconds_total", "counter", "Time spent in successful inserts [s]"
)
SINK_INSERT_FAILURES: Final = Metric(
    "skh_sink_insert_failures_total", "counter",
    "Attempts to store a batch that failed; each is repeated",
)  # fmt: skip
SINK_DEAD_LETTERS: Final = Metric(
    "skh_sink_dead_letters_total", "counter",
    "Messages or records that the sink could not use, by source topic", ("topic",),
)  # fmt: skip
SINK_MISSING: Final = Metric(
    "skh_sink_missing_messages_total", "counter",
    "Messages that the broker deleted before the sink read them (gaps in offsets)", ("topic",),
)  # fmt: skip
SINK_COMMIT_FAILURES: Final = Metric(
    "skh_sink_commit_failures_total", "counter",
    "Offset commits that failed; their messages are stored again, with the same result",
)  # fmt: skip
SINK_REBALANCES: Final = Metric(
    "skh_sink_rebalances_total", "counter",
    "Times that partitions were revoked from this sink",
)  # fmt: skip
SINK_LAG: Final = Metric(
    "skh_sink_lag_messages", "gauge",
    "Messages in the broker that are not stored yet", ("topic",),
)  # fmt: skip
SINK_WAITING: Final = Metric(
    "skh_sink_waiting", "gauge", "1 while the sink waits for ClickHouse or the broker, else 0"
)
