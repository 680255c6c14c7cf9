"""Metrics of the controller."""

from __future__ import annotations

from typing import Final

from schemas.metrics import Metric

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
CONTROLLER_SUSPECTS: Final = Metric(
    "skh_controller_suspects_total", "counter",
    "Anomalies, by outcome: asked (agents look closer at the five-tuple), known (they have "
    "lately), stale, unlisted (no list holds it), left_out (too many wait)", ("outcome",),
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
