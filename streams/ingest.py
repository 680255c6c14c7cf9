"""skh.pings -> skh.windows."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import faust

from schemas import topics
from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming
from streams import dead_letters
from streams.admission.admission import Admission
from streams.kafka.messages import InMessage, OutMessage
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.output_merger import OutputMerger, Stage
from streams.merge.pending_acks import PendingAcks, acknowledge, in_message
from streams.windowing.partition import PartitionWorker
from streams.windowing.record_counts import RecordCounts
from streams.windowing.windower import SECOND

#: Messages are judged together, so that the cost per call of numpy and Arrow is shared.
_BATCH_MESSAGES: Final = 256
_BATCH_BYTES: Final = 4 * 1024 * 1024
_FLUSH_S: Final = 0.1
_TICK_S: Final = 1.0
_LOG_APPEND_TIME: Final = 1  # of Kafka's time stamp types: the broker's clock, not the sender's

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Lane:
    """One partition in one assignment."""

    worker: PartitionWorker
    pending: list[InMessage] = field(default_factory=list)
    pending_bytes: int = 0
    held: deque[PendingAcks] = field(default_factory=deque)
    quiet: int = 0  # ticks in a row that found it read to its end and nothing new
    arrival_s: float = 0.0  # newest message's


class Ingest:
    """Feeds partition workers, publishes what they say, acknowledges what nobody needs any more.

    An event is acknowledged only when every pane and window that it went into has been published:
    the topic is the recovery log, and a new owner of the partition reads from there.
    """

    def __init__(
        self,
        confluence: OutputMerger,
        timing: WindowTiming = DEFAULT_TIMING,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        reading: ConsumerProgress | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._confluence = confluence
        self._admission = admission
        self._timing = timing
        self._clock_ns = clock_ns
        self._reading = reading or ConsumerProgress()
        self._lanes: dict[int, _Lane] = {}
        self._retired = RecordCounts()
        self._epoch = 0
        self.failures = 0  # times that windowing failed by a defect; only rises
        #: Age of the newest message read of the slowest partition that has more [s]; 0: none has.
        self.lag_s = 0.0
        self._lock = asyncio.Lock()
        confluence.join(Stage(topics.PINGS.name, self._reading, self._front_s, self._left_out))

    @property
    def tally(self) -> RecordCounts:
        """Sum over all partitions since the process started; what was re-read counts again."""
        total = self._retired
        for lane in self._lanes.values():
            total = _sum(total, lane.worker.tally)
        return total

    @property
    def sizes(self) -> Counter[str]:
        """What all windowers remember [count]."""
        total: Counter[str] = Counter()
        for lane in list(self._lanes.values()):
            total.update(lane.worker.sizes())
        return total

    async def take(self, event: Any) -> None:
        """One message of skh.pings."""
        partition, offset = event.message.partition, event.message.offset
        begins = self._reading.take(partition, offset)
        lane = self._lanes.get(partition)
        if lane is None or begins:
            lane = self._open(partition)  # first, or Faust went back to the commit
        incoming = in_message(event)
        incoming = incoming._replace(time_ms=self._arrival_ms(event.message, incoming.time_ms))
        lane.pending.append(incoming)
        lane.pending_bytes += len(incoming.value)
        lane.held.append(PendingAcks(offset, event))
        lane.quiet, lane.arrival_s = 0, incoming.time_ms / 1000
        if len(lane.pending) >= _BATCH_MESSAGES or lane.pending_bytes >= _BATCH_BYTES:
            await self.flush()

    def _arrival_ms(self, message: Any, time_ms: int) -> int:
        """When a message arrived: the broker's word; where a sender stamped it, at most now."""
        if getattr(message, "timestamp_type", None) == _LOG_APPEND_TIME and time_ms > 0:
            return time_ms
        now_ms = self._clock_ns() // 1_000_000
        return min(time_ms, now_ms) if time_ms > 0 else now_ms

    async def flush(self) -> None:
        """Judge what has come in since the last flush."""
        async with self._lock:
            if self._lanes:
                await self._reading.begin()
            for partition, lane in list(self._lanes.items()):
                if lane.pending:
                    messages, lane.pending, lane.pending_bytes = lane.pending, [], 0
                    self._put(partition, lane, self._step(partition, lane, messages))
            await self._confluence.publish()

    async def tick(self) -> None:
        """Once a second: wall-clock punctuation of partitions that have fallen silent.

        The wall's time closes seconds for good, so being late must not look like silence. Silent
        is whose every message has come and been judged, as the broker says when asked, at as many
        ticks in a row as make ``idle_s``: a worker without CPU asks seldom.
        """
        now_ns = self._clock_ns()  # before asking: what had arrived by then is in the answer
        lanes = dict(self._lanes)
        at_end = await self._reading.refresh()
        async with self._lock:
            for partition, lane in lanes.items():
                if self._lanes.get(partition) is not lane:
                    continue  # taken away while we asked
                still = partition in at_end and not lane.pending
                lane.quiet = lane.quiet + 1 if still else 0
                if lane.quiet * _TICK_S >= self._timing.idle_s:
                    self._put(partition, lane, lane.worker.tick(now_ns))
            await self._confluence.publish()
        self.lag_s = max(
            (
                now_ns / SECOND - lane.arrival_s
                for partition, lane in self._lanes.items()
                if self._reading.behind(partition)
            ),
            default=0.0,
        )

    def forget(self) -> None:
        """A rebalance has begun: whatever is open is read again by whoever is assigned."""
        for lane in self._lanes.values():
            self._retire(lane)
        self._lanes.clear()
        self._reading.forget()
        self._confluence.forget(topics.PINGS.name)

    def _open(self, partition: int) -> _Lane:
        if (old := self._lanes.get(partition)) is not None:
            self._retire(old)
            self._confluence.forget(topics.PINGS.name, partition)
        # Wall-clock milliseconds: epochs rise over restarts and moves, and nobody keeps count.
        self._epoch = max(self._epoch + 1, self._clock_ns() // 1_000_000)
        lane = _Lane(self._worker(partition))
        self._lanes[partition] = lane
        return lane

    def _worker(self, partition: int) -> PartitionWorker:
        return PartitionWorker(partition, self._epoch, self._timing, admission=self._admission)

    def _step(self, partition: int, lane: _Lane, messages: list[InMessage]) -> list[OutMessage]:
        """Windowing of some messages; one that it fails on becomes a dead letter."""
        try:
            return lane.worker.step(messages)
        except Exception:  # a defect of ours: it must cost a message, not all partitions for ever
            _log.exception(
                "%s: windowing of partition %d failed between offsets %d and %d; it starts anew",
                topics.PINGS.name, partition, messages[0].offset, messages[-1].offset,
            )  # fmt: skip
        out: list[OutMessage] = []
        self._renew(partition, lane)
        for message in messages:  # the failed worker's state is not to be trusted: one by one
            try:
                out += lane.worker.step([message])
            except Exception as why:  # see above
                self._renew(partition, lane)
                self._retired.messages += 1
                self._retired.records += 1
                self._retired.dead_lettered += 1
                reason = f"windowing failed: {type(why).__name__}: {why}"
                out.append(
                    dead_letters.message(
                        topics.PINGS.name, partition, message.offset, message.value, reason
                    )
                )
        return out

    def _renew(self, partition: int, lane: _Lane) -> None:
        """A fresh worker for a partition; records in panes that were open are given up."""
        self.failures += 1
        tally = lane.worker.tally
        self._retired = _sum(self._retired, replace(tally, held=0, late=tally.late + tally.held))
        self._epoch += 1
        lane.worker = self._worker(partition)

    def _retire(self, lane: _Lane) -> None:
        tally = lane.worker.tally
        tally.records, tally.held = tally.records - tally.held, 0  # these will be read again
        self._retired = _sum(self._retired, tally)

    def _put(self, partition: int, lane: _Lane, messages: list[OutMessage]) -> None:
        needed = lane.worker.needed_offset()

        def done() -> None:
            if self._lanes.get(partition) is lane:  # else it was revoked while we were publishing
                acknowledge(lane.held, needed)

        self._confluence.put((topics.PINGS.name, partition), messages, done)

    def _front_s(self, partition: int) -> int:
        lane = self._lanes.get(partition)
        return lane.worker.watermark_ns // SECOND if lane else 0

    def _left_out(self, partition: int) -> None:
        if (lane := self._lanes.get(partition)) is not None:
            self._put(partition, lane, lane.worker.leave_out())


def attach(
    app: faust.App,
    confluence: OutputMerger,
    reading: ConsumerProgress,
    timing: WindowTiming = DEFAULT_TIMING,
    admission: Admission | None = None,
) -> Ingest:
    """Make the agent of skh.pings and its clock; returns the stage for its counts."""
    name = topics.PINGS.name
    inbox = app.topic(name, key_serializer="raw", value_serializer="raw", value_type=bytes)
    stage = Ingest(confluence, timing, reading=reading, admission=admission)

    @app.agent(inbox, name="streams.ingest")
    async def ingest(stream: Any) -> AsyncIterator[None]:
        async for event in stream.noack().events():
            await stage.take(event)
            yield None

    @app.task  # type: ignore[untyped-decorator]  # Faust ships no types
    async def flush() -> None:
        while not app.should_stop:
            await asyncio.sleep(_FLUSH_S)
            await stage.flush()

    @app.task  # type: ignore[untyped-decorator]
    async def tick() -> None:  # not in line with flushes: a broker may be slow to answer
        while not app.should_stop:
            await asyncio.sleep(_TICK_S)
            await stage.tick()

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.forget()

    return stage


def _sum(a: RecordCounts, b: RecordCounts) -> RecordCounts:
    return RecordCounts(
        *(getattr(a, each.name) + getattr(b, each.name) for each in fields(RecordCounts))
    )
