"""Placements and maintenance on their way to the localizers of a worker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pytest
from builders.streams.operator_documents import OperatorBroker, maintenance, placement
from builders.streams.stages import BatchEvent, RecordingProducer, no_incidents, punctuation
from builders.streams.stream_workers import worker_of

from localizer.localizer import Localizer, LocalizerOutput
from localizer.suppression.log import Cause
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.metrics import stream as metrics
from schemas.wire.window_chunks import Header
from streams import counters
from streams.localize.stage import LocalizeStage
from streams.readers.operator_feed import OperatorDocument, OperatorFeed


@pytest.fixture
def broker() -> OperatorBroker:
    return OperatorBroker()


@pytest.fixture
def feed(broker: OperatorBroker) -> Iterator[OperatorFeed]:
    reader = OperatorFeed(broker.kafka)
    yield reader
    reader.close()


class Listening(Localizer):
    """Records the documents that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[OperatorDocument] = []

    def place(self, documents: Iterable[Placement]) -> None:
        self.received += list(documents)

    def maintain(self, documents: Iterable[Maintenance]) -> None:
        self.received += list(documents)


def test_a_localizer_gets_the_documents_from_before_its_first_message_and_after(
    broker: OperatorBroker, feed: OperatorFeed
) -> None:
    made: dict[str, Listening] = {}

    def make(fabric: str) -> Localizer:
        return made.setdefault(fabric, Listening())

    async def until(condition: Callable[[], bool], stage: LocalizeStage) -> None:
        async with asyncio.timeout(300):
            offset = 10
            while not condition():
                await stage.consume(BatchEvent([punctuation(offset := offset + 1, 1, "f1")], 0, []))

    async def story() -> None:
        broker.publish(placement("c1", "starting"))
        stage = LocalizeStage(RecordingProducer(), make, no_incidents, feed)
        await stage.consume(BatchEvent([punctuation(0, 1, "f1")], 0, []))
        assert made["f1"].received == [placement("c1", "starting")]
        broker.publish(maintenance("tor:a1"))
        await until(lambda: maintenance("tor:a1") in made["f1"].received, stage)
        await stage.consume(BatchEvent([punctuation(10**6, 1, "f2")], 0, []))
        assert set(map(repr, made["f2"].received)) == set(map(repr, made["f1"].received))
        assert len(made["f1"].received) == 2, "each once"

    asyncio.run(story())


def test_documents_are_read_again_after_a_rebalance(
    broker: OperatorBroker, feed: OperatorFeed
) -> None:
    made: list[Listening] = []

    def make(fabric: str) -> Localizer:
        made.append(Listening())
        return made[-1]

    async def story() -> None:
        broker.publish(maintenance("tor:a1"))
        stage = LocalizeStage(RecordingProducer(), make, no_incidents, feed)
        await stage.consume(BatchEvent([punctuation(0, 1, "f1")], 0, []))
        stage.revoke()
        await stage.consume(BatchEvent([punctuation(0, 1, "f1")], 0, []))
        assert [each.received for each in made] == [[maintenance("tor:a1")]] * 2

    asyncio.run(story())


class Suppressing(Listening):
    """Suppresses one more report at every message."""

    count = 0

    @property
    def suppressed_s(self) -> Counter[Cause]:
        return Counter({"maintenance": self.count})

    def observe(self, header: Header, batch: object, body: bytes = b"") -> LocalizerOutput:
        self.count += 1
        return LocalizerOutput()


def test_a_rebalance_does_not_lower_the_metric_of_suppressed_reports(
    feed: OperatorFeed,
) -> None:
    async def story() -> None:
        stage = LocalizeStage(RecordingProducer(), lambda _: Suppressing(), no_incidents, feed)
        for offset in range(3):
            await stage.consume(BatchEvent([punctuation(offset, 1, "f1")], 0, []))
        stage.revoke()
        await stage.consume(BatchEvent([punctuation(0, 1, "f1")], 0, []))
        worker = worker_of(stage, feed)
        found = {
            each.labels: each.value
            for each in counters.samples(worker)
            if each.metric is metrics.STREAM_SUPPRESSED
        }
        assert found == {("maintenance",): 4, ("placement",): 0}

    asyncio.run(story())
