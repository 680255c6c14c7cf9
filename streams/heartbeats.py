"""skh.heartbeats -> skh.windows (kind=heartbeats)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

import faust

from schemas import topics
from schemas.documents.heartbeat import Heartbeat
from streams import dead_letters
from streams.admission.admission import Admission
from streams.admission.twins import Twins
from streams.kafka.messages import InMessage, OutMessage
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.output_merger import OutputMerger, Stage
from streams.merge.pending_acks import PendingAcks, in_message
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.windower import SECOND

_FLUSH_S: Final = 0.5
_REFRESH_S: Final = 1.0
_BATCH: Final = 4096
_AHEAD_S: Final = 60  # of a heartbeat's clock before the broker's


@dataclass(slots=True)
class _Lane:
    """One partition in one assignment: what was gathered since the last flush."""

    beats: defaultdict[tuple[int, str], list[Heartbeat]] = field(
        default_factory=lambda: defaultdict(list)
    )  # second, fabric
    letters: list[OutMessage] = field(default_factory=list)
    held: list[PendingAcks] = field(default_factory=list)
    front_s: int = 0


class Heartbeats:
    """Gathers heartbeats for half a second and forwards them to their fabric's localizer."""

    def __init__(
        self,
        confluence: OutputMerger,
        *,
        reading: ConsumerProgress | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._confluence = confluence
        self._admission = admission or Admission()
        self._reading = reading or ConsumerProgress()
        self._lanes: dict[int, _Lane] = {}
        self._lock = asyncio.Lock()
        self.received = self.dead_lettered = 0
        self.twins = Twins()
        confluence.join(
            Stage(topics.HEARTBEATS.name, self._reading, self._front_s, lambda partition: None)
        )

    async def take(self, event: Any) -> None:
        """One message of skh.heartbeats."""
        partition, offset = event.message.partition, event.message.offset
        if self._reading.take(partition, offset) or partition not in self._lanes:
            self._confluence.forget(topics.HEARTBEATS.name, partition)
            self._lanes[partition] = _Lane()
        lane = self._lanes[partition]
        self._read(partition, lane, in_message(event))
        lane.held.append(PendingAcks(offset, event))
        if len(lane.held) >= _BATCH:
            await self.flush()

    def _read(self, partition: int, lane: _Lane, message: InMessage) -> None:
        self.received += 1
        try:
            beat = self._admission.heartbeat(message, partition)
        except Exception as why:  # whatever escapes a decoder costs its message, not the stage
            self.dead_lettered += 1
            lane.letters.append(
                dead_letters.message(
                    topics.HEARTBEATS.name, partition, message.offset, message.value, str(why)
                )
            )
        else:
            self.twins.see(beat)
            # A clock far ahead must not move what the heartbeats of others wait for.
            second = beat.time // SECOND
            if message.time_ms > 0:  # else the broker does not say when it came
                second = min(second, message.time_ms // 1000 + _AHEAD_S)
            lane.beats[second, beat.fabric].append(beat)
            lane.front_s = max(lane.front_s, second)

    async def flush(self) -> None:
        """Publish what was gathered, then acknowledge it."""
        async with self._lock:
            if self._lanes:
                await self._reading.begin()
            for partition, lane in list(self._lanes.items()):
                if lane.held:
                    self._put(partition, lane)
            await self._confluence.publish()

    def _put(self, partition: int, lane: _Lane) -> None:
        held, lane.held = lane.held, []
        out, lane.letters = lane.letters, []
        for second, fabric in sorted(lane.beats):
            out += heartbeat_chunks(partition, fabric, lane.beats[second, fabric], second)
        lane.beats.clear()

        def done() -> None:
            if self._lanes.get(partition) is lane:
                for each in held:
                    each.event.ack()

        self._confluence.put((topics.HEARTBEATS.name, partition), out, done)

    async def refresh(self) -> None:
        """Ask where partitions end that have not come of late: pings wait for their heartbeats."""
        await self._reading.refresh()

    @property
    def missing(self) -> int:
        """Messages that the broker no longer had."""
        return self._reading.missing

    def _front_s(self, partition: int) -> int:
        lane = self._lanes.get(partition)
        return lane.front_s if lane else 0

    def forget(self) -> None:
        """A rebalance has begun: what is not acknowledged will be read again."""
        self._lanes.clear()
        self._reading.forget()
        self._confluence.forget(topics.HEARTBEATS.name)


def attach(
    app: faust.App,
    confluence: OutputMerger,
    reading: ConsumerProgress,
    admission: Admission | None = None,
) -> Heartbeats:
    """Make the agent of skh.heartbeats; returns the stage for its counts."""
    inbox = app.topic(
        topics.HEARTBEATS.name, key_serializer="raw", value_serializer="raw", value_type=bytes
    )
    stage = Heartbeats(confluence, reading=reading, admission=admission)

    @app.agent(inbox, name="streams.heartbeats")
    async def heartbeats(stream: Any) -> AsyncIterator[None]:
        async for event in stream.noack().events():
            await stage.take(event)
            yield None

    @app.task  # type: ignore[untyped-decorator]  # Faust ships no types
    async def flush() -> None:
        while not app.should_stop:
            await asyncio.sleep(_FLUSH_S)
            await stage.flush()

    @app.task  # type: ignore[untyped-decorator]
    async def refresh() -> None:
        while not app.should_stop:
            await asyncio.sleep(_REFRESH_S)
            await stage.refresh()

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.forget()

    return stage
