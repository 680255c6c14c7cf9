"""Documents of operators: read from the beginning, followed, validated, evicted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

import msgspec
import pytest
from builders.streams.operator_documents import OperatorBroker, maintenance, placement
from builders.streams.ping_records import START_S

from schemas import topics
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.times import rfc3339
from schemas.documents.topology import Topology
from streams.readers.operator_feed import OperatorDocument, OperatorFeed
from streams.readers.parameters import OPERATOR_FEED


def by_kind(
    known: Iterable[OperatorDocument],
) -> tuple[list[OperatorDocument], list[OperatorDocument]]:
    """The topics are read side by side, so only within one is there an order."""
    places = [each for each in known if isinstance(each, Placement)]
    return places, [each for each in known if isinstance(each, Maintenance)]


@pytest.fixture
def broker() -> OperatorBroker:
    return OperatorBroker()


@pytest.fixture
def feed(broker: OperatorBroker) -> Iterator[OperatorFeed]:
    reader = OperatorFeed(broker.kafka)
    yield reader
    reader.close()


async def next_documents(feed: OperatorFeed, count: int) -> list[OperatorDocument]:
    """The next documents, within the test's time."""
    found: list[OperatorDocument] = []
    async with asyncio.timeout(300):
        while len(found) < count:
            found += feed.new_documents()
            await asyncio.sleep(0.01)  # the broker has no event to wait for
    return found


def test_earlier_documents_are_read_and_later_ones_are_followed(
    broker: OperatorBroker, feed: OperatorFeed
) -> None:
    async def story() -> None:
        early = [placement("c1", "starting"), placement("c2", "ready"), maintenance("tor:a1")]
        broker.publish(*early)
        await feed.begin()
        assert sorted(feed.known, key=repr) == sorted(early, key=repr)
        assert feed.new_documents() == []
        broker.publish(placement("c1", "ready"))
        assert await next_documents(feed, 1) == [placement("c1", "ready")]
        assert placement("c1", "starting") in feed.known, "seconds judged late still need it"
        assert placement("c1", "ready") in feed.known

    asyncio.run(story())


def test_a_feed_that_begins_again_has_the_same_documents(
    broker: OperatorBroker, feed: OperatorFeed
) -> None:
    async def story() -> None:
        broker.publish(placement("c1", "starting"), placement("c1", "ready"), maintenance("tor:a1"))
        await feed.begin()
        before = by_kind(feed.known)
        await feed.begin()
        assert by_kind(feed.known) == before
        assert [len(each) for each in before] == [2, 1]

    asyncio.run(story())


def test_a_document_that_comes_before_the_feed_begins_again_is_still_handed_over(
    broker: OperatorBroker, feed: OperatorFeed
) -> None:
    async def story() -> None:
        broker.publish(placement("c1", "starting"))
        await feed.begin()
        broker.publish(placement("c1", "ready"))
        await feed.begin()
        assert feed.new_documents() == [placement("c1", "ready")]
        assert feed.new_documents() == []

    asyncio.run(story())


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b'{"node_id": "c9"}',
        msgspec.json.encode(placement("c9", "gone")).replace(b"2026", b"x"),
    ],
)
def test_an_invalid_document_is_left_out(
    broker: OperatorBroker, feed: OperatorFeed, raw: bytes
) -> None:
    async def story() -> None:
        broker.publish(raw=raw)
        broker.publish(placement("c1", "ready"))
        await feed.begin()
        assert feed.known == [placement("c1", "ready")]

    asyncio.run(story())


def test_a_tombstone_withdraws_the_documents_of_its_key(
    broker: OperatorBroker, feed: OperatorFeed
) -> None:
    async def story() -> None:
        broker.publish(placement("c1", "gone"), raw=b"", key="c1")
        await feed.begin()
        assert feed.known == []

    asyncio.run(story())


def test_documents_that_are_over_are_evicted() -> None:
    feed = OperatorFeed({})
    for number in range(1000):
        from_s = START_S + number * 60
        at, until = rfc3339(from_s * 10**9), rfc3339((from_s + 600) * 10**9)
        gone = Placement(node_id=f"c{number}", node_sn="h1", state="gone", valid_from=at)
        over = Maintenance(component=f"host:h{number}", start=at, until=until, reason="optics")
        feed.add(topics.PLACEMENT.name, str(number).encode(), gone)
        feed.add(topics.MAINTENANCE.name, str(number).encode(), over)
        feed.evict(from_s)
    assert len(feed) < 200


def test_a_topology_is_evicted_when_another_one_has_held_for_long() -> None:
    def topology(at_s: int) -> Topology:
        return Topology(fabric="f1", hosts=[], valid_from=rfc3339(at_s * 10**9))

    feed = OperatorFeed({})
    long_s = OPERATOR_FEED.retention_s
    documents = [topology(START_S + at) for at in (0, 60, 60 + 2 * long_s)]
    for each in documents:
        feed.add(topics.TOPOLOGY.name, b"f1", each)
    feed.evict(START_S + 60 + long_s)
    assert feed.known == documents
    feed.evict(START_S + 120 + long_s)
    assert feed.known == documents[1:], "the second one holds until the third does"
    feed.evict(START_S + 180 + 9 * long_s)
    assert feed.known == documents[2:], "the newest one stays, however old"
