"""Messages of skh.windows of which only the time matters."""

from __future__ import annotations

from collections.abc import Sequence

from schemas import topics
from schemas.wire import window_chunks
from streams.kafka.messages import OutMessage


def panes(*ends: int, size: int = 1) -> list[OutMessage]:
    return [
        OutMessage(
            topics.WINDOWS.name,
            b"f",
            b"x" * size,
            window_chunks.Header("pane", "f", e - 1, e).to_kafka(),
        )
        for e in ends
    ]


def end_seconds(messages: Sequence[OutMessage]) -> list[int]:
    return [int(dict(each.headers)["end_s"]) for each in messages]


def nothing() -> None:
    """A callback for a step that is not acknowledged."""
