"""Metrics of the agent."""

from __future__ import annotations

from typing import Final

from schemas.metrics import Metric

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
AGENT_AGENTLESS_PROBES: Final = Metric(
    "skh_agent_agentless_probes_total", "counter",
    "Probes that kernels of peers answer, by engine (icmp, tcp) and outcome: sent, answered, "
    "stalled (the agent's process did not run while they were in flight)", ("engine", "outcome"),
)  # fmt: skip
AGENT_RDMA_PROBES: Final = Metric(
    "skh_agent_rdma_probes_total", "counter",
    "Probes between queue pairs, by outcome: sent, answered, stalled (the agent did not run or its "
    "device failed), withdrawn (lost, to a queue pair that its agent no longer has), strange (a "
    "message that is no reply to an open probe)", ("outcome",),
)  # fmt: skip
AGENT_RDMA_ANSWERS: Final = Metric(
    "skh_agent_rdma_answers_total", "counter",
    "RDMA messages of other agents: answered; not answered, by reason as in "
    "skh_agent_silent_total, or unsendable", ("outcome",),
)  # fmt: skip
AGENT_RDMA_RNICS: Final = Metric(
    "skh_agent_rdma_rnics", "gauge",
    "Own underlay endpoints whose RDMA device is used, or is unusable (the log has the reason)",
    ("state",),
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
    "Messages, by outcome: queued, delivered, overflow, failed; reconnects of the publisher; with "
    "--spool also spooled, drained, spool-full, spool-aged, spool-disk (dropped), and the bytes "
    "that a crash left half written, spool-torn", ("outcome",),
)  # fmt: skip
AGENT_SPOOL: Final = Metric(
    "skh_agent_spool", "gauge",
    "What --spool keeps on disk: messages that the broker does not have, and bytes", ("unit",),
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
    "Connections to --health-listen, by outcome: served, refused (too many, too slow, not"
    " allowed or not a request), failed", ("outcome",),
)  # fmt: skip
