"""What waits for a Faust agent, bounded in bytes.

Faust bounds it in messages, 4,096 of a topic. Those of skh.windows have 100 to 300 kB each, so that
a worker that cannot keep up would hold a gigabyte of them.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import faust
from mode.utils.queues import ThrowableQueue

from streams.kafka.faust_client.batches import DEFAULT


class Inbox(ThrowableQueue[Any]):
    """A queue of events that is as full as its messages or their bytes make it.

    From 0.8 of its size on Faust fetches no more of a topic; when it is full, nothing is delivered
    until the agent has taken an event.
    """

    def __init__(
        self, maxsize: int = 0, *, max_bytes: int = DEFAULT.waiting_bytes, **options: Any
    ) -> None:
        """max_bytes  of payload that fill it; options: mode's"""
        self._max_bytes = max_bytes
        self._sizes: deque[int] = deque()
        self.waiting_bytes = 0  # of payload
        super().__init__(maxsize, **options)

    def qsize(self) -> int:
        """Events that wait; more where their bytes fill a greater part of it."""
        filled = math.ceil(self.maxsize * self.waiting_bytes / self._max_bytes)
        return max(super().qsize(), filled)

    def clear(self) -> None:
        """Forget all that waits: the consumer begins anew at another offset."""
        super().clear()
        self._sizes.clear()
        self.waiting_bytes = 0

    def _put(self, item: Any) -> None:
        self._sizes.append(_payload_bytes(item))
        self.waiting_bytes += self._sizes[-1]
        super()._put(item)

    def _get(self) -> Any:
        self.waiting_bytes -= self._sizes.popleft()
        return super()._get()


class App(faust.App):
    """Faust's app with inboxes that are bounded in bytes."""

    def FlowControlQueue(
        self, maxsize: int | None = None, *, clear_on_resume: bool = False
    ) -> Inbox:
        """A queue of the app."""
        return Inbox(maxsize or 0, flow_control=self.flow_control, clear_on_resume=clear_on_resume)


def _payload_bytes(item: Any) -> int:
    """Bytes of the payload of an event; of a batch, of all its messages."""
    value = getattr(getattr(item, "message", None), "value", None)
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, list):
        return sum(len(each.value or b"") for each in value)
    return 0
