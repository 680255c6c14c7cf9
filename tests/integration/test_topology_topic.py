"""skh.topology through a broker: a cable changes while incidents are open and workers run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest
from builders.streams.ping_records import START_S as EPOCH_S
from builders.streams.ping_records import batch, ping
from builders.streams.stages import (
    Acked,
    BatchEvent,
    RecordingProducer,
    no_incidents,
    punctuation,
)

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339
from schemas.documents.topology import Host, Rnic, Switch, Topology
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.stage import LocalizeStage
from streams.readers.operator_feed import OperatorFeed
from streams.windowing.partition import PartitionWorker

START_S = EPOCH_S + 50
SECONDS, RNIC_BAD_S, CHANGE_S, SPINE_BAD_S = 70, 12, 30, 45
HOSTS = {f"h{n}": "a1" if n <= 4 else "a2" for n in range(1, 9)}


def document(spine: str, at_s: int | None) -> Topology:
    """Two ToRs joined by one spine, from a second on; None: without a time."""
    return Topology(
        fabric="f1",
        hosts=[Host(name, [Rnic(f"r{name[1:]}", 0, asw)]) for name, asw in HOSTS.items()],
        switches=[Switch("a1", "asw"), Switch("a2", "asw"), Switch(spine, "dsw")],
        links=[("a1", spine), ("a2", spine)],
        valid_from="" if at_s is None else rfc3339((START_S + at_s) * 10**9),
    )


FIRST, SECOND = document("s1", 0), document("s2", CHANGE_S)


def lost(a: str, b: str, second: int) -> float:
    """h2 loses half of its probes from RNIC_BAD_S on; later so does all between the ToRs."""
    if second >= RNIC_BAD_S and "h2" in (a, b):
        return 0.5
    return 0.5 if second >= SPINE_BAD_S and HOSTS[a] != HOSTS[b] else 0.0


def windows() -> list[OutMessage]:
    worker = PartitionWorker(0, epoch=1)
    out: list[OutMessage] = []
    for second in range(SECONDS):
        rows = [
            ping(
                50 + second + 0.2 + 0.05 * n, a, b, src_port=50_000, sent=4,
                src_real_ip=f"r{a[1:]}", dst_real_ip=f"r{b[1:]}",
                src_asw=HOSTS[a], dst_asw=HOSTS[b], loss_rate=lost(a, b, second),
            )
            for a in HOSTS
            for n, b in enumerate(HOSTS)
            if a != b
        ]  # fmt: skip
        out += worker.feed(batch(rows), second, (START_S + second + 1) * 10**9)
    return out + worker.finish()


MESSAGES = windows()


class Site:
    """A broker, the feed that follows it, and a stage that judges MESSAGES."""

    def __init__(self) -> None:
        self.broker = EmbeddedBroker()
        self.feed = OperatorFeed({"bootstrap.servers": self.broker.bootstrap})
        self.producer = RecordingProducer()
        self.stage = LocalizeStage(self.producer, lambda _: Localizer(), no_incidents, self.feed)
        self.acked: Acked = []

    def publish(self, *documents: Topology | bytes) -> None:
        for each in documents:
            raw = each if isinstance(each, bytes) else msgspec.json.encode(each)
            self.broker.produce(topics.TOPOLOGY.name, "f1", {}, raw)
        assert self.broker.flush() == 0

    async def judge(self, first: int, last: int) -> None:
        """Messages of these seconds [first, last)."""
        for offset, each in enumerate(MESSAGES):
            headers = dict(each.headers)
            end_s = int(headers["end_s"])
            if first < end_s - START_S <= last:
                message = InMessage(offset, end_s * 1000, each.value, headers)
                await self.stage.consume(BatchEvent([message], 0, self.acked))

    async def until_known(self, count: int) -> None:
        """Consume another partition's time until so many documents have come or were refused."""
        async with asyncio.timeout(300):
            offset = 0
            while len(self.feed.known) + sum(self.feed.refused.values()) < count:
                offset += 1
                await self.stage.consume(BatchEvent([punctuation(offset, 1, "other")], 1, []))

    @property
    def incidents(self) -> list[Incident]:
        return self.producer.incidents("f1")


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.feed.close()


async def changed_live(site: Site) -> None:
    """The second document is published when the worker has judged what is before it."""
    site.publish(FIRST)
    await site.judge(-1, CHANGE_S - 5)
    site.publish(SECOND)
    await site.until_known(2)
    await site.judge(CHANGE_S - 5, 10**6)


def named(incidents: list[Incident], opened_s: int) -> set[str]:
    """All that incidents which opened at that second or later name."""
    start = rfc3339((START_S + opened_s) * 10**9)
    return {name for each in incidents if each.opened_at >= start for name in each.tie_set}


def test_a_changed_cable_takes_effect_without_restart_and_incidents_keep_their_ids(
    site: Site,
) -> None:
    asyncio.run(changed_live(site))
    of_rnic = [each for each in site.incidents if "rnic:r2" in each.tie_set]
    assert {each.incident_id for each in of_rnic} == {of_rnic[0].incident_id}
    assert of_rnic[0].opened_at < rfc3339((START_S + CHANGE_S) * 10**9)
    later = named(site.incidents, SPINE_BAD_S)
    assert "spine:s2" in later
    assert not any("s1" in name for name in later)


def test_a_worker_that_starts_later_judges_the_same(site: Site) -> None:
    asyncio.run(changed_live(site))
    again = Site()
    again.publish(FIRST, SECOND)
    asyncio.run(again.judge(-1, 10**6))
    again.feed.close()
    assert again.incidents == site.incidents


def test_an_invalid_document_is_refused_and_the_last_good_one_stays(site: Site) -> None:
    unlisted = msgspec.structs.replace(SECOND, links=[("a1", "s9")])

    async def story() -> None:
        site.publish(FIRST)
        await site.judge(-1, CHANGE_S - 5)
        site.publish(b"{", msgspec.json.encode(unlisted), b"")
        await site.until_known(4)
        await site.judge(CHANGE_S - 5, 10**6)

    asyncio.run(story())
    assert site.feed.refused == {topics.TOPOLOGY.name: 3}
    reasons = [dict(each.headers)["reason"].decode() for each in site.producer.dead_letters()]
    assert len(reasons) == 3
    assert "not JSON" in reasons[0]
    assert "names switch 's9', which is not in switches" in reasons[1]
    assert "a topology cannot be withdrawn" in reasons[2]
    assert "spine:s1" in named(site.incidents, SPINE_BAD_S)


def test_a_document_without_a_time_holds_from_its_message_on(site: Site) -> None:
    site.publish(document("s1", None))
    asyncio.run(site.feed.begin())
    (known,) = site.feed.known
    assert isinstance(known, Topology)
    assert known.valid_from > rfc3339(EPOCH_S * 10**9)[:4]
