"""Messages through a relay: a sink that stores them, a connected publisher, raw frames."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from builders.agents.waiting import HANG_S
from probers.publishing import frames
from probers.publishing.relay import Headers
from probers.publishing.unix import UnixPublisher
from schemas import topics


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


def frame(payload: bytes) -> bytes:
    """The bytes of a frame with ping records."""
    return frames.pack(frames.Frame(topics.PINGS.name, "host-1", topics.ARROW, payload))


def try_send(client: socket.socket, raw: bytes) -> None:
    """Send as much as the relay accepts before it closes the connection."""
    with suppress(OSError):
        client.sendall(raw)
