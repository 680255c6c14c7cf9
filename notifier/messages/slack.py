"""Messages of a Slack incoming webhook.

https://docs.slack.dev/messaging/formatting-message-text: ``&``, ``<`` and ``>`` are escaped, so
that no name becomes a link or a mention. The other marks of mrkdwn have no escape; a name with one
in it looks odd, no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from notifier.decisions.changes import Notification
from notifier.messages import text
from notifier.messages.requests import Request, encoded

_COLOURS = {"P0": "#c0392b", "P1": "#e67e22", "P2": "#f1c40f"}
_RESOLVED = "#2e9e5b"


def message(notification: Notification, page_url: str) -> Request:
    """One notification."""
    lines = [f"*{escaped(label)}:* {escaped(found)}" for label, found in text.details(notification)]
    if link := text.page(page_url, notification.incident):
        lines.append(f"<{escaped(link)}|Page of the incident: where, why, what next>")
    over = notification.change == "resolved"
    colour = _RESOLVED if over else _COLOURS[notification.incident.severity]
    return _message(text.sentence(notification), colour, lines[-1:] if over and link else lines)


def summary(notifications: Sequence[Notification], window_s: float, page_url: str) -> Request:
    """Several notifications in one message."""
    urgent = text.most_urgent(notifications)
    lines = [f"• {escaped(text.sentence(each))}" for each in urgent]
    if link := text.page(page_url):
        lines.append(f"<{escaped(link)}|All incidents>")
    colour = _COLOURS[urgent[0].incident.severity]
    return _message(text.summary_sentence(notifications, window_s), colour, lines)


def escaped(found: str) -> str:
    """Text in which Slack finds neither links nor mentions."""
    return found.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _message(first: str, colour: str, lines: Sequence[str]) -> Request:
    body = {"text": "\n".join(lines), "color": colour, "mrkdwn_in": ["text"], "fallback": first}
    return Request(encoded({"text": escaped(first), "attachments": [body] if lines else []}))
