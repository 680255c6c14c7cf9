"""Alerts of Alertmanager's API v2, which groups, silences and routes them itself.

https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml: an alert is its labels. A
notifier that dies must not leave alerts that fire for ever, so they end by themselves after
``LASTS_S`` and are sent again before. A label that changes makes another alert: when severity or
component changes, the former one ends with the same request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from notifier.decisions.changes import Notification, Reported
from notifier.messages import text
from notifier.messages.requests import Request, encoded
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339

#: An alert that is not sent again ends after this time [s].
LASTS_S: Final = 300.0
#: They are sent again so often [s].
REFRESH_S: Final = 60.0
_PATH: Final = "/api/v2/alerts"


def alerts(notification: Notification, page_url: str, now_s: float) -> Request:
    """The alert of one incident, and the end of a former one with other labels."""
    before, incident = notification.before, notification.incident
    if notification.change == "resolved" and before is not None:
        return _request([_alert(incident, before, page_url, now_s)])
    out = [_alert(incident, None, page_url, now_s + LASTS_S, notification)]
    if before is not None and before.state == "open" and notification.change != "opened":
        out.append(_alert(incident, before, page_url, now_s))
    return _request(out)


def refresh(
    incidents: Iterable[tuple[Incident, Reported]], page_url: str, now_s: float
) -> Request | None:
    """All alerts that are to go on; None where there is none."""
    out = [_alert(each, reported, page_url, now_s + LASTS_S) for each, reported in incidents]
    return _request(out) if out else None


def _alert(
    incident: Incident,
    reported: Reported | None,
    page_url: str,
    ends_s: float,
    notification: Notification | None = None,
) -> dict[str, Any]:
    """An alert with the labels that were reported, or those of the incident as it is now."""
    severity = incident.severity if reported is None else reported.severity
    component = incident.component if reported is None else reported.component
    shown = notification or Notification("opened", incident, reported)
    found = {
        "labels": {
            "alertname": f"SkhIncident{severity}", "incident_id": incident.incident_id,
            "fabric": text.name(incident.fabric), "component": text.name(component),
            "severity": "ticket" if severity == "P2" else "page", "priority": severity,
            "symptom": incident.symptom, "layer": incident.layer,
        },
        "annotations": {
            "summary": text.sentence(shown),
            "description": "; ".join(f"{label}: {each}" for label, each in text.details(shown)),
        },
        "startsAt": incident.opened_at,
        "endsAt": rfc3339(int(ends_s * 1e9)),
    }  # fmt: skip
    if link := text.page(page_url, incident):
        found["generatorURL"] = link
    return found


def _request(alerts: list[dict[str, Any]]) -> Request:
    return Request(encoded(alerts), path=_PATH)
