"""Metrics of the query service."""

from __future__ import annotations

from typing import Final

from schemas.metrics import Metric

API_READY: Final = Metric("skh_api_ready", "gauge", "1 when /readyz would answer 200, else 0")
API_INCIDENTS: Final = Metric(
    "skh_incidents_active", "gauge",
    "Incidents not resolved, without those that an active incident of at least the same "
    "severity explains", ("severity",),
)  # fmt: skip
API_INCIDENT: Final = Metric(
    "skh_incident_active", "gauge",
    "1 for each of the 200 most urgent incidents that skh_incidents_active counts; the series ends "
    "when the incident is resolved",
    (
        "fabric", "component", "kind", "layer", "symptom", "issue_type", "severity", "incident_id",
    ),
)  # fmt: skip
API_DETECTED: Final = Metric(
    "skh_incident_detected_timestamp_seconds", "gauge",
    "When each of them was detected, event time [s since the epoch]", ("incident_id",),
)  # fmt: skip
API_STORED_AGE: Final = Metric(
    "skh_stored_age_seconds", "gauge",
    "Time since a window was last stored [s]; none was ever: no series",
)  # fmt: skip
API_PATHS: Final = Metric(
    "skh_paths_watched", "gauge", "Five-tuple paths with a window stored in the last five minutes"
)
API_STREAMS: Final = Metric("skh_api_streams", "gauge", "Open streams of incidents")
API_FEEDBACK: Final = Metric(
    "skh_feedback_incidents", "gauge",
    "Incidents by the last verdict of people: right, wrong_component or false_alarm", ("verdict",),
)  # fmt: skip
