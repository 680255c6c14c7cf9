"""skh.pings -> skh.windows."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, fields
from typing import Any, Final

import faust

from schemas import topics
from streams.held import Held, acknowledge, in_message
from streams.messages import InMessage
from streams.partition import PartitionWorker, Tally
from streams.publish import Outbox
from streams.windows import Timing

#: Messages are judged together, so that the cost per call of numpy and Arrow is shared.
_BATCH_MESSAGES: Final = 64
_BATCH_BYTES: Final = 512 * 1024
_FLUSH_S: Final = 0.05
_TICK_S: Final = 1.0


@dataclass(slots=True)
class _Lane:
    """One partition in one assignment."""

    worker: PartitionWorker
    pending: list[InMessage] = field(default_factory=list)
    pending_bytes: int = 0
    held: deque[Held] = field(default_factory=deque)
    heard_at: float = 0.0


class Ingest:
    """Feeds partition workers, publishes what they say, acknowledges what nobody needs any more.

    An event is acknowledged only when every pane and window that it went into has been published:
    the topic is the recovery log, and a new owner of the partition reads from there.
    """

    def __init__(
        self,
        outbox: Outbox,
        timing: Timing | None = None,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        highwater: Callable[[int], int | None] = lambda partition: None,
    ) -> None:
        self._outbox = outbox
        self._timing = timing or Timing()
        self._clock_ns = clock_ns
        self._highwater = highwater
        self._lanes: dict[int, _Lane] = {}
        self._retired = Tally()
        self._epoch = 0
        self._lock = asyncio.Lock()

    @property
    def tally(self) -> Tally:
        """Sum over all partitions since the process started; what was re-read counts again."""
        total = self._retired
        for lane in self._lanes.values():
            total = _sum(total, lane.worker.tally)
        return total

    async def take(self, event: Any) -> None:
        """One message of skh.pings."""
        message = event.message
        partition, offset = message.partition, message.offset
        lane = self._lanes.get(partition)
        if lane is None or (lane.held and offset <= lane.held[-1].offset):
            lane = self._open(partition)  # first, or Faust went back to the commit: begin again
        # A sender's clock may stamp the future; nothing has arrived later than now.
        now_ms = self._clock_ns() // 1_000_000
        incoming = in_message(event)
        incoming = incoming._replace(time_ms=min(incoming.time_ms, now_ms))
        lane.pending.append(incoming)
        lane.pending_bytes += len(incoming.value)
        lane.held.append(Held(offset, event))
        lane.heard_at = time.monotonic()
        if len(lane.pending) >= _BATCH_MESSAGES or lane.pending_bytes >= _BATCH_BYTES:
            async with self._lock:
                await self._flush(partition)

    async def flush(self) -> None:
        """Judge what has come in since the last flush."""
        async with self._lock:
            for partition in list(self._lanes):
                await self._flush(partition)

    async def tick(self) -> None:
        """Wall-clock punctuation of partitions that are read to their end and fell silent."""
        async with self._lock:
            for partition, lane in list(self._lanes.items()):
                silent = time.monotonic() - lane.heard_at > self._timing.idle_s
                end = self._highwater(partition)
                behind = end is not None and (lane.worker.next_offset or 0) < end
                if silent and not behind and not lane.pending:
                    out = lane.worker.tick(self._clock_ns())
                    await self._outbox.send(out)
                    self._acknowledge(partition, lane)

    def forget(self) -> None:
        """A rebalance has begun: whatever is open is read again by whoever is assigned."""
        for lane in self._lanes.values():
            self._retire(lane)
        self._lanes.clear()

    def _open(self, partition: int) -> _Lane:
        if (old := self._lanes.get(partition)) is not None:
            self._retire(old)
        # Wall-clock milliseconds: epochs rise over restarts and moves, and nobody keeps count.
        self._epoch = max(self._epoch + 1, self._clock_ns() // 1_000_000)
        lane = _Lane(PartitionWorker(partition, self._epoch, self._timing))
        self._lanes[partition] = lane
        return lane

    def _retire(self, lane: _Lane) -> None:
        tally = lane.worker.tally
        tally.records, tally.held = tally.records - tally.held, 0  # these will be read again
        self._retired = _sum(self._retired, tally)

    async def _flush(self, partition: int) -> None:
        lane = self._lanes.get(partition)
        if lane is None or not lane.pending:
            return
        messages, lane.pending, lane.pending_bytes = lane.pending, [], 0
        await self._outbox.send(lane.worker.step(messages))
        self._acknowledge(partition, lane)

    def _acknowledge(self, partition: int, lane: _Lane) -> None:
        if self._lanes.get(partition) is lane:  # else it was revoked while we were publishing
            acknowledge(lane.held, lane.worker.needed_offset())


def attach(app: faust.App, outbox: Outbox, timing: Timing | None = None) -> Ingest:
    """Make the agent of skh.pings and its clock; returns the stage for its counts."""
    name = topics.PINGS.name
    inbox = app.topic(name, key_serializer="raw", value_serializer="raw", value_type=bytes)
    stage = Ingest(
        outbox, timing, highwater=lambda p: app.consumer.highwater(faust.types.TP(name, p))
    )

    @app.agent(inbox, name="streams.ingest")
    async def ingest(stream: Any) -> AsyncIterator[None]:
        async for event in stream.noack().events():
            await stage.take(event)
            yield None

    @app.task  # type: ignore[untyped-decorator]  # Faust ships no types
    async def flush() -> None:
        ticked = time.monotonic()
        while not app.should_stop:
            await asyncio.sleep(_FLUSH_S)
            await stage.flush()
            if time.monotonic() - ticked >= _TICK_S:
                ticked = time.monotonic()
                await stage.tick()

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.forget()

    return stage


def _sum(a: Tally, b: Tally) -> Tally:
    return Tally(*(getattr(a, each.name) + getattr(b, each.name) for each in fields(Tally)))
