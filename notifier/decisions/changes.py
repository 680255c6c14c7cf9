"""What a channel hears of a new version of one incident: a pure function of what it has heard."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from schemas.documents.incident import Incident, Severity

Change = Literal["opened", "severity_raised", "component_changed", "resolved"]
#: The most urgent first.
URGENCY: Final[tuple[Severity, ...]] = ("P0", "P1", "P2")


class Reported(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a channel has heard of an incident.

    state      open or closed: it heard that the incident opened, or that it is over; quiet: it
               heard nothing, since the incident is older than the channel, or the message could
               not be delivered
    version    of the incident that was decided about last
    severity   the highest of those heard
    component  the last one heard
    summary    dedup key of the summary that reported the opening; empty: a message of its own
    """

    state: Literal["quiet", "open", "closed"]
    version: int
    severity: Severity
    component: str
    summary: str = ""


class Notification(msgspec.Struct, frozen=True):
    """One change of an incident that a channel is to hear of.

    before      what the channel had heard; None: nothing yet
    explained   the incident goes on, as a part of its parent: it is closed here for that
    """

    change: Change
    incident: Incident
    before: Reported | None = None
    explained: bool = False

    @property
    def key(self) -> str:
        """The same for every attempt to send it, also after a restart."""
        return f"{self.incident.incident_id}:{self.incident.version}"

    @property
    def dedup_key(self) -> str:
        """What receivers join the notifications of an incident by: its id, or its summary's key."""
        return (self.before.summary if self.before else "") or self.incident.incident_id


def change_of(
    reported: Reported | None, incident: Incident, *, routed: bool, explained: bool
) -> Change | None:
    """What the channel is to hear, or None.

    routed     whether a route leads this version to the channel; what has opened there stays there
    explained  whether the incident is part of another one that the channel hears of
    """
    if reported is not None and incident.version <= reported.version:
        return None
    over = incident.state == "resolved" or explained
    if reported is None or reported.state != "open":
        return "opened" if routed and not over and _is_news(reported, incident) else None
    if over:
        return "resolved"
    if is_raised(reported.severity, incident.severity):
        return "severity_raised"
    return "component_changed" if incident.component != reported.component else None


def after(notification: Notification, *, summary: str = "") -> Reported:
    """What a channel has heard once the notification is delivered.

    summary  dedup key of the summary in which it was
    """
    incident, before = notification.incident, notification.before
    if notification.change == "opened" or before is None:
        severity = incident.severity
    else:
        severity = min(before.severity, incident.severity, key=URGENCY.index)
        summary = before.summary
    state: Literal["open", "closed"] = "closed" if notification.change == "resolved" else "open"
    return Reported(state, incident.version, severity, incident.component, summary)


def unheard(incident: Incident) -> Reported:
    """What a channel has heard when it is to stay quiet about an incident as it is now."""
    return Reported("quiet", incident.version, incident.severity, incident.component)


def is_raised(before: Severity, now: Severity) -> bool:
    """Whether ``now`` is more urgent."""
    return URGENCY.index(now) < URGENCY.index(before)


def _is_news(reported: Reported | None, incident: Incident) -> bool:
    """Whether an incident that is not open for a channel may open there."""
    if reported is None or reported.state == "closed":
        return True
    return (
        is_raised(reported.severity, incident.severity) or incident.component != reported.component
    )
