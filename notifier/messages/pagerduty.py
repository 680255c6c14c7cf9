"""Events of PagerDuty's Events API v2.

https://developer.pagerduty.com/docs/events-api-v2-overview: events with the same ``dedup_key`` are
one alert; a trigger opens or updates it, a resolve closes it. The key is the incident's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from notifier.decisions.changes import Notification
from notifier.messages import text
from notifier.messages.requests import Request, encoded

URL: Final = "https://events.pagerduty.com/v2/enqueue"
_SEVERITY: Final = {"P0": "critical", "P1": "error", "P2": "warning"}
_SUMMARY_LENGTH: Final = 1024
_CLIENT: Final = "SkeletonHunter"


def event(notification: Notification, page_url: str, routing_key: str) -> Request:
    """A trigger or a resolve of one incident."""
    incident = notification.incident
    out = _event(routing_key, notification.dedup_key, resolves=notification.change == "resolved")
    if notification.change != "resolved":
        out["payload"] = {
            "summary": text.shortened(text.sentence(notification), _SUMMARY_LENGTH),
            "source": text.name(incident.fabric),
            "severity": _SEVERITY[incident.severity],
            "timestamp": incident.opened_at,
            "component": text.name(incident.component),
            "group": text.name(incident.fabric),
            "class": incident.symptom,
            "custom_details": dict(text.details(notification)),
        }
        if link := text.page(page_url, incident):
            out["links"] = [{"href": link, "text": "Page of the incident"}]
    return Request(encoded(out))


def summary(
    notifications: Sequence[Notification],
    window_s: float,
    page_url: str,
    routing_key: str,
    dedup_key: str,
) -> Request:
    """One alert for several incidents that opened; resolved when all of them are."""
    urgent = text.most_urgent(notifications)
    out = _event(routing_key, dedup_key, resolves=False)
    out["payload"] = {
        "summary": text.shortened(text.summary_sentence(notifications, window_s), _SUMMARY_LENGTH),
        "source": text.name(urgent[0].incident.fabric),
        "severity": _SEVERITY[urgent[0].incident.severity],
        "class": "storm",
        "custom_details": {each.incident.incident_id: text.sentence(each) for each in urgent},
    }
    if link := text.page(page_url):
        out["links"] = [{"href": link, "text": "All incidents"}]
    return Request(encoded(out))


def _event(routing_key: str, dedup_key: str, *, resolves: bool) -> dict[str, Any]:
    return {
        "routing_key": routing_key,
        "event_action": "resolve" if resolves else "trigger",
        "dedup_key": dedup_key[:255],
        "client": _CLIENT,
    }
