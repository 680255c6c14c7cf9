"""skh.placement and skh.maintenance reach the localizers; on the embedded broker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from worker_samples import worker_of

from localizer.localizer import Localizer, LocalizerOutput
from localizer.suppression.log import Cause
from schemas import metrics, topics
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement, State
from schemas.wire.window_chunks import Header
from streams import counters
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.messages import OutMessage
from streams.localize.operator_feed import Notice, OperatorFeed
from streams.localize.stage import LocalizeStage


def placed(box: str, state: State, fabric: str = "f1") -> Placement:
    return Placement(
        node_id=box, node_sn="h1", state=state, valid_from="2026-05-28T20:26:40Z", fabric=fabric
    )


def worked_on(component: str, until: str = "2026-05-28T21:00:00Z") -> Maintenance:
    return Maintenance(
        component=component, start="2026-05-28T20:00:00Z", until=until, reason="new optics",
        fabric="f1",
    )  # fmt: skip


def by_kind(known: Iterable[Notice]) -> tuple[list[Notice], list[Notice]]:
    """The topics are read side by side, so only within one is there an order."""
    places = [each for each in known if isinstance(each, Placement)]
    return places, [each for each in known if isinstance(each, Maintenance)]


class Broker:
    def __init__(self) -> None:
        self._embedded = EmbeddedBroker()
        self.kafka = {"bootstrap.servers": self._embedded.bootstrap}

    def say(self, *documents: Notice, raw: bytes | None = None, key: str = "bad") -> None:
        for doc in documents:
            topic = topics.PLACEMENT if isinstance(doc, Placement) else topics.MAINTENANCE
            name = doc.node_id if isinstance(doc, Placement) else f"{doc.component} {doc.start}"
            self._embedded.produce(topic.name, name, {}, msgspec.json.encode(doc))
        if raw is not None:
            self._embedded.produce(topics.PLACEMENT.name, key, {}, raw)
        assert self._embedded.flush() == 0


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def notices(broker: Broker) -> Iterator[OperatorFeed]:
    reader = OperatorFeed(broker.kafka)
    yield reader
    reader.close()


async def heard(notices: OperatorFeed, count: int) -> list[Notice]:
    """The next news, within the test's time."""
    found: list[Notice] = []
    async with asyncio.timeout(300):
        while len(found) < count:
            found += notices.news()
            await asyncio.sleep(0.01)  # the broker has no event to wait for
    return found


def test_what_was_said_before_is_read_and_what_is_said_then_is_followed(
    broker: Broker, notices: OperatorFeed
) -> None:
    async def story() -> None:
        early = [placed("c1", "starting"), placed("c2", "ready"), worked_on("tor:a1")]
        broker.say(*early)
        await notices.begin()
        assert sorted(notices.known, key=repr) == sorted(early, key=repr)
        assert notices.news() == []
        broker.say(placed("c1", "ready"))
        assert await heard(notices, 1) == [placed("c1", "ready")]
        assert placed("c1", "starting") in notices.known, "seconds judged late still need it"
        assert placed("c1", "ready") in notices.known

    asyncio.run(story())


def test_begun_again_it_knows_the_same(broker: Broker, notices: OperatorFeed) -> None:
    async def story() -> None:
        broker.say(placed("c1", "starting"), placed("c1", "ready"), worked_on("tor:a1"))
        await notices.begin()
        before = by_kind(notices.known)
        await notices.begin()
        assert by_kind(notices.known) == before
        assert [len(said) for said in before] == [2, 1]

    asyncio.run(story())


@pytest.mark.parametrize(
    "raw",
    [b"{", b'{"node_id": "c9"}', msgspec.json.encode(placed("c9", "gone")).replace(b"2026", b"x")],
)
def test_a_document_that_cannot_be_read_is_left_out(
    broker: Broker, notices: OperatorFeed, raw: bytes
) -> None:
    async def story() -> None:
        broker.say(raw=raw)
        broker.say(placed("c1", "ready"))
        await notices.begin()
        assert notices.known == [placed("c1", "ready")]

    asyncio.run(story())


