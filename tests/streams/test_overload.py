"""Stages of a worker that is late: late is not silent, and only who is stuck is left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection

import pytest
from ping_samples import START_S, message, ping
from test_ingest_agents import Event, Outbox, Quiet, Scribe, judged_panes, minute

from localizer.localizer import Localizer
from schemas import topics
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


class House:
    """Two partitions of pings, one of heartbeats, a broker that knows their ends, one clock."""

    def __init__(self) -> None:
        self.outbox, self.acked = Outbox(), list[tuple[int, int]]()
        self.now_s = START_S + 60.0
        self.ends: dict[int, int | None] = {0: 0, 1: 0}  # None: its leader is down
        self.confluence = OutputMerger(self.outbox, lambda: self.now_s)
        self.reading = ConsumerProgress(ask_ends=self._ask)
        self.stage = Ingest(
            self.confluence, clock_ns=lambda: int(self.now_s * 1e9), reading=self.reading
        )
        self.beats = Heartbeats(self.confluence, reading=ConsumerProgress())

    async def _ask(self, partitions: Collection[int]) -> dict[int, int]:
        return {p: end for p in partitions if (end := self.ends.get(p, 0)) is not None}

    async def take(self, partition: int, messages: list[InMessage]) -> None:
        for each in messages:
            await self.stage.take(Event(each, partition, self.acked))
            self.ends[partition] = max(self.ends[partition] or 0, each.offset + 1)
        await self.stage.flush()

    async def ticks(self, count: int) -> None:
        for _ in range(count):
            self.now_s += 1
            await self.stage.tick()

    def said(self, partition: int) -> list[window_chunks.Header]:
        found = [window_chunks.Header.from_kafka(dict(o.headers)) for o in self.outbox.sent]
        return [header for header in found if header.partition == partition]


def pings(partition: int, first: int, last: int) -> list[InMessage]:
    """Three hosts of each partition, one message a second."""
    hosts = [3 * partition + h for h in (1, 2, 3)]
    return [message(s, [ping(s + 0.5, src=f"h{h}") for h in hosts]) for s in range(first, last)]


async def test_a_partition_that_has_fallen_silent_is_closed_by_the_walls_time() -> None:
    house = House()
    await house.take(0, minute())
    await house.ticks(IDLE_TICKS)
    assert judged_panes(house.outbox) == list(range(57)), "it came once, and was silent for four"
    await house.ticks(1)
    assert judged_panes(house.outbox) == list(range(60))
    assert house.said(0)[-1].idle


async def test_records_that_have_not_been_fetched_yet_are_not_late() -> None:
    """The worker stands still; the last fetch knew nothing of what has arrived since."""
    house = House()
    await house.take(0, minute(last=30))
    house.ends[0] = 60
    house.now_s += 30
    await house.ticks(20)
    assert judged_panes(house.outbox) == list(range(27))
    await house.take(0, minute(first=30))
    assert judged_panes(house.outbox) == list(range(57))
    tally = house.stage.tally
    assert (tally.late, tally.records) == (0, tally.judged + tally.held)


async def test_a_worker_that_got_no_time_for_a_minute_calls_nobody_silent() -> None:
    house = House()
    await house.take(0, minute(last=30))
    await house.ticks(1)
    house.now_s += 60  # not one tick in between; a message is on its way to the broker
    await house.ticks(IDLE_TICKS - 2)
    assert judged_panes(house.outbox) == list(range(27))
    await house.take(0, minute(first=30))
    assert house.stage.tally.late == 0


async def test_what_waits_to_be_judged_is_not_overtaken_by_the_walls_time() -> None:
    house = House()
    await house.take(0, minute(last=30))
    await house.ticks(1)
    await house.stage.take(Event(minute()[30], 0, house.acked))  # not flushed
    house.ends[0] = 31
    await house.ticks(2 * IDLE_TICKS)
    assert judged_panes(house.outbox) == list(range(27))


async def test_a_partition_whose_leader_is_down_is_left_out_and_comes_back() -> None:
    house = House()
    for s in range(30):
        for partition in (0, 1):
            await house.take(partition, pings(partition, s, s + 1))
    house.ends[0] = None
    for s in range(30, 60):
        await house.take(1, pings(1, s, s + 1))
        await house.ticks(1)
    assert house.confluence.stuck == 1
    gone = house.said(0)[-1]
    assert (gone.kind, gone.idle, gone.watermark_ms) == ("punctuation", True, (START_S + 27) * 1000)
    panes = [h.start_s - START_S for h in house.said(0) if h.kind == "pane"]
    assert panes == list(range(27)), "nothing is closed before the rest of it is there"
    assert max(h.end_s for h in house.said(1)) == START_S + 57, "nobody waits for it"

    await house.take(0, pings(0, 30, 60))
    assert house.confluence.stuck == 0
    assert not house.said(0)[-1].idle
    panes = [h.start_s - START_S for h in house.said(0) if h.kind == "pane"]
    assert panes == list(range(57)), "all of it is said, only late"
    tally = house.stage.tally
    assert (tally.late, tally.records) == (0, tally.judged + tally.held)


async def test_pings_do_not_wait_for_ever_for_heartbeats_that_do_not_come() -> None:
    house = House()
    reading = ConsumerProgress(highwater=lambda p: 100)
    house.beats = Heartbeats(house.confluence, reading=reading)
    beat = heartbeat.encode(Heartbeat("h1", START_S * 10**9))
    await house.beats.take(Event(InMessage(0, 0, beat, {}), 0, house.acked))
    await house.beats.flush()
    assert house.outbox.sent == [], "there are more beats"
    for s in range(60):
        await house.take(0, pings(0, s, s + 1))
        house.now_s += 1
    assert judged_panes(house.outbox) == list(range(57))


async def no_incidents() -> list[Incident]:
    return []


async def test_lag_is_the_age_of_what_was_judged_last_while_there_is_more() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    now_s, end = START_S + 100.0, 1

    async def ask(partitions: Collection[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, end)

    stage = LocalizeStage(
        outbox, lambda fabric: Scribe(fabric),  # type: ignore[arg-type,return-value]  # a fake
        no_incidents, Quiet(), ConsumerProgress(ask_ends=ask), lambda: now_s,
    )  # fmt: skip
    header = window_chunks.Header("punctuation", "f1", START_S, START_S)
    said = InMessage(0, (START_S + 60) * 1000, b"", dict(header.to_kafka()))
    await stage.take(Event(said, 0, acked))
    for _ in range(2):
        await stage.look()
    assert stage.lag_s == 0, "there is no more"
    end = 2
    await stage.look()
    assert stage.lag_s == 40


async def test_what_waits_within_a_localizer_is_lag() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    stage = LocalizeStage(outbox, lambda fabric: Localizer(), no_incidents, Quiet())
    last: dict[int, list[OutMessage]] = {}
    offset = Counter[int]()
    house = House()
    for partition in (0, 1):
        await house.take(partition, pings(partition, 0, 60))
    for out in house.outbox.sent:
        last.setdefault(window_chunks.Header.from_kafka(dict(out.headers)).partition, []).append(
            out
        )
    for at in range(max(map(len, last.values()))):
        for partition, until in ((0, len(last[0])), (1, len(last[1]) // 2)):
            if at < until:
                out = last[partition][at]
                message = InMessage(offset[0], START_S * 1000, out.value, dict(out.headers))
                offset[0] += 1
                await stage.take(Event(message, 0, acked))
    await stage.look()
    assert stage.lag_s > 20, "partition 1 has come half the way"


async def test_lag_of_pings_is_the_age_of_the_newest_read_while_there_are_more() -> None:
    house = House()
    await house.take(0, minute())
    await house.ticks(1)
    assert house.stage.lag_s == 0
    house.ends[0] = 61
    await house.ticks(20)
    assert house.stage.lag_s == pytest.approx(20.5, abs=1)


async def test_what_a_punctuation_says_of_who_was_left_out_adds_up() -> None:
    house = House()
    await house.take(0, minute())
    out = house.stage._lanes[0].worker.leave_out()  # noqa: SLF001 — the message itself
    [body] = [json.loads(each.value) for each in out if each.topic == topics.WINDOWS.name]
    counts = body["counts"]
    assert body["idle"]
    assert counts["records"] == counts["judged"] + counts["held"]
