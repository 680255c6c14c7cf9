"""Metrics of the notifier."""

from __future__ import annotations

from typing import Final

from schemas.metrics import Metric

NOTIFIER_NOTIFICATIONS: Final = Metric(
    "skh_notifier_notifications_total", "counter",
    "Notifications by channel, change (opened, severity_raised, component_changed, resolved) and "
    "outcome: delivered, dropped (the log has the incident), superfluous (the receiver needs none)",
    ("channel", "change", "outcome"),
)  # fmt: skip
NOTIFIER_FAILED_ATTEMPTS: Final = Metric(
    "skh_notifier_failed_attempts_total", "counter",
    "Requests to a channel's receiver that failed; most are repeated", ("channel",),
)  # fmt: skip
NOTIFIER_WAITING: Final = Metric(
    "skh_notifier_waiting", "gauge", "Notifications in a channel's queue", ("channel",)
)
NOTIFIER_FAILING: Final = Metric(
    "skh_notifier_failing_seconds", "gauge",
    "For so long no request to a channel's receiver has succeeded; 0: the last one did [s]",
    ("channel",),
)  # fmt: skip
NOTIFIER_LEADS: Final = Metric(
    "skh_notifier_leads", "gauge", "1 when this notifier sends, 0 when it stands by for another"
)
NOTIFIER_INCIDENTS: Final = Metric(
    "skh_notifier_incidents", "gauge", "Incidents that are not resolved, as the notifier has read"
)
NOTIFIER_VERSIONS: Final = Metric(
    "skh_notifier_versions_total", "counter", "Versions of incidents that were read"
)
NOTIFIER_INVALID: Final = Metric(
    "skh_notifier_invalid_total", "counter",
    "Messages that the notifier could not read, by topic; they are left out", ("topic",),
)  # fmt: skip
NOTIFIER_JUDGING: Final = Metric(
    "skh_notifier_judging", "gauge",
    "1 while the watchdog sees that judging goes on, else 0; only with a watchdog",
)  # fmt: skip
NOTIFIER_WATCHDOG: Final = Metric(
    "skh_notifier_watchdog_requests_total", "counter",
    "Requests to the watchdog by outcome: delivered or failed", ("outcome",),
)  # fmt: skip
