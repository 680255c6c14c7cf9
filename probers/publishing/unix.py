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
    """Frames wait in a buffer of ``max_bytes`` while the relay is away; then the oldest go first.

    A frame that was being written when the connection broke is written again in full: the relay
    ignores the half that it got. What the kernel had taken from us but a dying relay had not read
    is lost without a trace here; heartbeats' cumulative counts show it to the analyser.
    """

    def __init__(
        self, path: str, *, max_bytes: int = 16 * 1024 * 1024, signer: Signer | None = None
    ) -> None:
        self._signer = signer or Signer()
        self.counts: Counter[str] = Counter()
        self._path, self._max_bytes = path, max_bytes
        self._buffer: deque[bytes] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._socket: socket.socket | None = None
        self._closing = False
        self._give_up_at = float("inf")
        self._thread = threading.Thread(target=self._run, name="publish", daemon=True)

    def connect(self, timeout_s: float) -> None:
        """Reach the relay, then start the thread."""
        give_up_at = monotonic() + timeout_s
        while (why := self._dial()) is not None:
            if monotonic() >= give_up_at:
                raise PublishError(
                    f"unix:{self._path}: {why.strerror or why}; "
                    "is the relay (skeletonhunter up, or the host's agent) running?"
                ) from why
            with self._changed:
                self._changed.wait(_RETRY_S)
        self._thread.start()

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Queue one message; the oldest ones make room for it."""
        signed = self._signer.headers(topic, content_type, payload, headers)
        del signed[topics.CONTENT_TYPE]  # a field of its own
        try:
            raw = frames.pack(frames.Frame(topic, key, content_type, payload, signed))
        except frames.FrameError:
            self.counts["failed"] += 1
            return False
        with self._changed:
            while self._buffer and self._size + len(raw) > self._max_bytes:
                self._size -= len(self._buffer.popleft())
                self.counts["overflow"] += 1
            self._buffer.append(raw)
            self._size += len(raw)
            self.counts["queued"] += 1
            self._changed.notify()
        return True

    def poll(self) -> None:
        """The thread does the work."""

    def close(self, timeout_s: float) -> int:
        """Send what is queued, for at most ``timeout_s``."""
        with self._changed:
            self._closing = True
            self._give_up_at = monotonic() + timeout_s
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(timeout_s + 1.0)
        self._hang_up()
        return len(self._buffer)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._buffer and not self._closing:
                    self._changed.wait()
                if not self._buffer or monotonic() >= self._give_up_at:
                    return
                raw = self._buffer.popleft()
                self._size -= len(raw)
            if self._send(raw):
                self.counts["delivered"] += 1
            else:
                with self._changed:
                    self._buffer.appendleft(raw)
                    self._size += len(raw)
                    if self._closing and monotonic() >= self._give_up_at:
                        return
                    self._changed.wait(_RETRY_S)

    def _send(self, raw: bytes) -> bool:
        if self._socket is None and self._dial() is not None:
            return False
        assert self._socket is not None  # noqa: S101  # _dial has just set it
        try:
            self._socket.sendall(raw)
        except OSError:
            self.counts["reconnects"] += 1
            self._hang_up()
            return False
        return True

    def _dial(self) -> OSError | None:
        relay = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        relay.settimeout(_SEND_TIMEOUT_S)
        try:
            relay.connect(self._path)
        except OSError as why:
            relay.close()
            return why
        self._socket = relay
        return None

    def _hang_up(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None
