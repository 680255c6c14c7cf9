"""Publishing to a file: one JSON line per message, for inspection by hand."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from probers.publishing.publisher import PublishError


class FilePublisher:
    """Appends one JSON line per message to ``path``; ``-`` is standard output."""

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
        """Write the message now; headers are left out."""
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
        """Nothing is queued."""

    def close(self, timeout_s: float) -> int:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        return 0
