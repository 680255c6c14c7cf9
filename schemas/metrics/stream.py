"""Metrics of the stream worker."""

from __future__ import annotations

from typing import Final

from schemas.metrics import Metric

STREAM_RECORDS: Final = Metric(
    "skh_stream_records_total", "counter",
    "Ping records read by this stream worker, by outcome: judged, late, duplicate or "
    "dead_lettered; records read again after a rebalance count again", ("outcome",),
)  # fmt: skip
STREAM_AHEAD: Final = Metric(
    "skh_stream_records_ahead_total", "counter",
    "Late ping records whose time is ahead of the broker's clock by more than the allowed "
    "skew: the clock of the sender or of the broker is wrong, or the time is forged",
)  # fmt: skip
STREAM_WINDOWING_FAILURES: Final = Metric(
    "skh_stream_windowing_failures_total", "counter",
    "Internal errors in windowing a partition; its open panes are counted as late, the "
    "message as dead_lettered, and windowing restarts",
)  # fmt: skip
STREAM_WINDOWER_SIZE: Final = Metric(
    "skh_stream_windower_size", "gauge",
    "Entries in the windowers of this worker, by kind", ("what",),
)  # fmt: skip
STREAM_HELD: Final = Metric(
    "skh_stream_records_held", "gauge",
    "Ping records in panes that are not closed yet",
)  # fmt: skip
STREAM_MESSAGES: Final = Metric(
    "skh_stream_messages_total", "counter",
    "Messages that this stream worker has read", ("topic",),
)  # fmt: skip
STREAM_MISSING: Final = Metric(
    "skh_stream_missing_messages_total", "counter",
    "Messages that did not reach the stream worker (gaps in offsets), as those deleted before",
    ("topic",),
)  # fmt: skip
STREAM_REPEATED: Final = Metric(
    "skh_stream_chunks_repeated_total", "counter",
    "Chunks of panes and windows that the localizer ignored: duplicates after a restart, or "
    "later than the verdict on their second",
)  # fmt: skip
STREAM_LATER: Final = Metric(
    "skh_stream_later_chunks_total", "counter",
    "Chunks of skh.windows with columns that a later release has added, which this one ignores",
)  # fmt: skip
STREAM_DEAD_LETTERS: Final = Metric(
    "skh_stream_dead_letters_total", "counter",
    "Messages that this stream worker could not use, by source topic; for skh.pings see "
    "skh_stream_records_total", ("topic",),
)  # fmt: skip
STREAM_LAG: Final = Metric(
    "skh_stream_lag_seconds", "gauge",
    "Event time by which verdicts are behind the newest messages in the brokers, beyond the "
    "configured lateness [s]; rises while this stream worker is overloaded or a partition is "
    "stalled",
)  # fmt: skip
STREAM_CATCHING_UP: Final = Metric(
    "skh_stream_catching_up", "gauge",
    "1 while this stream worker re-reads messages after a start or a rebalance: the lag is no"
    " overload as long as it shrinks",
)  # fmt: skip
STREAM_FABRIC_FAILURES: Final = Metric(
    "skh_stream_fabric_failures_total", "counter",
    "Internal errors in localizing a fabric; each costs at most one message and no other "
    "fabric", ("fabric",),
)  # fmt: skip
STREAM_FABRIC_FAILING: Final = Metric(
    "skh_stream_fabric_failing", "gauge",
    "1 while a fabric is not localized after an internal error, or its pipeline incident is "
    "open", ("fabric",),
)  # fmt: skip
STREAM_UNCOVERED: Final = Metric(
    "skh_stream_uncovered_components", "gauge",
    "Rnics, switches, links, vSwitches and containers of the topology that no judged probe crosses",
    ("fabric",),
)  # fmt: skip
STREAM_UNTRACED: Final = Metric(
    "skh_stream_untraced_links", "gauge",
    "Links between switches that only probes of unknown routes may cross; 0 while no route is "
    "known", ("fabric",),
)  # fmt: skip
STREAM_LOCALIZER_SIZE: Final = Metric(
    "skh_localizer_size", "gauge",
    "Entries in the localizers of this stream worker, by kind", ("what",),
)  # fmt: skip
STREAM_COMMIT_STALLED: Final = Metric(
    "skh_stream_commit_stalled", "gauge",
    "Partitions whose acknowledged messages have not been committed for longer than expected",
)  # fmt: skip
STREAM_WAITING: Final = Metric(
    "skh_stream_waiting_bytes", "gauge",
    "Panes and windows that wait for slower partitions [B]",
)  # fmt: skip
STREAM_STUCK: Final = Metric(
    "skh_stream_partitions_stuck", "gauge",
    "Stalled partitions: they have more messages to read and do not advance while others do; "
    "others no longer wait for them",
)  # fmt: skip
STREAM_EARLY: Final = Metric(
    "skh_stream_early_messages_total", "counter",
    "Messages published before slower partitions reached their time, because the limit on "
    "waiting bytes was reached",
)  # fmt: skip
STREAM_FINDINGS: Final = Metric(
    "skh_stream_findings_total", "counter", "Documents published by the localizer", ("kind",)
)
STREAM_REFUSED: Final = Metric(
    "skh_stream_refused_total", "counter",
    "Messages of senders that failed authentication (unsigned, bad_signature, unknown_sender,"
    " future) and records about another sender's host (foreign_record), all dead letters; and"
    " copies of earlier messages (replayed), which are ignored; messages read again count "
    "again", ("reason",),
)  # fmt: skip
STREAM_SUPPRESSED: Final = Metric(
    "skh_stream_suppressed_total", "counter",
    "Components whose verdicts were suppressed, counted once per second each, because of "
    "maintenance or because placement does not list a container as ready; messages read again"
    " count again", ("reason",),
)  # fmt: skip
STREAM_TWINS: Final = Metric(
    "skh_stream_agent_twins", "gauge",
    "Hosts with heartbeats from two agents at the same time in the last minute: a cloned "
    "machine or a leftover process",
)  # fmt: skip
