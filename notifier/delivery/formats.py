"""The kinds of channels: which messages each one understands, and what it groups itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from notifier.configuration.document import Alertmanager, Channel, PagerDuty, Slack, Webhook
from notifier.configuration.secrets import resolve
from notifier.decisions.changes import Notification, Reported
from notifier.messages import alertmanager, pagerduty, slack, webhook
from notifier.messages.requests import Request
from schemas.documents.incident import Incident


class Format(Protocol):
    """How one kind of receiver is spoken to; ``now_s`` is the time [s since the epoch]."""

    #: Of incidents that opened in a summary: whether the end of each is a message of its own.
    ends_alone: bool
    #: Time between two refreshes of what goes on [s]; None: the receiver needs none.
    refresh_s: float | None

    def groupable(self, notification: Notification) -> bool:
        """Whether a summary may hold it."""

    def one(self, notification: Notification, now_s: float) -> Request:
        """A message of one notification."""

    def several(self, notifications: Sequence[Notification], key: str, now_s: float) -> Request:
        """A summary; ``key``: of the summary."""

    def refresh(
        self, incidents: Iterable[tuple[Incident, Reported]], now_s: float
    ) -> Request | None:
        """What keeps open what is open."""


class _Plain:
    """A receiver of messages for people: all are groupable, and nothing is refreshed."""

    ends_alone = True
    refresh_s: float | None = None

    def __init__(self, page_url: str, window_s: float) -> None:
        self.page_url = page_url
        self.window_s = window_s

    def groupable(self, notification: Notification) -> bool:
        return True

    def refresh(
        self, incidents: Iterable[tuple[Incident, Reported]], now_s: float
    ) -> Request | None:
        return None


class SlackFormat(_Plain):
    """See ``messages.slack``."""

    def one(self, notification: Notification, now_s: float) -> Request:
        return slack.message(notification, self.page_url)

    def several(self, notifications: Sequence[Notification], key: str, now_s: float) -> Request:
        return slack.summary(notifications, self.window_s, self.page_url)


class WebhookFormat(_Plain):
    """See ``messages.webhook``."""

    def __init__(self, page_url: str, window_s: float, secret: bytes | None) -> None:
        super().__init__(page_url, window_s)
        self._secret = secret

    def one(self, notification: Notification, now_s: float) -> Request:
        return webhook.document(notification, self.page_url, self._secret, now_s)

    def several(self, notifications: Sequence[Notification], key: str, now_s: float) -> Request:
        return webhook.summary(notifications, self.window_s, self.page_url, self._secret, now_s)


class PagerDutyFormat(_Plain):
    """Only openings page people, so only they are grouped: into one alert, which ends with the last
    of its incidents.
    """

    ends_alone = False

    def __init__(self, page_url: str, window_s: float, routing_key: str) -> None:
        super().__init__(page_url, window_s)
        self._routing_key = routing_key

    def groupable(self, notification: Notification) -> bool:
        return notification.change == "opened"

    def one(self, notification: Notification, now_s: float) -> Request:
        return pagerduty.event(notification, self.page_url, self._routing_key)

    def several(self, notifications: Sequence[Notification], key: str, now_s: float) -> Request:
        return pagerduty.summary(
            notifications, self.window_s, self.page_url, self._routing_key, key
        )


class AlertmanagerFormat(_Plain):
    """Alertmanager groups by itself, and forgets what is not sent again."""

    refresh_s: float | None = alertmanager.REFRESH_S

    def groupable(self, notification: Notification) -> bool:
        return False

    def one(self, notification: Notification, now_s: float) -> Request:
        return alertmanager.alerts(notification, self.page_url, now_s)

    def several(self, notifications: Sequence[Notification], key: str, now_s: float) -> Request:
        raise NotImplementedError("no notification for Alertmanager is groupable")

    def refresh(
        self, incidents: Iterable[tuple[Incident, Reported]], now_s: float
    ) -> Request | None:
        return alertmanager.refresh(incidents, self.page_url, now_s)


def format_of(
    channel: Channel, page_url: str, window_s: float, environ: Mapping[str, str]
) -> Format:
    """The format of a channel; raises SecretError."""
    match channel:
        case Slack():
            return SlackFormat(page_url, window_s)
        case PagerDuty(routing_key=key):
            return PagerDutyFormat(page_url, window_s, resolve(key, environ))
        case Webhook(secret=secret):
            found = None if secret is None else resolve(secret, environ).encode()
            return WebhookFormat(page_url, window_s, found)
        case Alertmanager():
            return AlertmanagerFormat(page_url, window_s)
