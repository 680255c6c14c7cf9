"""A fabric of which nothing is measured any more is forgotten, and comes back as it was."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from ping_samples import START_S, batch, ping

from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.times import rfc3339
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.operator_feed import OperatorFeed
from streams.localize.retention import IDLE_S, IDLE_WITH_INCIDENTS_S, LOOKBACK_S
from streams.localize.stage import LocalizeStage
from streams.replay import Replay


class Silent(OperatorFeed):
    """Nothing is said of placement or maintenance."""

    def __init__(self) -> None:
        super().__init__({})

    async def begin(self) -> None:
        """There is nothing to read."""


class Drain:
    async def send(self, messages: list[OutMessage]) -> None:
        pass


class Story:
    """A stage that is given messages of any fabric and time."""

    def __init__(self) -> None:
        self.reads = 0
        self.made: list[str] = []
        self.acked: list[int] = []
        self.open: set[str] = set()
        self.stage = LocalizeStage(Drain(), self.make, self.read, Silent())  # type: ignore[arg-type]
        self.offset = 0

    def make(self, fabric: str) -> Localizer:
        self.made.append(fabric)
        return Open() if fabric in self.open else Localizer()

    async def read(self) -> list[Incident]:
        self.reads += 1
        return []

    async def say(self, at: float, fabric: str, kind: window_chunks.Kind = "heartbeats") -> None:
        second = START_S + int(at)
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
        message: Any = InMessage(self.offset, second * 1000, value, dict(header.to_kafka()))
        seen = SimpleNamespace(
            partition=0, offset=message.offset, timestamp=second, value=value,
            headers=message.headers, key=b"",
        )  # fmt: skip
        event = SimpleNamespace(
            message=seen, value=None, ack=lambda offset=self.offset: self.acked.append(offset)
        )
        await self.stage.take(event)

    def names(self) -> list[str]:
        return sorted(each.name for each in self.stage.fabrics)


class Open(Localizer):
    """Has an incident that never closes."""

    @property
    def open_incidents(self) -> int:
        return 1


def test_a_fabric_that_stopped_is_forgotten_and_comes_back() -> None:
    async def story() -> None:
        told = Story()
        await told.say(0, "f1")
        await told.say(0, "f2")
        for at in range(60, int(IDLE_S) + 180, 60):
            await told.say(at, "f1")
            await told.say(at, "f2", "punctuation")
            await told.stage.look()
        assert told.names() == ["f1"]
        assert told.stage.sizes()["fabrics"] == 1
        assert told.made == ["f1", "f2"], "its punctuations do not make it again"
        reads = told.reads
        await told.say(IDLE_S + 200, "f2")
        assert told.names() == ["f1", "f2"]
        assert told.reads == reads + 1, "it may have had incidents since"

    asyncio.run(story())


def test_one_with_an_open_incident_is_kept_for_a_day() -> None:
    async def story() -> None:
        told = Story()
        told.open.add("f2")
        await told.say(0, "f2")
        for at in range(0, int(IDLE_WITH_INCIDENTS_S) - 600, 600):
            await told.say(at, "f1")
        await told.stage.look()
        assert told.names() == ["f1", "f2"]
        await told.say(IDLE_WITH_INCIDENTS_S + 1, "f1")
        await told.stage.look()
        assert told.names() == ["f1"]

    asyncio.run(story())


def test_a_thousand_fabrics_that_come_and_go_leave_nothing_behind() -> None:
    async def story() -> None:
        told = Story()
        most = 0
        for number in range(1000):
            await told.say(number * 60, f"f{number}")
            await told.say(number * 60, "f")
            await told.stage.look()
            most = max(most, told.stage.sizes()["fabrics"])
        assert most <= IDLE_S / 60 + 3
        assert told.stage.sizes()["messages_held"] <= 2 * (2 * LOOKBACK_S / 60 + 2)
        assert max(told.acked) > told.offset - 30

    asyncio.run(story())


def test_a_file_with_fabrics_that_come_and_go_holds_few() -> None:
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
        most = max(most, len(offline._localizers))  # noqa: SLF001 — what is remembered
    assert most <= IDLE_S / 600 + 3


def test_documents_of_what_is_over_are_forgotten() -> None:
    notices = Silent()
    known: Any = notices._known  # noqa: SLF001 — as if they had been read
    for number in range(1000):
        from_s = START_S + number * 60
        at, until = rfc3339(from_s * 10**9), rfc3339((from_s + 600) * 10**9)
        known["p", str(number).encode()] = [
            Placement(node_id=f"c{number}", node_sn="h1", state="gone", valid_from=at)
        ]
        known["m", str(number).encode()] = [
            Maintenance(component=f"host:h{number}", start=at, until=until, reason="optics")
        ]
        notices.forget(from_s)
    assert len(notices) < 200
