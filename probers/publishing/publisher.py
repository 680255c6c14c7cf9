"""What every publisher offers, and its errors. ``destination`` selects one by its address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Protocol


class PublishError(RuntimeError):
    """The destination cannot be reached; one line: what, where, what to do."""


class PublishUsageError(ValueError):
    """The destination's address, or an option for it, is invalid."""


class Publisher(Protocol):
    """Queues messages and never blocks the prober. What cannot be queued or delivered is counted:
    queued, delivered, overflow (dropped because the buffer was full), failed.
    """

    @property
    def counts(self) -> Counter[str]:
        """Messages by outcome."""

    def connect(self, timeout_s: float) -> None:
        """Return when the destination was reached; raises PublishError after ``timeout_s``."""

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Queue one message; False when it had to be dropped (and was counted).

        headers  in addition to the publisher's own: a relay's (see ``probers.publishing.signer``)
        """

    def poll(self) -> None:
        """Called about once a second from the prober's loop."""

    def close(self, timeout_s: float) -> int:
        """Deliver what is queued within ``timeout_s``; returns how many messages were not."""
