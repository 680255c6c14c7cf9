"""The demo waits for a sink that is behind, and goes on without one that has stopped."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from skeletonhunter.embedded.progress.sink import Offsets, SinkOffsets, SinkProgress
from skeletonhunter.embedded.progress.worker import STALLED_S
from streams.kafka.embedded_broker import EmbeddedBroker

pytestmark = pytest.mark.anyio
LOOKS_PER_S = 10
WINDOWS = (topics.WINDOWS.name, 0)
PINGS = (topics.PINGS.name, 3)


class Topics:
    """Ten windows for each judged second; the sink stores so many at each look of the demo."""

    def __init__(self, *, stores: int = 0) -> None:
        self.judged_s = 0.0
        self.kept = -1001  # as Kafka says that nothing is committed
        self.stores = stores
        self.looks = 0

    def ends(self) -> Offsets:
        return {WINDOWS: int(10 * self.judged_s), PINGS: 0}

    def stored(self) -> Offsets:
        self.looks += 1
        if self.stores:
            self.kept = max(0, self.kept) + self.stores
        return {WINDOWS: self.kept, PINGS: -1001}


def progress_of(place: Topics) -> SinkProgress:
    async def no_time(seconds: float) -> None:
        return None

    return SinkProgress(lambda: place.judged_s, place.ends, place.stored, sleep=no_time)


def no_screen() -> None:
    """Stands for a screen that shows nothing."""


async def played(place: Topics, progress: SinkProgress, seconds: int) -> None:
    for _ in range(seconds):
        place.judged_s += 1
        await progress.update()


async def test_a_second_is_stored_when_all_its_windows_are() -> None:
    place = Topics()
    progress = progress_of(place)
    await played(place, progress, 4)
    assert progress.stored_s == 0
    place.kept = 29
    await progress.update()
    assert progress.stored_s == 2
    place.kept = 40
    await progress.update()
    assert progress.stored_s == 4


async def test_the_demo_waits_for_a_sink_that_is_behind() -> None:
    place = Topics()
    progress = progress_of(place)
    await played(place, progress, 60)
    place.stores = 7
    assert await progress.until(35, no_screen)
    assert 350 <= place.kept < 370, "no longer than it has to"


async def test_the_demo_goes_on_without_a_sink_that_has_stopped() -> None:
    place = Topics()
    progress = progress_of(place)
    await played(place, progress, 60)
    place.looks = 0
    assert not await progress.until(35, no_screen)
    assert place.looks == STALLED_S * LOOKS_PER_S + 1
    assert not await progress.until(36, no_screen)
    assert place.looks == STALLED_S * LOOKS_PER_S + 1, "it is waited for once"


def test_offsets_are_those_of_the_sinks_group() -> None:
    broker = EmbeddedBroker()
    for _ in range(3):
        broker.produce(topics.COVERAGE.name, "f", {}, b"{}")
    assert broker.flush() == 0
    offsets = SinkOffsets(broker.bootstrap)
    ends = offsets.ends()
    (partition,) = {at for at, end in ends.items() if end}
    assert (partition[0], ends[partition]) == (topics.COVERAGE.name, 3)
    assert offsets.stored()[partition] < 0
    sink = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "skh-sink"})
    sink.commit(offsets=[TopicPartition(*partition, 2)], asynchronous=False)
    sink.close()
    assert offsets.stored()[partition] == 2
