"""The words of a notification: one sentence, then what an engineer asks next.

Names come from records that agents send, so they are made printable and short here; what a
receiver's own syntax needs (Slack's mrkdwn) is escaped where its body is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import quote

from notifier.decisions.changes import URGENCY, Notification
from schemas.documents.incident import Incident, Symptom
from schemas.documents.times import seconds_of
from schemas.printable import printable

_NAMES: Final = 5  # of a list are written; the page has all
_NAME_LENGTH: Final = 100
_EVIDENCE_LENGTH: Final = 600
_URGENT: Final = 5  # incidents that a summary lists
_SYMPTOMS: Final[dict[Symptom, tuple[str, str]]] = {
    "loss": ("loses packets", "lost packets"),
    "unconnectivity": ("answers no probe", "answered no probe"),
    "high_latency": ("delays packets", "delayed packets"),
    "agent_down": ("sends no heartbeat", "sent no heartbeat"),
    "agent_starved": ("gets too little CPU", "got too little CPU"),
    "host_down": ("is down", "was down"),
    "clock_skewed": ("has a wrong clock", "had a wrong clock"),
    "judging_failed": ("cannot be judged", "could not be judged"),
}


class Line(NamedTuple):
    """A detail: what it is, and its text."""

    label: str
    text: str


def sentence(notification: Notification) -> str:
    """Component, symptom, severity, since when, jobs hit."""
    incident, before = notification.incident, notification.before
    now, past = _SYMPTOMS[incident.symptom]
    where = f"in {name(incident.fabric)}"
    component, jobs = name(incident.component), _jobs(incident)
    since = f"since {moment(incident.opened_at)}"
    if notification.explained:
        parent = name(incident.parent or "")
        return f"Part of {parent}: {component} {now} {where}; its cause has an incident of its own"
    if notification.change == "resolved":
        until = moment(incident.closed_at or incident.updated_at)
        lasted = f"from {moment(incident.opened_at)} to {until}"
        return f"Resolved: {component} {past} {lasted} {where}{jobs}"
    severity: str = incident.severity
    if notification.change == "severity_raised" and before is not None:
        severity = f"{incident.severity} (was {before.severity})"
    if notification.change == "component_changed" and before is not None:
        component = f"{component} (not {name(before.component)})"
    return f"{severity}: {component} {now} {since} {where}{jobs}"


def details(notification: Notification) -> list[Line]:
    """Tie set, confidence, issue type, reason."""
    incident = notification.incident
    out = []
    if len(incident.tie_set) > 1:
        out.append(Line("Probes cannot tell it from", names(
            [each for each in incident.tie_set if each != incident.component]
        )))  # fmt: skip
    out.append(Line("Confidence", f"{incident.confidence:.2f}"))
    if incident.issue_type is not None:
        out.append(Line("Issue type", name(incident.issue_type) + _probability(incident)))
    out.append(Line("Bad paths", f"{incident.paths_bad} of {incident.paths_total}"))
    if incident.tenants:
        out.append(Line("Tenants", names(incident.tenants)))
    reason = incident.evidence.get("text")
    if isinstance(reason, str) and reason:
        out.append(Line("Why", shortened(printable(reason), _EVIDENCE_LENGTH)))
    return out


def summary_sentence(notifications: Sequence[Notification], window_s: float) -> str:
    """How many changes of which kind, and how urgent."""
    changes = Counter(each.change.replace("_", " ") for each in notifications)
    opened = Counter(
        each.incident.severity for each in notifications if each.change != "resolved"
    )  # fmt: skip
    severities = ", ".join(f"{opened[each]} {each}" for each in URGENCY if opened[each])
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(changes.items()))
    urgent = f" ({severities})" if severities else ""
    many = f"{len(notifications)} more changes of incidents within {window_s:g} s"
    return f"{many}: {kinds}{urgent}"


def most_urgent(notifications: Sequence[Notification]) -> list[Notification]:
    """Those that a summary lists: by severity, those that go on first."""
    return sorted(
        notifications,
        key=lambda each: (each.change == "resolved", URGENCY.index(each.incident.severity)),
    )[:_URGENT]


def page(page_url: str, incident: Incident | None = None) -> str:
    """Address of an incident's page, or of the list; empty where no page is configured."""
    if not page_url:
        return ""
    start = page_url.rstrip("/")
    return f"{start}/incidents/{quote(incident.incident_id, safe='')}" if incident else f"{start}/"


def name(text: str) -> str:
    """A name from data: printable, and not endless."""
    return shortened(printable(text), _NAME_LENGTH)


def names(found: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(found) - _NAMES} more" if len(found) > _NAMES else ""
    return ", ".join(map(name, found[:_NAMES])) + more


def moment(time: str) -> str:
    """A document's time as people write it; the text itself where it is none."""
    try:
        return f"{datetime.fromtimestamp(seconds_of(time), UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return name(time)


def shortened(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _jobs(incident: Incident) -> str:
    return f"; jobs hit: {names(incident.jobs)}" if incident.jobs else "; no job is hit"


def _probability(incident: Incident) -> str:
    ranked = incident.evidence.get("issue_types")
    found = ranked.get(incident.issue_type) if isinstance(ranked, dict) else None
    return f" (probability {found:.2f})" if isinstance(found, int | float) else ""
