"""skh.heartbeats -> skh.windows (kind=heartbeats)."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import faust

from schemas import topics
from schemas.documents.heartbeat import Heartbeat
from streams import dead_letters
from streams.admission.admission import Admission
from streams.admission.twins import Twins
from streams.kafka.messages import InMessage, OutMessage
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.output_merger import MergeInput, OutputMerger
from streams.merge.parameters import HEARTBEATS
from streams.merge.pending_acks import PendingAck, to_message
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.windower import SECOND


@dataclass(slots=True)
class _PartitionState:
    """One partition from its assignment to its revocation: what came since the last flush."""

    beats: defaultdict[tuple[int, str], list[Heartbeat]] = field(
        default_factory=lambda: defaultdict(list)
    )  # second, fabric
    letters: list[OutMessage] = field(default_factory=list)
    pending_acks: list[PendingAck] = field(default_factory=list)
    event_time_s: int = 0  # newest second that has been handed to the merger


class Heartbeats:
    """Gathers heartbeats for half a second and publishes them for the localizer of their fabric.

    received, dead_lettered  messages read, and those of them that are not valid [count]
    """

    def __init__(
        self,
        merger: OutputMerger,
        *,
        progress: ConsumerProgress | None = None,
        admission: Admission | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """clock_s  any clock that does not run back; see ``Twins``"""
        self._merger = merger
        self._admission = admission or Admission()
        self._progress = progress or ConsumerProgress()
        self._partitions: dict[int, _PartitionState] = {}
        self._lock = asyncio.Lock()
        self.received = self.dead_lettered = 0
        self.twins = Twins(clock_s)
        merger.register(
            MergeInput(
                topics.HEARTBEATS.name, self._progress, self._event_time_s, self._unprocessed,
                lambda partition: None,
            )
        )  # fmt: skip

    async def consume(self, event: Any) -> None:
        """Take in one message of skh.heartbeats."""
        partition, offset = event.message.partition, event.message.offset
        if self._progress.record(partition, offset) or partition not in self._partitions:
            self._merger.discard(topics.HEARTBEATS.name, partition)
            self._partitions[partition] = _PartitionState()
        state = self._partitions[partition]
        self._read(partition, state, to_message(event))
        state.pending_acks.append(PendingAck(offset, event))
        if len(state.pending_acks) >= HEARTBEATS.batch:
            await self.flush()

    def _read(self, partition: int, state: _PartitionState, message: InMessage) -> None:
        self.received += 1
        try:
            beat = self._admission.heartbeat(message, partition)
        except Exception as why:  # whatever a decoder raises costs its message, not the stage
            self.dead_lettered += 1
            state.letters.append(
                dead_letters.message(
                    topics.HEARTBEATS.name, partition, message.offset, message.value, str(why)
                )
            )
            return
        self.twins.observe(beat)
        # A clock far ahead must not delay the heartbeats of other agents.
        second = beat.time // SECOND
        if message.time_ms > 0:  # else the arrival time is unknown
            second = min(second, message.time_ms // 1000 + HEARTBEATS.ahead_s)
        state.beats[second, beat.fabric].append(beat)

    async def flush(self) -> None:
        """Publish the heartbeats that have come since the last flush, then acknowledge them."""
        async with self._lock:
            if self._partitions:
                await self._progress.begin()
            for partition, state in list(self._partitions.items()):
                if state.pending_acks:
                    self._add(partition, state)
            await self._merger.publish()

    def _add(self, partition: int, state: _PartitionState) -> None:
        pending_acks, state.pending_acks = state.pending_acks, []
        out, state.letters = state.letters, []
        for second, fabric in sorted(state.beats):
            out += heartbeat_chunks(partition, fabric, state.beats[second, fabric], second)
            state.event_time_s = max(state.event_time_s, second)
        state.beats.clear()

        def on_published() -> None:
            if self._partitions.get(partition) is state:  # else it was revoked in the meantime
                for each in pending_acks:
                    each.event.ack()

        self._merger.add((topics.HEARTBEATS.name, partition), out, on_published)

    async def refresh(self) -> None:
        """Ask the broker for the ends of quiet partitions: pings wait for unread heartbeats."""
        await self._progress.refresh()

    @property
    def missing(self) -> int:
        """Messages that the broker no longer had [count]."""
        return self._progress.missing

    def _event_time_s(self, partition: int) -> int:
        """Event time up to which everything has been handed to the merger [s]."""
        state = self._partitions.get(partition)
        if state is None:
            return 0
        oldest_s = min((second for second, _ in state.beats), default=0)
        return max(state.event_time_s, oldest_s)

    def _unprocessed(self, partition: int) -> bool:
        state = self._partitions.get(partition)
        return state is not None and bool(state.beats)

    def revoke(self) -> None:
        """A rebalance has begun: the next owners read again from the committed offsets."""
        self._partitions.clear()
        self._progress.reset()
        self._merger.discard(topics.HEARTBEATS.name)


def attach(
    app: faust.App,
    merger: OutputMerger,
    progress: ConsumerProgress,
    admission: Admission | None = None,
) -> Heartbeats:
    """Make the Faust agent of skh.heartbeats and its timers; returns the stage."""
    inbox = app.topic(
        topics.HEARTBEATS.name, key_serializer="raw", value_serializer="raw", value_type=bytes
    )
    stage = Heartbeats(merger, progress=progress, admission=admission)

    @app.agent(inbox, name="streams.heartbeats")
    async def heartbeats(stream: Any) -> None:  # no generator: Faust logs each value of one
        async for event in stream.noack().events():
            await stage.consume(event)

    @app.task  # type: ignore[untyped-decorator]  # Faust ships no types
    async def flush() -> None:
        while not app.should_stop:
            await asyncio.sleep(HEARTBEATS.flush_s)
            await stage.flush()

    @app.task  # type: ignore[untyped-decorator]
    async def refresh() -> None:
        while not app.should_stop:
            await asyncio.sleep(HEARTBEATS.refresh_s)
            await stage.refresh()

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.revoke()

    return stage
