"""After a rebalance each partition is read from its committed offset on, with no message left out.

Faust leaves messages out there, and no counter shows it:

- Where nothing is committed yet, it does not seek. What was fetched before the streams are resumed
  has been dropped by then, and the partition goes on behind it.
- It seeks while it still fetches. What was fetched at the old position is delivered after that, and
  what is read again from the committed offset is taken for old then, and dropped.
- What it has fetched when a rebalance stops the flow it drops, and seeks at a time of its own.

Here the flow is stopped and the fetch waited for, then all partitions are sought.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiokafka.consumer.fetcher import OffsetResetStrategy
from faust.transport.drivers import aiokafka as driver


class SeekingThread(driver.AIOKafkaConsumerThread):
    """The thread of Faust's consumer; goes to the beginning where nothing is committed."""

    async def seek_to_committed(self) -> Mapping[Any, int]:
        """Partition -> its committed offset; see ``SeekingConsumer.perform_seek``."""
        found: Mapping[Any, int] = await self.call_thread(self._seek_to_committed)
        return found

    async def _seek_to_committed(self) -> Mapping[Any, int]:
        consumer = self._ensure_consumer()
        committed: Mapping[Any, int] = await consumer.seek_to_committed()
        # It need not be known yet where they begin: a leader that is down must not hold up others.
        begin = [tp for tp, offset in committed.items() if not offset or offset < 0]
        assignment = consumer._subscription.subscription.assignment  # noqa: SLF001
        begin = [tp for tp in begin if assignment and assignment.state_value(tp) is not None]
        if begin:
            consumer._fetcher.request_offset_reset(begin, OffsetResetStrategy.EARLIEST)  # noqa: SLF001
        return committed


class SeekingConsumer(driver.Consumer):
    """Faust's consumer, which seeks while nothing is being fetched or delivered."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._not_fetching = asyncio.Event()
        self._not_fetching.set()

    async def perform_seek(self) -> None:
        """Go to the committed offsets; the caller resumes the flow."""
        self.stop_flow()
        await self._not_fetching.wait()
        await super().perform_seek()

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109 — Faust's
        self._not_fetching.clear()
        try:
            records = await super()._getmany(active_partitions, timeout)
        finally:
            self._not_fetching.set()
        # None: a rebalance has stopped the flow, and seeks when it is over.
        return records if self.flow_active else None
