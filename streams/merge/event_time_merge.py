"""Merges the outputs of several partitions in event-time order. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas import topics
from streams.kafka.messages import OutMessage
from streams.merge.parameters import MERGE

Partition = tuple[str, int]  # topic, partition number
OnPublished = Callable[[], None]


class _Entry(NamedTuple):
    """A message; or the end of a step, with the callback of the step."""

    end_s: int
    message: OutMessage | None
    on_published: OnPublished | None


@dataclass(slots=True)
class Released:
    """Messages to publish, in order, and the callbacks to call after that.

    early  messages released before their time, because the buffer is full [count]
    """

    messages: list[OutMessage] = field(default_factory=list)
    callbacks: list[OnPublished] = field(default_factory=list)
    early: int = 0


class EventTimeMerge:
    """Buffers the outputs of several partitions; the order within a partition never changes."""

    def __init__(self, max_bytes: int = MERGE.buffer_bytes) -> None:
        self._max_bytes = max_bytes
        self._queues: dict[Partition, deque[_Entry]] = {}
        self.buffered_bytes = 0  # of payload

    def add(
        self, partition: Partition, messages: Sequence[OutMessage], on_published: OnPublished
    ) -> None:
        """Buffer the output of one step; ``on_published`` is released after its last message."""
        queue = self._queues.setdefault(partition, deque())
        end_s = queue[-1].end_s if queue else 0
        for message in messages:
            if message.topic == topics.WINDOWS.name:  # dead letters have no event time
                end_s = max(end_s, int(dict(message.headers)["end_s"]))
            queue.append(_Entry(end_s, message, None))
            self.buffered_bytes += len(message.value)
        queue.append(_Entry(end_s, None, on_published))

    def reach_s(self, until_s: int | None) -> dict[Partition, int]:
        """Partition -> event time that it would reach by ``release``; those that would stay out."""
        reach = {key: queue[-1].end_s for key, queue in self._queues.items() if queue}
        if until_s is not None:
            reach = {key: min(end_s, until_s) for key, end_s in reach.items()}
        return {key: end_s for key, end_s in reach.items() if self._queues[key][0].end_s <= end_s}

    def release(self, until_s: int | None) -> Released:
        """Remove and return everything up to ``until_s``, by event time, then by partition.

        until_s  event time that all awaited partitions have reached [s]; None: release everything
        While the buffer is above its limit, the oldest messages are released too.
        """
        out = Released()
        while True:
            heads = [(queue[0].end_s, key) for key, queue in self._queues.items() if queue]
            end_s, key = min(heads, default=(0, ("", 0)))
            early = until_s is not None and end_s > until_s
            if not heads or (early and self.buffered_bytes <= self._max_bytes):
                return out
            queue = self._queues[key]
            while queue and queue[0].end_s <= end_s:
                entry = queue.popleft()
                if entry.message is not None:
                    out.messages.append(entry.message)
                    out.early += early
                    self.buffered_bytes -= len(entry.message.value)
                if entry.on_published is not None:
                    out.callbacks.append(entry.on_published)

    def discard(self, topic: str, partition: int | None = None) -> None:
        """Drop the output of a partition (None: of a topic), which will be produced again."""
        for key in list(self._queues):
            if key[0] == topic and partition in (None, key[1]):
                dropped = self._queues.pop(key)
                self.buffered_bytes -= sum(
                    len(each.message.value) for each in dropped if each.message
                )
