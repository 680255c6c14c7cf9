"""skh.heartbeats -> skh.windows (kind=heartbeats)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any, Final

import faust
import msgspec
import pyarrow as pa

from schemas import heartbeat, topics, windows
from schemas.heartbeat import Heartbeat
from streams import dead_letters
from streams.held import Held, in_message
from streams.messages import InMessage, OutMessage
from streams.publish import Outbox
from streams.windows import SECOND

_FLUSH_S: Final = 0.5
_BATCH: Final = 4096
_COLUMNS: Final = windows.HEARTBEATS.names


class Heartbeats:
    """Gathers heartbeats for half a second and forwards them to their fabric's localiser."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._beats: defaultdict[tuple[int, str], list[Heartbeat]] = defaultdict(list)
        self._letters: list[OutMessage] = []
        self._held: list[Held] = []
        self._lock = asyncio.Lock()
        self.received = self.dead_lettered = 0

    async def take(self, event: Any) -> None:
        """One message of skh.heartbeats."""
        partition = event.message.partition
        self.put(partition, in_message(event))
        self._held.append(Held(event.message.offset, event))
        if len(self._held) >= _BATCH:
            await self.flush()

    def put(self, partition: int, message: InMessage) -> None:
        """Read one heartbeat; a bad one becomes a dead letter."""
        self.received += 1
        try:
            beat = heartbeat.decode(message.value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
            self.dead_lettered += 1
            self._letters.append(
                dead_letters.message(
                    topics.HEARTBEATS.name, partition, message.offset, message.value, str(why)
                )
            )
        else:
            self._beats[partition, beat.fabric].append(beat)

    async def flush(self) -> None:
        """Publish what was gathered, then acknowledge it."""
        async with self._lock:
            held, self._held = self._held, []
            out = self.drain()
            await self._outbox.send(out)
            for each in held:
                each.event.ack()

    def drain(self) -> list[OutMessage]:
        """What was gathered, as messages."""
        out, self._letters = self._letters, []
        beats, self._beats = self._beats, defaultdict(list)
        for (partition, fabric), found in beats.items():
            out += chunks(partition, fabric, found)
        return out

    def forget(self) -> None:
        """A rebalance has begun: what is not acknowledged will be read again."""
        self._held, self._letters = [], []
        self._beats.clear()


def chunks(partition: int, fabric: str, beats: list[Heartbeat]) -> list[OutMessage]:
    """Heartbeats of one fabric as messages of skh.windows."""
    columns = [pa.array([getattr(beat, name) for beat in beats]) for name in _COLUMNS]
    batch = pa.RecordBatch.from_arrays(
        [values.cast(windows.HEARTBEATS.field(i).type) for i, values in enumerate(columns)],
        schema=windows.HEARTBEATS,
    )
    seconds = [beat.time // SECOND for beat in beats]
    parts = list(windows.split(batch))
    header = windows.Header(
        "heartbeats", fabric, min(seconds), max(seconds) + 1, partition, chunks=len(parts)
    )
    return [
        OutMessage(
            topics.WINDOWS.name,
            fabric.encode(),
            windows.encode(part),
            header._replace(chunk=i).to_kafka(),
        )
        for i, part in enumerate(parts)
    ]


def attach(app: faust.App, outbox: Outbox) -> Heartbeats:
    """Make the agent of skh.heartbeats; returns the stage for its counts."""
    inbox = app.topic(
        topics.HEARTBEATS.name, key_serializer="raw", value_serializer="raw", value_type=bytes
    )
    stage = Heartbeats(outbox)

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

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.forget()

    return stage
