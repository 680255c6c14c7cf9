"""Stages of a worker that is late: late is not silent, and only stalled partitions are idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import pytest
from builders.streams.ping_records import START_S, message, ping
from builders.streams.stages import (
    BatchEvent,
    Event,
    FixedFeed,
    RecordingProducer,
    minute,
    no_incidents,
    plain_localizer,
    recording_localizer,
)

from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Incident
from schemas.wire import window_chunks
from streams.heartbeats import Heartbeats
from streams.ingest import Ingest
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.stage import LocalizeStage
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.output_merger import OutputMerger

pytestmark = pytest.mark.anyio
IDLE_TICKS = 5  # idle_s at one a second


class Worker:
    """Two partitions of pings, one of heartbeats, a broker that knows their ends, one clock.

    wrong_s  how far the worker's own clock is ahead of the broker's [s]
    """

    def __init__(self, wrong_s: float = 0.0) -> None:
        self.wrong_s = wrong_s
        self.producer, self.acked = RecordingProducer(), list[tuple[int, int]]()
        self.now_s = START_S + 60.0
        self.ends: dict[int, int | None] = {0: 0, 1: 0}  # None: its leader is down
        self.merger = OutputMerger(self.producer, lambda: self.now_s)
        self.progress = ConsumerProgress(query_end_offsets=self._query)
        self.stage = Ingest(
            self.merger, clock_ns=lambda: int((self.now_s + self.wrong_s) * 1e9),
            elapsed_ns=lambda: int(self.now_s * 1e9), progress=self.progress,
        )  # fmt: skip
        self.beats = Heartbeats(self.merger, progress=ConsumerProgress())

    async def _query(self, partitions: Collection[int]) -> dict[int, int]:
        return {p: end for p in partitions if (end := self.ends.get(p, 0)) is not None}

    async def consume(
        self, partition: int, messages: list[InMessage], *, by_broker: bool = False
    ) -> None:
        """by_broker  time stamps are the broker's"""
        for each in messages:
            event = BatchEvent([each], partition, self.acked, time_kind=int(by_broker))
            await self.stage.consume(event)
            self.ends[partition] = max(self.ends[partition] or 0, each.offset + 1)
        await self.stage.flush()

    async def ticks(self, count: int) -> None:
        for _ in range(count):
            self.now_s += 1
            await self.stage.tick()

    def headers(self, partition: int) -> list[window_chunks.Header]:
        return [each for each in self.producer.headers() if each.partition == partition]


def pings(partition: int, first: int, last: int) -> list[InMessage]:
    """Three hosts of each partition, one message a second."""
    hosts = [3 * partition + h for h in (1, 2, 3)]
    return [message(s, [ping(s + 0.5, src=f"h{h}") for h in hosts]) for s in range(first, last)]


async def test_a_silent_partition_is_closed_by_wall_clock() -> None:
    worker = Worker()
    await worker.consume(0, minute())
    await worker.ticks(IDLE_TICKS)
    assert worker.producer.panes() == list(range(57)), (
        "it advanced once, and was quiet for four ticks"
    )
    await worker.ticks(1)
    assert worker.producer.panes() == list(range(60))
    assert worker.headers(0)[-1].idle


@pytest.mark.parametrize("wrong_s", [-3600, 3600])
async def test_a_silent_partition_is_closed_by_the_brokers_clock_whatever_the_workers_is(
    wrong_s: float,
) -> None:
    worker = Worker(wrong_s)
    for s in range(60):
        worker.now_s = START_S + s + 1.0
        await worker.consume(0, minute(first=s, last=s + 1), by_broker=True)
    await worker.ticks(IDLE_TICKS + 1)
    assert worker.producer.panes() == list(range(60))
    ahead = message(60, [ping(600.5, src="h1")])._replace(time_ms=int(worker.now_s * 1000))
    await worker.consume(0, [ahead], by_broker=True)
    await worker.ticks(2 * IDLE_TICKS)
    assert worker.stage.counts.ahead == 1, "the broker's clock bounds event times"
    assert worker.producer.panes() == list(range(60))


