"""A JSON document for any program, signed so that the receiver knows who sent it and when.

The signature is HMAC-SHA256 over ``<time>.<body>``; the time is in it, so that a message that was
overheard cannot be sent again later. As GitHub and Stripe do it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from notifier.decisions.changes import Notification
from notifier.messages import text
from notifier.messages.requests import Request, encoded
from schemas.documents.times import rfc3339

SIGNATURE: Final = "X-SkeletonHunter-Signature"
IDEMPOTENCY: Final = "Idempotency-Key"
VERSION: Final = 1


def document(
    notification: Notification, page_url: str, secret: bytes | None, now_s: float
) -> Request:
    """One notification with the whole incident."""
    body = {
        "version": VERSION,
        "type": notification.change,
        **_described(notification, page_url),
        "incident": msgspec.to_builtins(notification.incident),
    }
    return _request(body, notification.key, secret, now_s)


def summary(
    notifications: Sequence[Notification],
    window_s: float,
    page_url: str,
    secret: bytes | None,
    now_s: float,
) -> Request:
    """Several notifications: each with its incident's id, sentence and page."""
    body = {
        "version": VERSION,
        "type": "summary",
        "text": text.summary_sentence(notifications, window_s),
        "page": text.page(page_url),
        "notifications": [
            {"type": each.change, "severity": each.incident.severity,
             "component": each.incident.component, **_described(each, page_url)}
            for each in notifications
        ],
    }  # fmt: skip
    return _request(body, f"summary:{notifications[0].key}", secret, now_s)


def signature(secret: bytes, time_s: int, body: bytes) -> str:
    """The value of the header, ``t=<time>,v1=<hex>``."""
    mac = hmac.new(secret, f"{time_s}.".encode() + body, hashlib.sha256)
    return f"t={time_s},v1={mac.hexdigest()}"


def _described(notification: Notification, page_url: str) -> dict[str, Any]:
    return {
        "key": notification.key,
        "incident_id": notification.incident.incident_id,
        "explained_by": notification.incident.parent if notification.explained else None,
        "text": text.sentence(notification),
        "page": text.page(page_url, notification.incident),
    }


def _request(body: dict[str, Any], key: str, secret: bytes | None, now_s: float) -> Request:
    raw = encoded({**body, "sent_at": rfc3339(int(now_s * 1e9))})
    headers = {IDEMPOTENCY: key}
    if secret is not None:
        headers[SIGNATURE] = signature(secret, int(now_s), raw)
    return Request(raw, headers=headers)
