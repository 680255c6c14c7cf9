"""Agents' messages between the relay's thread and the pipeline: what a broker is in production."""

from __future__ import annotations

import threading
from typing import NamedTuple

from probers.publishing.relay import Headers
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.requests import evidence
from schemas.documents.requests.evidence import Answer


class Messages(NamedTuple):
    """What has come: ping messages with their content types, heartbeats, answers to requests."""

    pings: list[tuple[bytes, str]]
    beats: list[Heartbeat]
    answers: list[Answer]


class Inbox:
    """The relay's sink: holds messages until the next turn of the pipeline."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = Messages([], [], [])

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        """Add a message; runs in the relay's thread."""
        with self._lock:
            if topic == topics.PINGS.name:
                self._held.pings.append((payload, headers[topics.CONTENT_TYPE].decode()))
            elif topic == topics.EVIDENCE.name:
                self._held.answers.append(Answer(evidence.parse(payload)))
            else:
                self._held.beats.append(heartbeat.decode(payload))

    def drain(self) -> Messages:
        """All messages since the last call."""
        with self._lock:
            drained, self._held = self._held, Messages([], [], [])
        return drained
