"""Publishing through the relay's unix socket: a thread, a bounded buffer, reconnection."""

from __future__ import annotations

import socket
import threading
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Final

from probers.publishing import frames
from probers.publishing.publisher import PublishError
from probers.publishing.signer import Signer
from schemas import topics

_RETRY_S: Final = 0.2
_SEND_TIMEOUT_S: Final = 5.0


class UnixPublisher:
    """Buffers up to ``max_bytes`` while the relay is away; the oldest frames are dropped first.

    A frame that was being written when the connection broke is written again in full: the relay
    ignores the incomplete one. Frames that the kernel had accepted and the relay did not read are
    lost and not counted here; the cumulative counts in heartbeats show the analyzer the gap.
    """

    def __init__(
        self, path: str, *, max_bytes: int = 16 * 1024 * 1024, signer: Signer | None = None
    ) -> None:
        self._signer = signer or Signer()
        self.counts: Counter[str] = Counter()
        self._path, self._max_bytes = path, max_bytes
        self._buffer: deque[bytes] = deque()
        self._size = 0
        self._condition = threading.Condition()
        self._socket: socket.socket | None = None
        self._closing = False
        self._deadline_s = float("inf")
        self._thread = threading.Thread(target=self._run, name="publish", daemon=True)

    def connect(self, timeout_s: float) -> None:
        """Connect to the relay, then start the thread."""
        deadline_s = monotonic() + timeout_s
        while (why := self._connect_socket()) is not None:
            if monotonic() >= deadline_s:
                raise PublishError(
                    f"unix:{self._path}: {why.strerror or why}; "
                    "is the relay (skeletonhunter up, or the host's agent) running?"
                ) from why
            with self._condition:
                self._condition.wait(_RETRY_S)
        self._thread.start()

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Queue one message; the oldest ones are dropped when the buffer is full."""
        signed = self._signer.headers(topic, content_type, payload, headers)
        del signed[topics.CONTENT_TYPE]  # a field of the frame
        try:
            raw = frames.pack(frames.Frame(topic, key, content_type, payload, signed))
        except frames.FrameError:
            self.counts["failed"] += 1
            return False
        with self._condition:
            while self._buffer and self._size + len(raw) > self._max_bytes:
                self._size -= len(self._buffer.popleft())
                self.counts["overflow"] += 1
            self._buffer.append(raw)
            self._size += len(raw)
            self.counts["queued"] += 1
            self._condition.notify()
        return True

    def poll(self) -> None:
        """Nothing to do: the thread sends."""

    def close(self, timeout_s: float) -> int:
        """Send what is queued, for at most ``timeout_s``; returns how many frames were not sent."""
        with self._condition:
            self._closing = True
            self._deadline_s = monotonic() + timeout_s
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout_s + 1.0)
        self._disconnect()
        return len(self._buffer)

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._buffer and not self._closing:
                    self._condition.wait()
                if not self._buffer or monotonic() >= self._deadline_s:
                    return
                raw = self._buffer.popleft()
                self._size -= len(raw)
            if self._send(raw):
                self.counts["delivered"] += 1
            else:
                with self._condition:
                    self._buffer.appendleft(raw)
                    self._size += len(raw)
                    if self._closing and monotonic() >= self._deadline_s:
                        return
                    self._condition.wait(_RETRY_S)

    def _send(self, raw: bytes) -> bool:
        if self._socket is None and self._connect_socket() is not None:
            return False
        assert self._socket is not None  # noqa: S101  # set by _connect_socket
        try:
            self._socket.sendall(raw)
        except OSError:
            self.counts["reconnects"] += 1
            self._disconnect()
            return False
        return True

    def _connect_socket(self) -> OSError | None:
        relay = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        relay.settimeout(_SEND_TIMEOUT_S)
        try:
            relay.connect(self._path)
        except OSError as why:
            relay.close()
            return why
        self._socket = relay
        return None

    def _disconnect(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None
