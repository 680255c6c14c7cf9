"""A stream worker reports a fabric whose agents all fell silent, though no message says so."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from builders.streams.ping_records import START_S, batch, ping
from builders.streams.stages import (
    Acked,
    BatchEvent,
    FixedFeed,
    RecordingProducer,
    no_incidents,
    plain_localizer,
)

from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.silence import SILENT_TICKS, SilenceCounter
from streams.localize.stage import LocalizeStage
from streams.merge.consumer_progress import ConsumerProgress, no_offset_ranges
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.partition import PartitionWorker

HOSTS = [f"h{n}" for n in range(1, 7)]
#: The windower takes a partition for idle after so long [s].
IDLE_S = 6


class Worker:
    """The windowing and the localizing of a stream worker, on a clock of the test."""

    def __init__(self) -> None:
        self.windower = PartitionWorker(0, epoch=1)
        self.broker_answers = True
        self.producer = RecordingProducer()
        self.stage = LocalizeStage(
            self.producer, plain_localizer, no_incidents, FixedFeed(),
            ConsumerProgress(no_offset_ranges, lambda _: None, self.ends),
        )  # fmt: skip
        self.acked: Acked = []
        self.offset = 0

    async def ends(self, partitions: Collection[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, 0) if self.broker_answers else {}

    async def consume(self, messages: list[OutMessage]) -> None:
        for each in messages:
            headers = dict(each.headers)
            incoming = InMessage(self.offset, int(headers["end_s"]) * 1000, each.value, headers)
            self.offset += 1
            await self.stage.consume(BatchEvent([incoming], 0, self.acked))

    async def live(self, first: int, last: int) -> None:
        """Seconds in which every agent probes and sends a heartbeat."""
        for second in range(first, last):
            await self.beat(second)
            rows = [
                ping(second + 0.2, a, b, sent=4, src_asw="a1", dst_asw="a1")
                for a in HOSTS
                for b in HOSTS
                if a != b
            ]
            arrival_ns = (START_S + second + 1) * 10**9
            await self.consume(self.windower.feed(batch(rows), second, arrival_ns))
            await self.stage.tick()

    async def beat(self, second: int) -> None:
        time_ns = int((START_S + second + 0.9) * 10**9)
        beats = [Heartbeat(node_sn=host, time=time_ns, fabric="f1") for host in HOSTS]
        await self.consume(heartbeat_chunks(0, "f1", beats))

    async def silence(self, since: int, seconds: int, *, beats: bool = False) -> None:
        """Seconds in which no agent probes."""
        for second in range(since, since + seconds):
            if beats:
                await self.beat(second)
            if second - since >= IDLE_S:
                await self.consume(self.windower.tick((START_S + second) * 10**9))
            await self.stage.tick()

    @property
    def incidents(self) -> list[Incident]:
        return self.producer.incidents("f1")


def at(second: float) -> str:
    return rfc3339(int((START_S + second) * 10**9))


def test_a_fabric_whose_agents_all_fall_silent_is_one_incident() -> None:
    async def story() -> None:
        worker = Worker()
        await worker.live(0, 20)
        await worker.silence(20, IDLE_S + SILENT_TICKS)
        assert worker.incidents == [], "an operator may be restarting them all"
        await worker.silence(20 + IDLE_S + SILENT_TICKS, 100)
        (incident,) = worker.incidents
        assert (incident.component, incident.symptom, incident.state) == (
            "fabric:f1", "agent_down", "open",
        )  # fmt: skip
        assert incident.evidence["hosts"] == len(HOSTS)
        assert at(19) <= incident.opened_at <= at(21)
        assert worker.stage.counts.incidents == 1

    asyncio.run(story())


def test_the_incident_of_a_silent_fabric_is_resolved_when_its_agents_are_back() -> None:
    async def story() -> None:
        worker = Worker()
        await worker.live(0, 20)
        await worker.silence(20, 300)
        await worker.live(320, 340)
        assert len({each.incident_id for each in worker.incidents}) == 1
        last = worker.incidents[-1]
        assert last.state == "resolved"
        assert (last.closed_at or "") >= at(320), "not when the last message had come"

    asyncio.run(story())


def test_agents_that_send_heartbeats_but_do_not_probe_are_no_incident_of_the_fabric() -> None:
    async def story() -> None:
        worker = Worker()
        await worker.live(0, 20)
        await worker.silence(20, 15, beats=True)
        await worker.silence(35, 100)
        assert worker.incidents == []

    asyncio.run(story())


def test_no_fabric_is_silent_while_the_broker_does_not_answer() -> None:
    async def story() -> None:
        worker = Worker()
        await worker.live(0, 20)
        worker.broker_answers = False
        await worker.silence(20, 100)
        worker.broker_answers = True
        await worker.silence(120, SILENT_TICKS - 2)
        assert worker.incidents == [], "agents need some time to connect again"

    asyncio.run(story())


def test_a_silence_is_looked_at_once() -> None:
    counter = SilenceCounter()
    ticks = [counter.tick(7, read_to_end=True) for _ in range(3 * SILENT_TICKS)]
    assert sum(ticks) == 1
    again = [counter.tick(8, read_to_end=True) for _ in range(3 * SILENT_TICKS)]
    assert sum(again) == 1