def test_of_a_key_that_was_deleted_nothing_is_known(broker: Broker, notices: OperatorFeed) -> None:
    async def story() -> None:
        broker.say(placed("c1", "gone"), raw=b"", key="c1")
        await notices.begin()
        assert notices.known == []

    asyncio.run(story())


class Listening(Localizer):
    """Remembers what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Notice] = []

    def place(self, documents: Iterable[Placement]) -> None:
        self.told += list(documents)

    def maintain(self, documents: Iterable[Maintenance]) -> None:
        self.told += list(documents)


def punctuation(fabric: str, offset: int) -> Any:
    header = Header("punctuation", fabric, 0, 0)
    message = SimpleNamespace(
        partition=0, offset=offset, timestamp=1.0, key=b"", value=b"",
        headers=dict(header.to_kafka()),
    )  # fmt: skip
    return SimpleNamespace(message=message, value=b"", ack=lambda: None)


class Drain:
    async def send(self, messages: Iterable[OutMessage]) -> None:
        pass


async def nothing_yet() -> list[Incident]:
    return []


def test_every_localizer_is_told_what_was_said_before_it_began_and_after(
    broker: Broker, notices: OperatorFeed
) -> None:
    made: dict[str, Listening] = {}

    def make(fabric: str) -> Localizer:
        return made.setdefault(fabric, Listening())

    async def until(condition: Callable[[], bool], stage: LocalizeStage) -> None:
        async with asyncio.timeout(300):
            offset = 10
            while not condition():
                await stage.take(punctuation("f1", offset := offset + 1))

    async def story() -> None:
        broker.say(placed("c1", "starting"))
        stage = LocalizeStage(Drain(), make, nothing_yet, notices)
        await stage.take(punctuation("f1", 0))
        assert made["f1"].told == [placed("c1", "starting")]
        broker.say(worked_on("tor:a1"))
        await until(lambda: worked_on("tor:a1") in made["f1"].told, stage)
        await stage.take(punctuation("f2", 10**6))
        assert set(map(repr, made["f2"].told)) == set(map(repr, made["f1"].told))
        assert len(made["f1"].told) == 2, "each once"

    asyncio.run(story())


def test_after_a_rebalance_everything_is_read_again(broker: Broker, notices: OperatorFeed) -> None:
    made: list[Listening] = []

    def make(fabric: str) -> Localizer:
        made.append(Listening())
        return made[-1]

    async def story() -> None:
        broker.say(worked_on("tor:a1"))
        stage = LocalizeStage(Drain(), make, nothing_yet, notices)
        await stage.take(punctuation("f1", 0))
        stage.forget()
        await stage.take(punctuation("f1", 0))
        assert [each.told for each in made] == [[worked_on("tor:a1")]] * 2

    asyncio.run(story())


class Withholding(Listening):
    """Has one more thing not to tell of in every message."""

    withheld = 0

    @property
    def suppressed_s(self) -> Counter[Cause]:
        return Counter({"maintenance": self.withheld})

    def observe(self, header: Header, batch: object, body: bytes = b"") -> LocalizerOutput:
        self.withheld += 1
        return LocalizerOutput()


def test_what_was_not_told_is_among_the_metrics_and_a_rebalance_does_not_lower_it(
    notices: OperatorFeed,
) -> None:
    async def story() -> None:
        stage = LocalizeStage(Drain(), lambda _: Withholding(), nothing_yet, notices)
        for offset in range(3):
            await stage.take(punctuation("f1", offset))
        stage.forget()
        await stage.take(punctuation("f1", 0))
        worker = worker_of(stage, notices)
        found = {
            each.labels: each.value
            for each in counters.samples(worker)
            if each.metric is metrics.STREAM_SUPPRESSED
        }
        assert found == {("maintenance",): 4, ("placement",): 0}

    asyncio.run(story())
