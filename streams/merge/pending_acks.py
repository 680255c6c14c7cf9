"""Faust events that are not acknowledged yet, because they may have to be read again."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from streams.kafka.messages import InMessage


class PendingAck(NamedTuple):
    """An event without its payload, and the offset of its last message."""

    offset: int
    event: Any


def to_message(event: Any) -> InMessage:
    """The event as a plain value; payload and headers move, so that a pending event holds neither.

    Headers are many small objects, and thousands of messages of skh.windows are pending.
    """
    message = event.message
    out = _plain(message, round((message.timestamp or 0.0) * 1000))
    message.value = event.value = None
    message.headers = event.headers = {}
    return out


def to_messages(event: Any) -> list[tuple[InMessage, int]]:
    """The messages of a batch, and the kind of each one's time stamp; the payload moves as above.

    event  whose value is a batch of aiokafka's records (``streams.kafka.faust_client.batches``)
    """
    out = [(_plain(each, each.timestamp or 0), each.timestamp_type) for each in event.message.value]
    event.message.value = event.value = None
    return out


def _plain(record: Any, time_ms: int) -> InMessage:
    headers = record.headers or {}
    pairs = headers.items() if isinstance(headers, dict) else headers
    return InMessage(
        record.offset,
        time_ms,
        record.value if isinstance(record.value, bytes) else b"",
        {name: bytes(text) for name, text in pairs if text is not None},
        record.key if isinstance(record.key, bytes) else b"",
    )


def acknowledge(pending: deque[PendingAck], before: int) -> None:
    """Let Faust commit up to offset ``before``."""
    while pending and pending[0].offset < before:
        pending.popleft().event.ack()