async def test_records_that_have_not_been_fetched_yet_are_not_late() -> None:
    """The worker stands still; the last fetch knew nothing of what has arrived since."""
    worker = Worker()
    await worker.consume(0, minute(last=30))
    worker.ends[0] = 60
    worker.now_s += 30
    await worker.ticks(20)
    assert worker.producer.panes() == list(range(27))
    await worker.consume(0, minute(first=30))
    assert worker.producer.panes() == list(range(57))
    counts = worker.stage.counts
    assert (counts.late, counts.records) == (0, counts.judged + counts.held)


async def test_a_worker_without_cpu_closes_no_pane_by_wall_clock() -> None:
    worker = Worker()
    await worker.consume(0, minute(last=30))
    await worker.ticks(1)
    worker.now_s += 60  # not one tick in between; a message is on its way to the broker
    await worker.ticks(IDLE_TICKS - 2)
    assert worker.producer.panes() == list(range(27))
    await worker.consume(0, minute(first=30))
    assert worker.stage.counts.late == 0


async def test_messages_that_wait_in_the_worker_are_not_overtaken_by_the_wall_clock() -> None:
    worker = Worker()
    await worker.consume(0, minute(last=30))
    await worker.ticks(1)
    await worker.stage.consume(BatchEvent([minute()[30]], 0, worker.acked))  # not flushed
    worker.ends[0] = 31
    await worker.ticks(2 * IDLE_TICKS)
    assert worker.producer.panes() == list(range(27))


async def test_a_partition_whose_leader_is_down_is_idle_until_it_returns() -> None:
    worker = Worker()
    for s in range(30):
        for partition in (0, 1):
            await worker.consume(partition, pings(partition, s, s + 1))
    worker.ends[0] = None
    for s in range(30, 60):
        await worker.consume(1, pings(1, s, s + 1))
        await worker.ticks(1)
    assert worker.merger.stalled == 1
    gone = worker.headers(0)[-1]
    assert (gone.kind, gone.idle, gone.watermark_ms) == ("punctuation", True, (START_S + 27) * 1000)
    panes = [h.start_s - START_S for h in worker.headers(0) if h.kind == "pane"]
    assert panes == list(range(27)), "no pane is closed before all is read"
    assert max(h.end_s for h in worker.headers(1)) == START_S + 57, (
        "the other partition does not wait for it"
    )

    await worker.consume(0, pings(0, 30, 60))
    assert worker.merger.stalled == 0
    assert not worker.headers(0)[-1].idle
    panes = [h.start_s - START_S for h in worker.headers(0) if h.kind == "pane"]
    assert panes == list(range(57)), "all of it is published, only late"
    counts = worker.stage.counts
    assert (counts.late, counts.records) == (0, counts.judged + counts.held)


async def test_records_that_agents_hold_while_the_broker_is_away_are_not_late_when_it_returns() -> (
    None
):
    worker = Worker()
    await worker.consume(0, minute(last=30))
    worker.ends[0] = None
    await worker.ticks(20)
    worker.ends[0] = 30  # the broker is back for the worker, and not yet for the agents
    await worker.ticks(IDLE_TICKS + 5)
    assert worker.producer.panes() == list(range(27))
    await worker.consume(0, minute(first=30))
    assert worker.stage.counts.late == 0
    await worker.ticks(15 + IDLE_TICKS)
    assert worker.producer.panes() == list(range(60)), "then silence counts as before"


async def test_the_return_of_the_broker_is_remembered_over_the_rebalance_that_it_causes() -> None:
    worker = Worker()
    await worker.consume(0, minute(last=30))
    worker.ends[0] = None
    await worker.ticks(20)
    worker.stage.revoke()
    await worker.ticks(20)  # nothing is assigned
    worker.ends[0] = 30
    await worker.consume(0, minute(last=30))
    await worker.ticks(IDLE_TICKS + 5)
    await worker.consume(0, minute(first=30))
    assert worker.stage.counts.late == 0


