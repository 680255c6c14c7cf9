"""Every metric of the system: name, type and help text.

Packages count in plain numbers and return Samples; only ``api`` and the agent's health pages write
Prometheus' format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple


class Metric(NamedTuple):
    """A name with its help text. Counters end in ``_total`` and never fall while a process runs."""

    name: str
    type: Literal["counter", "gauge"]
    doc: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """The value of a metric now; ``labels`` are label values in the order of ``metric.labels``."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


#: Called at each scrape, on the api's threads.
Source = Callable[[], Iterable[Sample]]

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
API_READY: Final = Metric("skh_api_ready", "gauge", "1 when /readyz would answer 200, else 0")
API_INCIDENTS: Final = Metric(
    "skh_incidents_active", "gauge",
    "Incidents not resolved, without those that an active incident of at least the same "
    "severity explains", ("severity",),
)  # fmt: skip
API_PATHS: Final = Metric(
    "skh_paths_watched", "gauge", "Five-tuple paths with a window stored in the last five minutes"
)
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
    "Messages that the broker deleted before the stream worker read them (gaps in offsets)",
    ("topic",),
)  # fmt: skip
STREAM_REPEATED: Final = Metric(
    "skh_stream_chunks_repeated_total", "counter",
    "Chunks of panes and windows that the localizer ignored: duplicates after a restart, or "
    "later than the verdict on their second",
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
CONTROLLER_LINKS: Final = Metric(
    "skh_controller_links", "gauge",
    "Links of the topology by how the present ping lists cover them: known (a five-tuple crosses "
    "it for certain), expected (untraced ones do, if hashes are independent), uncertain, "
    "uncovered (no probe crosses it)", ("fabric", "coverage"),
)  # fmt: skip
CONTROLLER_UNNAMEABLE: Final = Metric(
    "skh_controller_links_unnameable", "gauge",
    "Links that probes cross, but too few or from too few source hosts to name any loss within "
    "a minute", ("fabric",),
)  # fmt: skip
CONTROLLER_READY: Final = Metric(
    "skh_controller_ready", "gauge", "1 when the controller answers agents and operators, else 0"
)
CONTROLLER_AGENTS: Final = Metric(
    "skh_controller_agents", "gauge", "Hosts whose agents have registered since the start"
)
CONTROLLER_WAITING: Final = Metric(
    "skh_controller_waiting", "gauge", "Requests that wait for a change of their ping list"
)
CONTROLLER_UNPUBLISHED: Final = Metric(
    "skh_controller_unpublished", "gauge", "Documents that the broker has not stored yet"
)
CONTROLLER_EVENTS: Final = Metric(
    "skh_controller_events_total", "counter",
    "Events about jobs, containers and planned work, by kind; repeated ones count again", ("kind",),
)  # fmt: skip
CONTROLLER_SOURCES: Final = Metric(
    "skh_controller_source_events_total", "counter",
    "Events about jobs, containers and planned work, by source: file, agent, slurm, kubernetes or "
    "rest; repeated ones count again", ("source",),
)  # fmt: skip
CONTROLLER_PODS: Final = Metric(
    "skh_controller_pods", "gauge",
    "Pods that are containers of jobs (followed), and those with something to correct before they "
    "can be (left_out); the log says what", ("outcome",),
)  # fmt: skip
CONTROLLER_WATCH_AGE: Final = Metric(
    "skh_controller_watch_age_seconds", "gauge",
    "Time since the Kubernetes API server last said something of pods; a bookmark comes about each "
    "minute [s]",
)  # fmt: skip
CONTROLLER_WATCH_FAILURES: Final = Metric(
    "skh_controller_watch_failures_total", "counter",
    "Lists and watches of pods that failed; each is repeated",
)  # fmt: skip
CONTROLLER_POD_LISTS: Final = Metric(
    "skh_controller_pod_lists_total", "counter",
    "Times that all pods were listed: at the start, and after the API server had forgotten where "
    "the watch was",
)  # fmt: skip
CONTROLLER_BLACKLISTED: Final = Metric(
    "skh_controller_blacklisted_hosts", "gauge",
    "Hosts that schedulers are advised to leave out, by the open incidents", ("fabric",),
)  # fmt: skip
CONTROLLER_NOT_BLACKLISTED: Final = Metric(
    "skh_controller_not_blacklisted_incidents", "gauge",
    "Open incidents inside hosts that list no host: uncertain, beyond the host (probes cannot tell "
    "it from something outside), cap (too large a share of the hosts)", ("why",),
)  # fmt: skip
CONTROLLER_REQUESTS: Final = Metric(
    "skh_controller_requests_total", "counter",
    "Requests to agents, by outcome: asked; of these complete, refused, expired, withdrawn (the "
    "rest is open)", ("outcome",),
)  # fmt: skip
CONTROLLER_REQUESTS_OPEN: Final = Metric(
    "skh_controller_requests_open", "gauge", "Requests to agents that have not ended"
)
CONTROLLER_EVIDENCE: Final = Metric(
    "skh_controller_evidence_total", "counter",
    "Documents of evidence that were of no use, by reason: repeated, unknown (of no open request); "
    "and missing, documents that have not come", ("reason",),
)  # fmt: skip
CONTROLLER_REFUSED: Final = Metric(
    "skh_controller_refused_total", "counter",
    "Requests that were refused, by reason: no_token, wrong_token, too_long, bad_request",
    ("reason",),
)  # fmt: skip
CONTROLLER_SAMPLES: Final = Metric(
    "skh_controller_throughput_samples_total", "counter",
    "Samples of throughput, by outcome: kept, unknown (of no rnic of a job), ahead (of the "
    "broker's clock); refused counts messages that are unreadable or not their sender's",
    ("outcome",),
)  # fmt: skip
CONTROLLER_INFERENCES: Final = Metric(
    "skh_controller_inferences_total", "counter",
    "Inferences of the skeleton of a job, by outcome: used, declined", ("outcome",),
)  # fmt: skip
AGENT_INFO: Final = Metric(
    "skh_agent_info", "gauge", "1; which agent this is", ("node_sn", "scope", "instance", "version")
)
AGENT_STARTED: Final = Metric(
    "skh_agent_start_time_seconds", "gauge", "When the agent started [s since the epoch]"
)
AGENT_READY: Final = Metric("skh_agent_ready", "gauge", "1 when /readyz would answer 200, else 0")
AGENT_PROBES: Final = Metric(
    "skh_agent_probes_total", "counter",
    "Probes, by outcome: sent, answered, stalled (the agent's process did not run while they "
    "were in flight; recorded as an error, not as a loss), withdrawn (their socket was closed"
    " for a new ping list)", ("outcome",),
)  # fmt: skip
AGENT_QUESTIONS: Final = Metric(
    "skh_agent_questions_total", "counter",
    "Probes and replies that failed, by reason: over-budget (--max-rate; no record), "
    "send-<errno> (the kernel refused, as with ENOBUFS), unsendable (a reply), strange (a "
    "reply to no open probe)", ("reason",),
)  # fmt: skip
AGENT_ANSWERS: Final = Metric(
    "skh_agent_answers_total", "counter",
    "Probes of other agents that this agent has answered",
)  # fmt: skip
AGENT_SILENT: Final = Metric(
    "skh_agent_silent_total", "counter",
    "Datagrams that this agent did not answer, by reason: not-ours, bad-mac, stale (the "
    "clocks differ), late (the agent did not run), rate", ("reason",),
)  # fmt: skip
AGENT_SOCKETS: Final = Metric("skh_agent_sockets_open", "gauge", "UDP sockets of the agent")
AGENT_SOCKETS_LIMIT: Final = Metric(
    "skh_agent_sockets_limit", "gauge", "UDP sockets that the agent opens at most"
)
AGENT_UNOPENED: Final = Metric(
    "skh_agent_sources_unopened", "gauge",
    "Source addresses and ports of the ping list that could not be bound at the last attempt",
    ("reason",),
)  # fmt: skip
AGENT_ENDPOINTS_UNBOUND: Final = Metric(
    "skh_agent_endpoints_unbound", "gauge",
    "Own endpoints without a responder, by reason; in_use: another process has bound their "
    "port, perhaps another agent of this host", ("why",),
)  # fmt: skip
AGENT_FIVE_TUPLES: Final = Metric(
    "skh_agent_five_tuples", "gauge",
    "Five-tuples of the ping list, by state: probed; not probed because of too few sockets "
    "(sockets) or because --allow-cidr forbids the target (forbidden)", ("state",),
)  # fmt: skip
AGENT_TRACES_DROPPED: Final = Metric(
    "skh_agent_traces_dropped_total", "counter",
    "Traceroutes dropped because the queue was full",
)  # fmt: skip
AGENT_LIST: Final = Metric(
    "skh_agent_list_readings_total", "counter",
    "Reads of the ping list, by outcome: read, failed, hanging (did not return), unexpected "
    "(internal error), refused (valid, but the agent could not apply it)", ("outcome",),
)  # fmt: skip
AGENT_REQUESTS: Final = Metric(
    "skh_agent_requests_total", "counter",
    "Requests of the controller, by outcome: taken; of these complete, refused, expired, withdrawn "
    "(the rest runs)", ("outcome",),
)  # fmt: skip
AGENT_REQUESTS_RUNNING: Final = Metric(
    "skh_agent_requests_running", "gauge", "Requests of the controller that run"
)
AGENT_REQUEST_READINGS: Final = Metric(
    "skh_agent_request_readings_total", "counter",
    "Questions for requests to the controller, by outcome: read, failed; and invalid, requests "
    "that could not be used", ("outcome",),
)  # fmt: skip
AGENT_LIST_AGE: Final = Metric(
    "skh_agent_list_age_seconds", "gauge",
    "Time since the last successful read of the ping list [s]",
)  # fmt: skip
AGENT_PUBLISHED: Final = Metric(
    "skh_agent_published_messages_total", "counter",
    "Messages, by outcome: queued, delivered, overflow, failed; and reconnects of the "
    "publisher", ("outcome",),
)  # fmt: skip
AGENT_RELAY: Final = Metric(
    "skh_agent_relay_total", "counter",
    "Frames and bytes that the relay passed on; frames and connections that it refused, by "
    "reason", ("event",),
)  # fmt: skip
AGENT_RELAY_CONNECTIONS: Final = Metric(
    "skh_agent_relay_connections", "gauge", "Clients of the relay"
)
AGENT_RELAY_BUFFERED: Final = Metric(
    "skh_agent_relay_buffered_bytes", "gauge",
    "Partly received frames in the relay [B]",
)  # fmt: skip
AGENT_DELAY: Final = Metric(
    "skh_agent_scheduling_delay_seconds", "gauge",
    "Largest delay of the agent's own timers in the last second [s]",
)  # fmt: skip
AGENT_LOOP_ERRORS: Final = Metric(
    "skh_agent_callback_errors_total", "counter",
    "Exceptions in the agent's event loop; each costs one probe, datagram or turn",
)  # fmt: skip
AGENT_CONTAINERS: Final = Metric(
    "skh_agent_container_connections", "gauge",
    "Connections of containers' agents to their host's agent",
)  # fmt: skip
AGENT_CONTAINER_EVENTS: Final = Metric(
    "skh_agent_container_connections_total", "counter",
    "Connections of containers' agents: accepted; refused, by reason: malformed, too-much, "
    "unknown-peer, ambiguous, connections, replaced, taken; failed (internal errors)", ("event",),
)  # fmt: skip
AGENT_THROUGHPUT: Final = Metric(
    "skh_agent_throughput_samples_total", "counter",
    "Seconds of rnics that containers use, by outcome: sampled; gaps: missed (the agent did not "
    "run in time, or there was no earlier reading), reset (a counter fell), unreadable; and failed "
    "(internal errors, each of a second)", ("outcome",),
)  # fmt: skip
AGENT_LOG_LOST: Final = Metric(
    "skh_agent_log_lines_lost_total", "counter",
    "Log lines that could not be written to stderr",
)  # fmt: skip
AGENT_HEALTH_REQUESTS: Final = Metric(
    "skh_agent_health_requests_total", "counter",
    "Connections to --health-listen, by outcome: served, refused (too many, too slow or not a"
    " request), failed", ("outcome",),
)  # fmt: skip
