"""A relay's sink that stores the messages, and a publisher that is connected to the relay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builders.waiting import HANG_S
from probers.publishing.relay import Headers
from probers.publishing.unix import UnixPublisher


class StoredMessages:
    """A sink; ``messages`` are topic, key, headers and payload."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, Headers, bytes]] = []

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        self.messages.append((topic, key, headers, payload))


def connected(path: Path, **options: Any) -> UnixPublisher:
    """A publisher whose relay was reached."""
    publisher = UnixPublisher(str(path), **options)
    publisher.connect(HANG_S)
    return publisher
