"""skh.pings -> skh.windows."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

import faust
import numpy as np

from schemas import topics
from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming
from streams.admission.admission import Admission
from streams.admission.decoded import Decoded, decode
from streams.admission.replays import Replays
from streams.kafka.faust_client import batches
from streams.kafka.messages import OutMessage
from streams.merge.broker_clock import BrokerClock
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.output_merger import MergeInput, OutputMerger
from streams.merge.parameters import INGEST
from streams.merge.pending_acks import PendingAck, acknowledge, to_messages
from streams.partition_state import PartitionState
from streams.windowing.partition import PartitionWorker
from streams.windowing.record_counts import RecordCounts
from streams.windowing.windower import SECOND

_log = logging.getLogger(__name__)

_LOG_APPEND_TIME: Final = 1  # of Kafka's time stamp types: the broker's clock, not the sender's

#: Partition, epoch -> its windower.
MakeWorker = Callable[[int, int], PartitionWorker]


class Ingest:
    """Windows the messages of each partition, publishes the result, then acknowledges.

    An event is acknowledged when every pane and window that holds its records has been published:
    the topic is the recovery log, and the partition's next owner reads from the committed offset.

    failures  times that windowing failed, by a defect of ours; only rises
    lag_s     age of the newest message read, of the slowest partition that has more [s]; 0: none
    """

    def __init__(
        self,
        merger: OutputMerger,
        timing: WindowTiming = DEFAULT_TIMING,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        elapsed_ns: Callable[[], int] = time.monotonic_ns,
        progress: ConsumerProgress | None = None,
        admission: Admission | None = None,
        make_worker: MakeWorker | None = None,
    ) -> None:
        """clock_ns, elapsed_ns  see ``BrokerClock``
        make_worker  None: windowers with this timing; each with this admission
        """
        self._admission = admission or Admission()
        self._merger = merger
        self._timing = timing
        self._clock_ns = clock_ns
        self._brokers = BrokerClock(clock_ns, elapsed_ns)
        self._progress = progress or ConsumerProgress()
        self._make_worker = make_worker or (
            lambda partition, epoch: PartitionWorker(
                partition, epoch, self._timing, admission=self._admission
            )
        )
        self._partitions: dict[int, PartitionState] = {}
        self._revoked_counts = RecordCounts()
        self._revoked_failures = 0
        self._returning: dict[int, int] = {}  # partition -> ticks until its silence counts
        self._epoch = 0
        self.lag_s = 0.0
        self._lock = asyncio.Lock()
        merger.register(
            MergeInput(
                topics.PINGS.name, self._progress, self._event_time_s, self._unprocessed,
                self._mark_idle,
            )
        )  # fmt: skip

    @property
    def counts(self) -> RecordCounts:
        """Of all partitions since the process started; a record that is read twice counts twice."""
        total = self._revoked_counts
        for state in self._partitions.values():
            total = total + state.counts
        return total

    @property
    def failures(self) -> int:
        return self._revoked_failures + sum(each.failures for each in self._partitions.values())

    @property
    def missing(self) -> int:
        """Messages that the broker no longer had [count]."""
        return self._progress.missing

    @property
    def sizes(self) -> Counter[str]:
        """Entries in the memory of all windowers, by kind [count]."""
        total: Counter[str] = Counter()
        for state in list(self._partitions.values()):
            total.update(state.worker.sizes())
        return total

    async def consume(self, event: Any) -> None:
        """Take in a batch of messages of one partition of skh.pings."""
        partition, last = event.message.partition, event.message.offset
        state = self._partitions.get(partition)
        for message, time_kind in to_messages(event):
            begins = self._progress.record(partition, message.offset)
            if state is None or begins:  # assigned, or Faust went back to the committed offset
                state = self._open(partition)
            arrived_ms = self._arrival_ms(message.time_ms, time_kind)
            self._brokers.observe(arrived_ms * 1_000_000)
            state.inbox.append(message._replace(time_ms=arrived_ms))
            state.inbox_bytes += len(message.value)
            state.arrival_s = arrived_ms / 1000
        if state is None:
            return  # an empty batch: Faust delivers none
        state.quiet_ticks = 0
        state.pending_acks.append(PendingAck(last, event))
        many = len(state.inbox) >= INGEST.batch_messages
        if many or state.inbox_bytes >= INGEST.batch_bytes:
            await self.flush()

    def _arrival_ms(self, time_ms: int, time_kind: int) -> int:
        """When a message arrived, by the broker's clock; a sender's time stamp is at most now."""
        if time_kind == _LOG_APPEND_TIME and time_ms > 0:
            return time_ms
        now_ms = self._clock_ns() // 1_000_000
        return min(time_ms, now_ms) if time_ms > 0 else now_ms

    async def flush(self) -> None:
        """Window the messages that have come since the last flush, and publish."""
        async with self._lock:
            if self._partitions:
                await self._progress.begin()
            ready = {p: state for p, state in self._partitions.items() if state.inbox}
            for (partition, state), decoded in zip(ready.items(), self._decode(ready), strict=True):
                self._add(partition, state, state.step(decoded))
            await self._merger.publish()

    def _decode(self, ready: dict[int, PartitionState]) -> Sequence[Decoded | None]:
        """The messages of each inbox; None: the partition is to decode them by itself."""
        if not ready:  # most flushes of a worker that has little to do
            return []
        messages = [message for state in ready.values() for message in state.inbox]
        where = [partition for partition, state in ready.items() for _ in state.inbox]
        replays = {partition: state.worker.replays for partition, state in ready.items()}
        try:
            together = decode(self._admission, messages, where, replays)
        except Exception:  # a defect of ours: each partition finds out whether it is affected
            _log.exception("%s: messages could not be decoded together", topics.PINGS.name)
            for state in ready.values():
                state.worker.replays = Replays()  # the attempt has been recorded there
            return [None] * len(ready)
        ends = np.cumsum([0, *(len(state.inbox) for state in ready.values())]).tolist()
        return [together.of(first, end) for first, end in pairwise(ends)]

    async def tick(self) -> None:
        """Once a second: close the panes of silent partitions by wall clock, which is the brokers'.

        Closing by wall clock is irreversible, so a late worker must not take its own lag for
        silence. A partition is silent when the broker confirms, at as many ticks in a row as make
        ``idle_s``, that all of its messages have been read and windowed. A worker without CPU has
        few ticks. A broker that was away is back for this worker before it is for the agents, so
        silence counts ``reconnect_s`` later then.
        """
        now_ns = self._brokers.now_ns()  # before the query: it covers what had arrived by then
        states = dict(self._partitions)
        at_end = await self._progress.refresh()
        self._count_returning()
        async with self._lock:
            for partition, state in states.items():
                if self._partitions.get(partition) is not state:
                    continue  # revoked during the query
                quiet = partition in at_end and not state.inbox and partition not in self._returning
                state.quiet_ticks = state.quiet_ticks + 1 if quiet else 0
                if state.quiet_ticks * INGEST.tick_s >= self._timing.idle_s:
                    self._add(partition, state, state.worker.tick(now_ns))
            await self._merger.publish()
        # While old messages are read the brokers' time is not known, but it is not before this.
        present_ns = max(self._clock_ns(), now_ns)
        self.lag_s = max(
            (
                present_ns / SECOND - state.arrival_s
                for partition, state in self._partitions.items()
                if self._progress.has_more(partition)
            ),
            default=0.0,
        )

    def _count_returning(self) -> None:
        """Ticks since the broker answered again, of partitions of which it did not; the return of
        a broker is a rebalance too, so this outlives an assignment.
        """
        unanswered = self._progress.unanswered
        for partition in self._progress.partitions() - unanswered:
            left = self._returning.pop(partition, 0)
            if left > 1:
                self._returning[partition] = left - 1
        ticks = round(INGEST.reconnect_s / INGEST.tick_s)
        self._returning |= dict.fromkeys(unanswered, ticks)

    def revoke(self) -> None:
        """A rebalance has begun: the next owners read again from the committed offsets."""
        for state in self._partitions.values():
            self._close(state)
        self._partitions.clear()
        self._progress.reset()
        self._merger.discard(topics.PINGS.name)

    def _open(self, partition: int) -> PartitionState:
        if (old := self._partitions.get(partition)) is not None:
            self._close(old)
            self._merger.discard(topics.PINGS.name, partition)
        state = PartitionState(partition, lambda: self._make_worker(partition, self._next_epoch()))
        self._partitions[partition] = state
        return state

    def _next_epoch(self) -> int:
        # Wall-clock milliseconds: epochs rise over restarts and moves without a stored counter.
        self._epoch = max(self._epoch + 1, self._clock_ns() // 1_000_000)
        return self._epoch

    def _close(self, state: PartitionState) -> None:
        self._revoked_counts = self._revoked_counts + state.final_counts()
        self._revoked_failures += state.failures

    def _add(self, partition: int, state: PartitionState, messages: list[OutMessage]) -> None:
        needed = state.worker.needed_offset()

        def on_published() -> None:
            if self._partitions.get(partition) is state:  # else it was revoked in the meantime
                acknowledge(state.pending_acks, needed)

        self._merger.add((topics.PINGS.name, partition), messages, on_published)

    def _event_time_s(self, partition: int) -> int:
        state = self._partitions.get(partition)
        return state.worker.watermark_ns // SECOND if state else 0

    def _unprocessed(self, partition: int) -> bool:
        state = self._partitions.get(partition)
        return state is not None and bool(state.inbox)

    def _mark_idle(self, partition: int) -> None:
        if (state := self._partitions.get(partition)) is not None:
            self._add(partition, state, state.worker.mark_idle())


def attach(
    app: faust.App,
    merger: OutputMerger,
    progress: ConsumerProgress,
    timing: WindowTiming = DEFAULT_TIMING,
    admission: Admission | None = None,
) -> Ingest:
    """Make the Faust agent of skh.pings and its timers; returns the stage."""
    name = topics.PINGS.name
    inbox = app.topic(name, key_serializer="raw", value_serializer="raw", value_type=bytes)
    batches.bound(inbox)
    stage = Ingest(merger, timing, progress=progress, admission=admission)

    @app.agent(inbox, name="streams.ingest")
    async def ingest(stream: Any) -> None:  # no generator: Faust logs each value of one
        async for event in stream.noack().events():
            await stage.consume(event)

    @app.task  # type: ignore[untyped-decorator]  # Faust ships no types
    async def flush() -> None:
        while not app.should_stop:
            await asyncio.sleep(INGEST.flush_s)
            await stage.flush()

    @app.task  # type: ignore[untyped-decorator]
    async def tick() -> None:  # apart from flushes: a broker may be slow to answer
        while not app.should_stop:
            await asyncio.sleep(INGEST.tick_s)
            await stage.tick()

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.revoke()

    return stage
