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
API_PATHS: Final = Metric(
    "skh_paths_watched", "gauge", "Five-tuple paths with a window stored in the last five minutes"
)
