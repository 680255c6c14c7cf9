"""Faust events that are not acknowledged yet, because what was made of them may be needed again."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from streams.kafka.messages import InMessage


class PendingAcks(NamedTuple):
    """An event and its offset; its payload has been dropped."""

    offset: int
    event: Any


def in_message(event: Any) -> InMessage:
    """The event as a plain value. Its payload moves: held events must not hold the bytes too."""
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


def acknowledge(held: deque[PendingAcks], before: int) -> None:
    """Let Faust commit up to ``before``."""
    while held and held[0].offset < before:
        held.popleft().event.ack()
