"""Faust events that are not acknowledged yet, because they may have to be read again."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from streams.kafka.messages import InMessage


class PendingAck(NamedTuple):
    """An event without its payload, and its offset."""

    offset: int
    event: Any


def to_message(event: Any) -> InMessage:
    """The event as a plain value; its payload moves, so that a pending event does not hold it."""
    message = event.message
    value = message.value if isinstance(message.value, bytes) else b""
    headers = message.headers or {}
    pairs = headers.items() if isinstance(headers, dict) else headers
    out = InMessage(
        message.offset,
        round((message.timestamp or 0.0) * 1000),
        value,
        {name: bytes(text) for name, text in pairs if text is not None},
        message.key if isinstance(message.key, bytes) else b"",
    )
    message.value = event.value = None
    return out


def acknowledge(pending: deque[PendingAck], before: int) -> None:
    """Let Faust commit up to offset ``before``."""
    while pending and pending[0].offset < before:
        pending.popleft().event.ack()
