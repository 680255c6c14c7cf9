"""Fabrics without measurements are evicted, and return as they were."""

from __future__ import annotations

import asyncio

import pyarrow as pa
from builders.streams.ping_records import START_S, batch, ping
from builders.streams.stages import Acked, BatchEvent, FixedFeed, RecordingProducer

from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage
from streams.localize.retention import RETENTION
from streams.localize.stage import LocalizeStage
from streams.merge.consumer_progress import ConsumerProgress
from streams.replay import Replay


class Evicting(FixedFeed):
    """A feed without documents that records from which second on they are needed."""

    def __init__(self) -> None:
        super().__init__()
        self.evicted: list[int] = []

    def evict(self, second: int) -> None:
        self.evicted.append(second)


class Story:
    """A stage that is given messages of any fabric and time."""

    def __init__(self, end: int = 0) -> None:
        """end  of the partition, by the broker: one past the offset of its last message"""
        self.reads = 0
        self.made: list[str] = []
        self.acked: Acked = []
        self.open: set[str] = set()
        self.judged: set[str] = set()
        self.feed = Evicting()
        self.now_s = 0.0
        self.stage = LocalizeStage(
            RecordingProducer(), self.make, self.read, self.feed,
            ConsumerProgress(high_watermark=lambda _: end), clock_s=lambda: self.now_s,
        )  # fmt: skip
        self.offset = 0

    def make(self, fabric: str) -> Localizer:
        self.made.append(fabric)
        if fabric in self.judged:
            return Judged()
        return Open() if fabric in self.open else Localizer()

    async def read(self) -> list[Incident]:
        self.reads += 1
        return []

    async def send(self, at: float, fabric: str, kind: window_chunks.Kind = "heartbeats") -> None:
        second = START_S + int(at)
        self.now_s = second
        value = b""
        if kind == "heartbeats":
            beat = {
                "fabric": fabric, "node_sn": "h1", "time": second * 10**9, "alive": True,
                "cpu_steal": 0.0, "scheduling_delay_us": 0.0,
            }  # fmt: skip
            value = window_chunks.encode(
                pa.RecordBatch.from_pylist([beat], window_chunks.HEARTBEATS)
            )
        header = window_chunks.Header(kind, fabric, second, second, watermark_ms=second * 1000)
        self.offset += 1
        message = InMessage(self.offset, second * 1000, value, dict(header.to_kafka()))
        await self.stage.consume(BatchEvent([message], 0, self.acked))

    def names(self) -> list[str]:
        return sorted(each.name for each in self.stage.fabrics)


class Open(Localizer):
    """Has an incident that never closes."""

    @property
    def open_incidents(self) -> int:
        return 1


def test_an_idle_fabric_is_evicted_and_returns() -> None:
    async def play() -> None:
        story = Story()
        await story.send(0, "f1")
        await story.send(0, "f2")
        for at in range(60, int(RETENTION.idle_s) + 180, 60):
            await story.send(at, "f1")
            await story.send(at, "f2", "punctuation")
            await story.stage.tick()
        assert story.names() == ["f1"]
        assert story.stage.sizes()["fabrics"] == 1
        assert story.made == ["f1", "f2"], "punctuations do not make a localizer"
        reads = story.reads
        await story.send(RETENTION.idle_s + 200, "f2")
        assert story.names() == ["f1", "f2"]
        assert story.reads == reads + 1, "it may have had incidents since"

    asyncio.run(play())


def test_an_idle_fabric_with_an_open_incident_is_retained_for_a_day() -> None:
    async def play() -> None:
        story = Story()
        story.open.add("f2")
        await story.send(0, "f2")
        for at in range(0, int(RETENTION.idle_with_incidents_s) - 600, 600):
            await story.send(at, "f1")
        await story.stage.tick()
        assert story.names() == ["f1", "f2"]
        await story.send(RETENTION.idle_with_incidents_s + 1, "f1")
        await story.stage.tick()
        assert story.names() == ["f1"]

    asyncio.run(play())


def test_a_thousand_fabrics_that_come_and_go_do_not_grow_the_memory() -> None:
    async def play() -> None:
        story = Story()
        most = 0
        for number in range(1000):
            await story.send(number * 60, f"f{number}")
            await story.send(number * 60, "f")
            await story.stage.tick()
            most = max(most, story.stage.sizes()["fabrics"])
        assert most <= RETENTION.idle_s / 60 + 3
        assert story.stage.sizes()["messages_held"] <= 2 * (2 * RETENTION.lookback_s / 60 + 2)
        assert max(story.acked) > (0, story.offset - 30)

    asyncio.run(play())


def test_documents_are_evicted_although_a_fabric_only_sends_heartbeats() -> None:
    """Its agents run, but nothing is probed: no second of it is ever judged."""

    async def play() -> None:
        story = Story()
        await story.send(0, "f1")
        await story.stage.tick()
        assert story.feed.evicted == [START_S - RETENTION.lookback_s]

    asyncio.run(play())


def test_documents_are_retained_for_what_has_not_been_read() -> None:
    async def play() -> None:
        story = Story(end=3)
        await story.send(0, "f1")
        await story.stage.tick()
        assert story.feed.evicted == [], "its panes may be among what is still to come"

    asyncio.run(play())


class Judged(Localizer):
    """Has judged the second with which the story began."""

    @property
    def judged_s(self) -> int | None:
        return START_S


def test_documents_are_evicted_although_the_only_fabric_of_a_partition_is_no_more() -> None:
    async def play() -> None:
        story = Story()
        story.judged.add("f1")
        await story.send(0, "f1")
        story.now_s += RETENTION.idle_s
        await story.stage.tick()
        assert story.names() == ["f1"], "the only fabric of a partition stays"
        story.now_s += 1
        await story.stage.tick()
        now_s = START_S + int(RETENTION.idle_s) + 1
        assert story.feed.evicted == [START_S - RETENTION.lookback_s, now_s - RETENTION.lookback_s]

    asyncio.run(play())


def test_a_replay_evicts_idle_fabrics_too() -> None:
    offline = Replay()
    most = 0
    for number in range(40):
        at = number * 600
        rows = [
            ping(at + n * 0.01, src, dst, src_idc=fabric)
            for n, (src, dst) in enumerate((("h1", "h2"), ("h2", "h1")))
            for fabric in (f"f{number}", "f")
        ]
        offline.feed(batch(rows), (), (START_S + at + 1) * 10**9)
        most = max(most, offline.fabrics)
    assert most <= RETENTION.idle_s / 600 + 3
