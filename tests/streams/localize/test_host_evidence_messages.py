"""skh.evidence on its way to the localizers of a worker: beside the stream, and to all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec
import pytest
from builders.agents.host_evidence import counters, evidence, flow_tables
from builders.streams.stages import (
    BatchEvent,
    FixedFeed,
    RecordingProducer,
    no_incidents,
    punctuation,
)

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents.requests.evidence import Evidence
from streams.admission.admission import Admission
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.localize.stage import LocalizeStage
from streams.readers.host_evidence import HostEvidence
from streams.readers.request_feed import RequestFeed

CRC = counters("10.0.0.1", {"symbol_error": 1}, {"symbol_error": 99})


class Listening(Localizer):
    """Records the evidence that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Evidence] = []

    def hear(self, documents: Iterable[Evidence]) -> None:
        self.heard += documents


class Site:
    """A broker with evidence, and a stage that follows it."""

    def __init__(self) -> None:
        self.broker = EmbeddedBroker()
        kafka = {"bootstrap.servers": self.broker.bootstrap}
        names = (topics.EVIDENCE.name,)
        self.evidence = HostEvidence(RequestFeed(kafka, Admission(), names=names, wait_s=0.0))
        self.made: dict[str, Listening] = {}
        self.stage = LocalizeStage(
            RecordingProducer(), self._make, no_incidents, FixedFeed(), evidence=self.evidence
        )
        self._offset = 0

    def publish(self, *documents: Evidence) -> None:
        for each in documents:
            raw = msgspec.json.encode(each)
            self.broker.produce(topics.EVIDENCE.name, each.node_sn, {}, raw)
        assert self.broker.flush() == 0

    async def until(self, condition: Callable[[], bool], fabric: str = "f1") -> None:
        async with asyncio.timeout(300):
            while not condition():
                await self.stage.tick()
                await self.judge(fabric)

    async def judge(self, fabric: str) -> None:
        self._offset += 1
        await self.stage.consume(BatchEvent([punctuation(self._offset, 1, fabric)], 0, []))

    def _make(self, fabric: str) -> Localizer:
        return self.made.setdefault(fabric, Listening())


def played(story: Callable[[Site], object]) -> Site:
    site = Site()

    async def run() -> None:
        try:
            await story(site)  # type: ignore[misc]  # every story is a coroutine
        finally:
            await site.evidence.close()

    asyncio.run(run())
    return site


def test_localizers_hear_evidence_from_before_their_first_message_and_after_once() -> None:
    later = msgspec.structs.replace(CRC, number=2)

    async def story(site: Site) -> None:
        site.publish(CRC)
        await site.judge("f1")
        await site.until(lambda: site.made["f1"].heard == [CRC])
        site.publish(later)
        await site.until(lambda: site.made["f1"].heard == [CRC, later])
        await site.judge("f2")

    assert played(story).made["f2"].heard == [CRC, later]


def test_what_decides_nothing_is_not_handed_on(caplog: pytest.LogCaptureFixture) -> None:
    bad = flow_tables("h2", "no such bridge")
    timeless = [msgspec.structs.replace(each, time="soon") for each in CRC.counters]
    bad.append(msgspec.structs.replace(CRC, node_sn="h3", counters=timeless))

    async def story(site: Site) -> None:
        site.publish(evidence(kind="probe"), evidence(incident_id=""), *bad, CRC)
        await site.judge("f1")
        await site.until(lambda: CRC in site.made["f1"].heard and site.evidence.unreadable == 2)
        assert "h3" not in {each.node_sn for each in site.made["f1"].heard}
        assert {each.kind for each in site.made["f1"].heard} <= {"counters", "flow_table"}

    played(story)
    assert "flow table of host h2: no dump of Open vSwitch: 'no such bridge'" in caplog.text
