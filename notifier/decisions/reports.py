"""All incidents and channels: versions in, notifications out, in the order of the topic.

Two records are kept for each channel: what was decided, which the next version is compared with,
and what was delivered, which is stored. They differ by what waits in the channels' queues. After a
restart both begin with what is stored, and the versions since then are read again: a version that
was decided about is ignored, so that a replay from any point gives each notification once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from notifier.decisions.changes import Notification, Reported, after, change_of, unheard
from notifier.decisions.routes import Route, channels_of
from schemas.documents.incident import Incident

#: What each channel has heard of one incident.
Heard = dict[str, Reported]


class Addressed(NamedTuple):
    """A notification and the channel that is to hear it."""

    channel: str
    notification: Notification


class Reports:
    """What was reported, and what is to be reported.

    routes     of the configuration
    delivered  what each channel has heard of each incident, as it was stored
    """

    def __init__(
        self,
        routes: Sequence[Route],
        channels: Sequence[str],
        delivered: Mapping[str, Mapping[str, Reported]] | None = None,
    ) -> None:
        self._routes = routes
        self._channels = tuple(channels)
        stored = {incident_id: dict(heard) for incident_id, heard in (delivered or {}).items()}
        self._delivered: defaultdict[str, Heard] = defaultdict(dict, stored)
        self._decided = {incident_id: dict(heard) for incident_id, heard in stored.items()}
        self._open: dict[str, Incident] = {}
        self._parts: defaultdict[str, set[str]] = defaultdict(set)  # parent -> its children

    @property
    def open_incidents(self) -> Mapping[str, Incident]:
        """The newest version of each incident that is not resolved."""
        return self._open

    def restore(self, incident: Incident, new_channels: Sequence[str] = ()) -> bool:
        """Take in a version that was read before; nothing is notified.

        new_channels  have not been there then: they stay quiet about it until it gets worse
        Returns whether what is stored of the incident is needed no longer.
        """
        self._know(incident)
        incident_id = incident.incident_id
        if incident.state == "resolved":
            heard = self._delivered.get(incident_id)
            if heard is None or any(each.state == "open" for each in heard.values()):
                return False
            del self._delivered[incident_id]
            self._decided.pop(incident_id, None)
            return True
        for channel in new_channels:
            quiet = unheard(incident)
            self._decided.setdefault(incident_id, {})[channel] = quiet
            self._delivered[incident_id][channel] = quiet
        return False

    def observe(self, incident: Incident) -> list[Addressed]:
        """A version from the topic; returns what channels are to hear of it, and of its parts."""
        known = self._open.get(incident.incident_id)
        if known is not None and incident.version < known.version:
            return []
        self._know(incident)
        parts = [self._open[each] for each in sorted(self._parts.get(incident.incident_id, ()))]
        return [found for each in (incident, *parts) for found in self._decide(each)]

    def settled(
        self, channel: str, notifications: Sequence[Notification]
    ) -> list[Notification | None]:
        """Notifications as the channel should hear them after what was really delivered there.

        Where the opening was lost, the next change is the opening, and the end is None: nothing.
        """
        ahead: dict[str, Reported | None] = {}
        out: list[Notification | None] = []
        for each in notifications:
            incident_id = each.incident.incident_id
            reported = ahead.get(incident_id, self._delivered[incident_id].get(channel))
            change = each.change
            if reported is None or reported.state != "open":
                if change == "resolved":
                    out.append(None)
                    continue
                change = "opened"
            found = Notification(change, each.incident, reported, each.explained)
            ahead[incident_id] = after(found)
            out.append(found)
        return out

    def delivered(self, channel: str, notification: Notification, summary: str = "") -> Heard:
        """The channel has heard it; returns what is to be stored of the incident."""
        return self._set(channel, notification, after(notification, summary=summary))

    def dropped(self, channel: str, notification: Notification) -> Heard:
        """The channel will not hear it; returns what is to be stored of the incident."""
        incident = notification.incident
        reported = self._delivered[incident.incident_id].get(channel)
        if notification.change == "resolved":
            return self._set(channel, notification, after(notification))
        if reported is not None and reported.state == "open":
            return self.heard(incident.incident_id)
        heard = self._set(channel, notification, unheard(incident))
        decided = self._decided[incident.incident_id]
        if decided[channel].version == incident.version:
            decided[channel] = unheard(incident)
        return heard

    def heard(self, incident_id: str) -> Heard:
        """What is stored of an incident."""
        return dict(self._delivered[incident_id])

    def open_on(self, channel: str) -> Iterator[tuple[str, Reported]]:
        """The incidents that are open as far as the channel has heard."""
        for incident_id, heard in self._delivered.items():
            if (reported := heard.get(channel)) is not None and reported.state == "open":
                yield incident_id, reported

    def _decide(self, incident: Incident) -> Iterator[Addressed]:
        routed = channels_of(self._routes, incident)
        decided = self._decided.get(incident.incident_id, {})
        for channel in self._channels:
            if channel not in routed and channel not in decided:
                continue
            explained = self._is_explained(incident, channel)
            before = decided.get(channel)
            change = change_of(before, incident, routed=channel in routed, explained=explained)
            if change is None:
                continue
            explained = explained and incident.state != "resolved"
            notification = Notification(change, incident, before, explained)
            self._decided.setdefault(incident.incident_id, {})[channel] = after(notification)
            yield Addressed(channel, notification)

    def _is_explained(self, incident: Incident, channel: str) -> bool:
        """Whether the channel hears of the incident's parent, or will: a parent may come later."""
        if incident.parent is None:
            return False
        parent = self._open.get(incident.parent)
        if parent is None or channel in channels_of(self._routes, parent):
            return True
        heard = self._decided.get(parent.incident_id, {}).get(channel)
        return heard is not None and heard.state == "open"

    def _know(self, incident: Incident) -> None:
        known = self._open.pop(incident.incident_id, None)
        if known is not None and known.parent is not None:
            self._parts[known.parent].discard(known.incident_id)
            if not self._parts[known.parent]:
                del self._parts[known.parent]
        if incident.state != "resolved":
            self._open[incident.incident_id] = incident
            if incident.parent is not None:
                self._parts[incident.parent].add(incident.incident_id)

    def _set(self, channel: str, notification: Notification, reported: Reported) -> Heard:
        self._delivered[notification.incident.incident_id][channel] = reported
        return self.heard(notification.incident.incident_id)
