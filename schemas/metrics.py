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
    "skh_incidents_active",
    "gauge",
    "Incidents not resolved, without children that an active cause no less severe explains",
    ("severity",),
)
API_PATHS: Final = Metric(
    "skh_paths_watched", "gauge", "Five-tuple paths with a window stored in the last five minutes"
)
STREAM_RECORDS: Final = Metric(
    "skh_stream_records_total", "counter",
    "Ping records taken in by this stream worker, by what became of them: judged, late, "
    "duplicate or dead_lettered; what a rebalance made it read again counts again", ("outcome",),
)  # fmt: skip
STREAM_AHEAD: Final = Metric(
    "skh_stream_records_ahead_total", "counter",
    "Of the late ping records, those beyond the broker's time + skew: the sender's clock or the "
    "broker's is wrong, or somebody invents times",
)  # fmt: skip
STREAM_WINDOWING_FAILURES: Final = Metric(
    "skh_stream_windowing_failures_total", "counter",
    "Times that windowing of a partition failed by a defect and began anew; its open panes are "
    "counted as late, the message as dead_lettered",
)  # fmt: skip
STREAM_WINDOWER_SIZE: Final = Metric(
    "skh_stream_windower_size", "gauge", "How much the windowers of this worker remember",
    ("what",),
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
    "Chunks of panes and windows that the localizer did not use: they were there already (after a "
    "restart), or came after their second had been judged",
)  # fmt: skip
STREAM_DEAD_LETTERS: Final = Metric(
    "skh_stream_dead_letters_total", "counter",
    "Messages that this stream worker could not use, by the topic they were in; of skh.pings see "
    "skh_stream_records_total", ("topic",),
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
    "Things that the localizers of this stream worker remember, by what", ("what",),
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
    "skh_stream_findings_total", "counter", "Documents published by the localizer", ("kind",)
)
STREAM_REFUSED: Final = Metric(
    "skh_stream_refused_total", "counter",
    "Messages of senders that were not believed (unsigned, bad_signature, unknown_sender, future) "
    "and records in somebody else's name (foreign_record), all of them dead letters; and messages "
    "that were here before (replayed), which are left out; what is read again counts again",
    ("reason",),
)  # fmt: skip
STREAM_SUPPRESSED: Final = Metric(
    "skh_stream_suppressed_total", "counter",
    "Components that were not told of, counted once a second each, because of maintenance or "
    "because placement does not call a container ready; what is read again counts again",
    ("reason",),
)  # fmt: skip
STREAM_TWINS: Final = Metric(
    "skh_stream_agent_twins",
    "gauge",
    "Hosts in whose name two agents have sent heartbeats at the same time in the last minute: a "
    "cloned machine or a forgotten process",
)
AGENT_INFO: Final = Metric(
    "skh_agent_info", "gauge", "1; which agent this is", ("node_sn", "scope", "instance", "version")
)
AGENT_STARTED: Final = Metric(
    "skh_agent_start_time_seconds", "gauge", "When the agent started [s since the epoch]"
)
AGENT_READY: Final = Metric("skh_agent_ready", "gauge", "1 when /readyz would answer 200, else 0")
AGENT_PROBES: Final = Metric(
    "skh_agent_probes_total", "counter",
    "Probes sent, answered, stalled (in flight while the agent's process did not run: their record "
    "is an error, not a loss) and withdrawn (their socket was closed for another list)",
    ("outcome",),
)  # fmt: skip
AGENT_QUESTIONS: Final = Metric(
    "skh_agent_questions_total", "counter",
    "Questions and answers that went wrong: over-budget (--max-rate; no record), send-<errno> (our "
    "kernel refused, as with ENOBUFS), unsendable (an answer of ours), strange (an answer that "
    "nothing waits for)", ("reason",),
)  # fmt: skip
AGENT_ANSWERS: Final = Metric(
    "skh_agent_answers_total", "counter", "Questions of others that this agent has answered"
)
AGENT_SILENT: Final = Metric(
    "skh_agent_silent_total", "counter",
    "Datagrams that this agent did not answer: not-ours, bad-mac, stale (clocks differ), late (we "
    "did not run), rate", ("reason",),
)  # fmt: skip
AGENT_SOCKETS: Final = Metric("skh_agent_sockets_open", "gauge", "UDP sockets of the agent")
AGENT_SOCKETS_LIMIT: Final = Metric(
    "skh_agent_sockets_limit", "gauge", "UDP sockets that the agent opens at most"
)
AGENT_UNOPENED: Final = Metric(
    "skh_agent_sources_unopened", "gauge",
    "Source addresses and ports of the list that could not be bound when last tried", ("reason",),
)  # fmt: skip
AGENT_ENDPOINTS_UNBOUND: Final = Metric(
    "skh_agent_endpoints_unbound", "gauge",
    "Own endpoints without a responder; in_use: another process has their port, perhaps another "
    "agent of this host", ("why",),
)  # fmt: skip
AGENT_FIVE_TUPLES: Final = Metric(
    "skh_agent_five_tuples", "gauge",
    "Five-tuples of the list: probed, or left out because there are not enough sockets (sockets) "
    "or --allow-cidr forbids their target (forbidden)", ("state",),
)  # fmt: skip
AGENT_TRACES_DROPPED: Final = Metric(
    "skh_agent_traces_dropped_total", "counter", "Traceroutes not made because too many waited"
)
AGENT_LIST: Final = Metric(
    "skh_agent_list_readings_total", "counter",
    "Readings of the ping list: read, failed, hanging (did not return), unexpected (failed by a "
    "defect of ours), refused (sound, but the agent could not apply it)", ("outcome",),
)  # fmt: skip
AGENT_LIST_AGE: Final = Metric(
    "skh_agent_list_age_seconds", "gauge", "Since the ping list was last read with success"
)
AGENT_PUBLISHED: Final = Metric(
    "skh_agent_published_messages_total", "counter",
    "Messages by what became of them: queued, delivered, overflow, failed; reconnects of the "
    "publisher", ("outcome",),
)  # fmt: skip
AGENT_RELAY: Final = Metric(
    "skh_agent_relay_total", "counter",
    "What the relay has counted: frames and bytes passed on, frames and connections refused, by "
    "reason", ("event",),
)  # fmt: skip
AGENT_RELAY_CONNECTIONS: Final = Metric(
    "skh_agent_relay_connections", "gauge", "Clients of the relay"
)
AGENT_RELAY_BUFFERED: Final = Metric(
    "skh_agent_relay_buffered_bytes", "gauge", "Frames that the relay has received in part"
)
AGENT_DELAY: Final = Metric(
    "skh_agent_scheduling_delay_seconds", "gauge",
    "How late the agent's own timers fired in the last second, worst case",
)  # fmt: skip
AGENT_LOOP_ERRORS: Final = Metric(
    "skh_agent_callback_errors_total", "counter",
    "Exceptions in the agent's loop that cost one probe, datagram or turn",
)  # fmt: skip
AGENT_LOG_LOST: Final = Metric(
    "skh_agent_log_lines_lost_total", "counter", "Log lines that stderr did not take"
)
AGENT_HEALTH_REQUESTS: Final = Metric(
    "skh_agent_health_requests_total", "counter",
    "Connections to --health-listen: served, refused (too many, too slow or no request), failed",
    ("outcome",),
)  # fmt: skip
