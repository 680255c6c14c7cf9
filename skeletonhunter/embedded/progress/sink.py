"""How far the sink has come while the demo plays: the embedded broker forgets what waits for long.

The sink has no event time, so offsets stand for it: where its topics ended when a second had been
judged. Once it has committed all of them, that second is stored, with its windows.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its __init__ has no __all__
    AdminClient,
    OffsetSpec,
)

from skeletonhunter.embedded.progress.worker import Sleep, moved
from streams.sink.batch import TOPICS
from streams.sink.sink import GROUP

#: Offsets by topic and partition.
Offsets = Mapping[tuple[str, int], int]
_TIMEOUT_S: Final = 10.0
_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # it has no annotations


class SinkOffsets:
    """Asks the embedded broker where the sink's topics end, and what the sink has committed."""

    def __init__(self, bootstrap: str) -> None:
        quiet = {"log_level": 2}  # the broker ends with the process, as in ``runtime``
        self._admin = AdminClient({"bootstrap.servers": bootstrap, **quiet})
        # It never subscribes, only asks: it is no member of the group, and needs no close.
        self._group = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, **quiet})
        known = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        self._partitions = [
            TopicPartition(topic.name, partition)
            for topic in TOPICS
            for partition in known[topic.name].partitions
        ]

    def ends(self) -> Offsets:
        """One past the last message of each partition."""
        asked = self._admin.list_offsets(
            dict.fromkeys(self._partitions, _LATEST), request_timeout=_TIMEOUT_S
        )
        return {(at.topic, at.partition): end.result().offset for at, end in asked.items()}

    def stored(self) -> Offsets:
        """One past the last message that is stored; below 0 where none is."""
        found = self._group.committed(self._partitions, timeout=_TIMEOUT_S)
        return {(each.topic, each.partition): each.offset for each in found}


class SinkProgress:
    """Waits for the sink as long as it stores anything: slow is not stalled.

    judged_s      event time that the worker has judged [s]
    ends, stored  as of ``SinkOffsets``; called on threads
    sleep         waits so many seconds; a test passes one that returns at once
    """

    def __init__(
        self,
        judged_s: Callable[[], float],
        ends: Callable[[], Offsets],
        stored: Callable[[], Offsets],
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._judged_s = judged_s
        self._ends = ends
        self._stored = stored
        self._sleep = sleep
        self._marks: deque[tuple[float, Offsets]] = deque()  # by event time; not stored yet
        self._stopped = False
        self.stored_s = 0.0  # event time

    async def update(self) -> tuple[float, ...]:
        """Set ``stored_s``; returns figures that change while the worker and the sink work."""
        judged_s = self._judged_s()  # before the ends: its windows are in the topics
        self._marks.append((judged_s, await asyncio.to_thread(self._ends)))
        stored = await asyncio.to_thread(self._stored)
        while self._marks and _has(stored, self._marks[0][1]):
            self.stored_s = self._marks.popleft()[0]
        return (judged_s, *stored.values())

    async def until(self, second: float, tick: Callable[[], None]) -> bool:
        """Wait until event time up to ``second`` is stored; False when the sink has stopped.

        Then, later calls do not wait again: the demo goes on without the sink.

        tick  called at each look
        """
        if self.stored_s < second and not self._stopped:
            self._stopped = not await moved(
                self.update, lambda: self.stored_s >= second, tick, self._sleep
            )
        return not self._stopped


def _has(stored: Offsets, ends: Offsets) -> bool:
    return all(stored.get(at, 0) >= end for at, end in ends.items() if end > 0)