async def test_a_partition_that_stays_silent_when_the_broker_returns_is_closed_at_last() -> None:
    worker = Worker()
    await worker.consume(0, minute(last=30))
    worker.ends[0] = None
    await worker.ticks(20)
    worker.ends[0] = 30
    await worker.ticks(IDLE_TICKS + 15)
    assert worker.producer.panes() == list(range(30))


async def test_pings_do_not_wait_for_ever_for_a_stalled_heartbeat_partition() -> None:
    worker = Worker()
    reading = ConsumerProgress(high_watermark=lambda p: 100)
    worker.beats = Heartbeats(worker.merger, progress=reading)
    beat = heartbeat.encode(Heartbeat("h1", START_S * 10**9))
    await worker.beats.consume(Event(InMessage(0, 0, beat, {}), 0, worker.acked))
    await worker.beats.flush()
    assert worker.producer.sent == [], "there are more heartbeats"
    for s in range(60):
        await worker.consume(0, pings(0, s, s + 1))
        worker.now_s += 1
    assert worker.producer.panes() == list(range(57))


async def test_lag_is_the_age_of_the_newest_message_judged_while_there_are_more() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    now_s, end = START_S + 100.0, 1

    async def query(partitions: Collection[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, end)

    stage = LocalizeStage(
        producer, recording_localizer, no_incidents, FixedFeed(),
        ConsumerProgress(query_end_offsets=query), lambda: now_s,
    )  # fmt: skip
    header = window_chunks.Header("punctuation", "f1", START_S, START_S)
    said = InMessage(0, (START_S + 60) * 1000, b"", dict(header.to_kafka()))
    await stage.consume(BatchEvent([said], 0, acked))
    for _ in range(2):
        await stage.tick()
    assert stage.lag_s == 0, "there is no more"
    end = 2
    await stage.tick()
    assert stage.lag_s == 40


async def test_event_time_that_waits_in_a_localizer_is_lag() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = LocalizeStage(producer, plain_localizer, no_incidents, FixedFeed())
    last: dict[int, list[OutMessage]] = {}
    offset = Counter[int]()
    worker = Worker()
    for partition in (0, 1):
        await worker.consume(partition, pings(partition, 0, 60))
    for out in worker.producer.sent:
        header = window_chunks.Header.from_kafka(dict(out.headers))
        last.setdefault(header.partition, []).append(out)
    for at in range(max(map(len, last.values()))):
        for partition, until in ((0, len(last[0])), (1, len(last[1]) // 2)):
            if at < until:
                out = last[partition][at]
                message = InMessage(offset[0], START_S * 1000, out.value, dict(out.headers))
                offset[0] += 1
                await stage.consume(BatchEvent([message], 0, acked))
    await stage.tick()
    assert stage.lag_s > 20, "partition 1 has come half the way"


async def test_lag_of_pings_is_the_age_of_the_newest_read_while_there_are_more() -> None:
    worker = Worker()
    await worker.consume(0, minute())
    await worker.ticks(1)
    assert worker.stage.lag_s == 0
    worker.ends[0] = 61
    await worker.ticks(20)
    assert worker.stage.lag_s == pytest.approx(20.5, abs=1)


async def test_the_lag_is_known_while_the_first_message_is_judged() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    lags = list[float]()

    async def incidents() -> list[Incident]:  # read before the first message is judged
        for _ in range(2):  # a partition that has just advanced is not asked for its end
            await stage.tick()
        lags.append(stage.lag_s)
        return []

    async def query(partitions: Collection[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, 9)

    stage = LocalizeStage(
        producer, recording_localizer, incidents, FixedFeed(),
        ConsumerProgress(query_end_offsets=query), lambda: START_S + 100.0,
    )  # fmt: skip
    header = window_chunks.Header("punctuation", "f1", START_S, START_S)
    said = InMessage(0, (START_S + 60) * 1000, b"", dict(header.to_kafka()))
    await stage.consume(BatchEvent([said], 0, acked))
    assert lags[0] == 40
