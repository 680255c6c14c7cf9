"""Where messages go: Kafka, the relay on a unix socket, or a file. Picked by ``publish_to``."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from probers.publishing.signer import Signer


class PublishError(RuntimeError):
    """The place to publish to cannot be reached; one line: what, where, what to do."""


class PublishUsageError(ValueError):
    """The place to publish to is spelt wrongly."""


class Publisher(Protocol):
    """Takes messages without ever blocking the prober. What cannot be kept is counted.

    counts: queued, delivered, overflow (dropped because the buffer was full), failed.
    """

    counts: Counter[str]

    def connect(self, timeout_s: float) -> None:
        """Return when the other side was reached; raises PublishError after ``timeout_s``."""

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Queue one message; False when it had to be dropped (and was counted).

        headers  in addition to its own: what a relay adds (see ``probers.publishing.signer``)
        """

    def poll(self) -> None:
        """Called about once a second from the prober's loop."""

    def close(self, timeout_s: float) -> int:
        """Deliver what is queued, for at most ``timeout_s``; returns how many messages remain."""


class FilePublisher:
    """Appends one JSON line a message: to look at, not to keep. ``-`` is standard output."""

    def __init__(self, path: str) -> None:
        self.counts: Counter[str] = Counter()
        self._path = path
        self._file: Any = None

    def connect(self, timeout_s: float) -> None:
        """Open the file."""
        try:
            target = os.dup(sys.stdout.fileno()) if self._path == "-" else Path(self._path)
            self._file = open(target, "ab", buffering=0)  # noqa: SIM115  # open until close()
        except OSError as why:
            raise PublishError(f"file:{self._path}: {why.strerror}; give a writable path") from why

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Write it now; without headers, which are for machines."""
        text = content_type.endswith("json")
        body = payload.decode() if text else payload  # msgspec writes bytes as base64
        line = {"topic": topic, "key": key, "content-type": content_type, "payload": body}
        self.counts["queued"] += 1
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
        except OSError:
            self.counts["failed"] += 1
            return False
        self.counts["delivered"] += 1
        return True

    def poll(self) -> None:
        """Nothing waits."""

    def close(self, timeout_s: float) -> int:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        return 0


def publish_to(
    place: str,
    *,
    compression: str = "zstd",
    signer: Signer | None = None,
    kafka: Mapping[str, str] | None = None,
) -> Publisher:
    """``unix:PATH``, ``kafka:HOST:PORT[,HOST:PORT]`` or ``file:PATH`` (``file:-``: stdout).

    signer  signs what goes to Kafka or a relay; kafka: further librdkafka settings
    Raises PublishUsageError when it is none of them. Connects to nothing yet.
    """
    scheme, _, rest = place.partition(":")
    if rest and scheme == "file":
        return FilePublisher(rest)
    if rest and scheme == "unix":
        from probers.publishing.unix import UnixPublisher

        return UnixPublisher(rest, signer=signer)
    if rest and scheme == "kafka":
        from probers.publishing.kafka import KafkaPublisher  # librdkafka is loaded only when needed

        return KafkaPublisher(rest, compression=compression, signer=signer, options=kafka)
    raise PublishUsageError(
        f"cannot publish to {place!r}; give unix:PATH, kafka:HOST:PORT or file:PATH"
    )
