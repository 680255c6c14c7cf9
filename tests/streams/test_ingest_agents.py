"""The stages around the pure cores: what is published before what is acknowledged."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from ping_samples import START_S, message, ping

from localizer.localizer import LocalizerOutput
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.wire import window_chunks
from streams.heartbeats import Heartbeats
from streams.ingest import Ingest
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.operator_feed import OperatorFeed
from streams.localize.retention import LOOKBACK_S
from streams.localize.stage import LocalizeStage
from streams.merge.consumer_progress import ConsumerProgress, OffsetRange
from streams.merge.output_merger import OutputMerger
from streams.windowing import records

pytestmark = pytest.mark.anyio


class Outbox:
    """Keeps what is sent; remembers what had been acknowledged by then."""

    def __init__(self) -> None:
        self.sent: list[OutMessage] = []
        self.fails = False

    async def send(self, messages: Sequence[OutMessage]) -> None:
        await asyncio.sleep(0)
        if self.fails:
            raise RuntimeError("the broker is gone")
        self.sent += messages


class Event:
    """What Faust hands to an agent."""

    acked: list[tuple[int, int]]

    def __init__(self, message: InMessage, partition: int, acked: list[tuple[int, int]]) -> None:
        self.value: bytes | None = message.value
        self.message = SimpleNamespace(
            value=message.value, headers=list(message.headers.items()), offset=message.offset,
            partition=partition, timestamp=message.time_ms / 1000, key=message.key,
        )  # fmt: skip
        self.acked = acked

    def ack(self) -> None:
        self.acked.append((self.message.partition, self.message.offset))


def minute(first: int = 0, last: int = 60) -> list[InMessage]:
    return [message(s, [ping(s + 0.5, src=f"h{h}") for h in (1, 2, 3)]) for s in range(first, last)]


def judged_panes(outbox: Outbox) -> list[int]:
    found = [
        window_chunks.Header.from_kafka(dict(o.headers))
        for o in outbox.sent
        if o.topic == topics.WINDOWS.name
    ]
    return [h.start_s - START_S for h in found if h.kind == "pane"]


async def feed(stage: Ingest, messages: list[InMessage], acked: list[tuple[int, int]]) -> None:
    for each in messages:
        event = Event(each, 0, acked)
        await stage.take(event)
        assert event.message.value is None, "a held event must not hold its payload"
    await stage.flush()


async def test_only_what_closed_windows_no_longer_need_is_acknowledged() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    await feed(Ingest(OutputMerger(outbox)), minute(), acked)
    assert judged_panes(outbox) == list(range(57))
    assert acked, "the first windows have closed"
    assert max(acked)[1] < 57 - 25, "the next window still needs 25 seconds"


async def test_nothing_is_acknowledged_when_publishing_fails() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    outbox.fails = True
    with pytest.raises(RuntimeError, match="broker is gone"):
        await feed(Ingest(OutputMerger(outbox)), minute(), acked)
    assert acked == []


async def test_reading_again_from_the_commit_begins_a_higher_epoch() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(outbox))
    await feed(stage, minute(), acked)
    await feed(stage, minute(first=20), acked)
    epochs = [window_chunks.Header.from_kafka(dict(o.headers)).epoch for o in outbox.sent]
    assert len(set(epochs)) == 2
    assert epochs == sorted(epochs)
    tally = stage.tally
    assert tally.records == tally.judged + tally.held, "what is read again counts again"
    assert (tally.late, tally.duplicate) == (0, 0)


async def test_a_rebalance_forgets_and_publishes_no_half_pane() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(outbox))
    await feed(stage, minute(last=30), acked)
    before = len(acked)
    stage.forget()
    await feed(stage, minute(), acked)
    assert judged_panes(outbox) == [*range(27), *range(57)]
    assert len(acked) > before


async def test_a_clock_in_the_future_is_taken_to_have_arrived_now() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    now_s = START_S + 10.0
    stage = Ingest(OutputMerger(outbox), clock_ns=lambda: int(now_s * 1e9))
    ahead = message(0, [ping(3600, src="h9")])
    rest = [m._replace(offset=m.offset + 1) for m in minute(last=12)]
    await feed(stage, [ahead, *rest], acked)
    assert judged_panes(outbox) == list(range(9))
    assert stage.tally.late == 1


async def test_the_brokers_time_stamp_counts_whatever_the_workers_clock_says() -> None:
    """Log append time, and a worker whose clock is an hour behind: nothing is in the future."""
    outbox, acked = Outbox(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(outbox), clock_ns=lambda: (START_S - 3600) * 10**9)
    for each in minute(last=12):
        event = Event(each, 0, acked)
        event.message.timestamp_type = 1
        await stage.take(event)
    await stage.flush()
    assert judged_panes(outbox) == list(range(9))
    assert stage.tally.late == 0


async def test_a_message_that_windowing_fails_on_is_a_dead_letter_and_the_next_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(outbox))
    real = records.split

    def split(batch: pa.RecordBatch, *rest: Any) -> records.Records:
        if "10.6.6.6" in batch.column("dst_ip").to_pylist():
            raise IndexError("a defect of ours")
        return real(batch, *rest)

    monkeypatch.setattr(records, "split", split)
    bad = message(30, [ping(30, dst_ip="10.6.6.6")])
    after = [each._replace(offset=each.offset + 1) for each in minute(first=30)]
    await feed(stage, [*minute(last=30), bad, *after], acked)
    panes = judged_panes(outbox)
    assert panes[-1] == 56
    (letter,) = [out for out in outbox.sent if out.topic == topics.DEAD_LETTER.name]
    assert dict(letter.headers)["offset"] == b"30"
    assert b"IndexError" in dict(letter.headers)["reason"]
    tally = stage.tally
    assert tally.records == tally.judged + tally.late + tally.dead_lettered + tally.held
    assert tally.dead_lettered == 1
    assert stage.failures == 2, "the step, and the message alone"
    assert max(acked)[1] >= 30, "the offset moves past the bad message"


async def test_heartbeats_are_gathered_per_fabric_and_bad_ones_are_dead_letters() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    stage = Heartbeats(OutputMerger(outbox))
    beats = [Heartbeat(f"h{i}", (START_S + i) * 10**9, fabric=f"f{i % 2}") for i in range(4)]
    raws = [*(heartbeat.encode(beat) for beat in beats), b'{"node_sn": "h9"}', b"\xff"]
    for offset, raw in enumerate(raws):
        await stage.take(Event(InMessage(offset, START_S * 1000, raw, {}), 2, acked))
    assert outbox.sent == []
    assert acked == []
    await stage.flush()
    letters = [o for o in outbox.sent if o.topic == topics.DEAD_LETTER.name]
    chunks = [o for o in outbox.sent if o.topic == topics.WINDOWS.name]
    assert [dict(o.headers)["offset"] for o in letters] == [b"4", b"5"]
    assert [o.key for o in chunks] == [b"f0", b"f1", b"f0", b"f1"], "one a second and fabric"
    rows = [window_chunks.decode("heartbeats", each.value) for each in chunks]
    assert [r.column("node_sn").to_pylist() for r in rows] == [["h0"], ["h1"], ["h2"], ["h3"]]
    assert acked == [(2, offset) for offset in range(6)]
    assert (stage.received, stage.dead_lettered) == (6, 2)


async def test_heartbeats_of_two_agents_in_one_name_are_counted_as_twins() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    stage = Heartbeats(OutputMerger(outbox))
    for offset in range(6):
        beat = Heartbeat("h1", START_S * 10**9 + offset, fabric="f1", instance="ab"[offset % 2])
        raw = heartbeat.encode(beat)
        await stage.take(Event(InMessage(offset, START_S * 1000, raw, {}), 2, acked))
    assert stage.twins.count == 1


class Quiet(OperatorFeed):
    """Nobody says anything of placement or maintenance."""

    def __init__(self) -> None:
        super().__init__({})

    async def begin(self) -> None:
        """There is nothing to read."""


class Scribe:
    """A localizer that writes down what it is given."""

    def __init__(self, fabric: str) -> None:
        self.fabric = fabric
        self.seen: list[tuple[str, int, bytes]] = []
        self.restored: list[Incident] | None = None

    def restore(self, incidents: list[Incident]) -> None:
        self.restored = incidents

    @property
    def suppressed_s(self) -> Counter[str]:
        return Counter()

    repeated = 0
    open_incidents = 0
    judged_s: int | None = None

    def sizes(self) -> dict[str, int]:
        return {"seen": len(self.seen)}

    def place(self, documents: Iterable[Placement]) -> None:
        assert not [*documents], "nobody said anything"

    def maintain(self, documents: Iterable[Maintenance]) -> None:
        assert not [*documents], "nobody said anything"

    def observe(
        self, header: window_chunks.Header, batch: pa.RecordBatch | None, body: bytes = b""
    ) -> LocalizerOutput:
        assert (batch is None) == (header.kind == "punctuation")
        self.seen.append((header.kind, header.end_s, body))
        return LocalizerOutput()


def make_scribe(fabric: str) -> Any:
    """A fake where a localizer is wanted."""
    return Scribe(fabric)


def windows_messages(count: int) -> list[InMessage]:
    """What a stage before says: panes and punctuations, as they lie in the topic."""
    from streams.windowing.partition import PartitionWorker

    worker = PartitionWorker(0, epoch=1)
    out = [o for m in minute(last=count) for o in worker.step([m])] + worker.finish()
    return [
        InMessage(offset, int(headers["end_s"]) * 1000, each.value, headers)
        for offset, each in enumerate(out)
        for headers in [dict(each.headers)]
    ]


async def test_each_fabric_gets_its_messages_in_order_and_its_own_past() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    made: dict[str, Scribe] = {}
    reads = 0

    async def read_incidents() -> list[Incident]:
        nonlocal reads
        reads += 1
        return []

    def make(fabric: str) -> Any:
        return made.setdefault(fabric, Scribe(fabric))

    stage = LocalizeStage(outbox, make, read_incidents, Quiet())
    for each in windows_messages(20):
        await stage.take(Event(each, 0, acked))
    scribe = made["f1"]
    ends = [end_s for kind, end_s, _ in scribe.seen if kind == "pane"]
    assert ends == sorted(ends)
    assert len(ends) == 20
    assert scribe.restored == []
    assert reads == 1
    assert acked == [], "everything lies within the detectors' memory"


async def test_what_the_detectors_have_forgotten_is_acknowledged() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()

    async def read_incidents() -> list[Incident]:
        return []

    stage = LocalizeStage(outbox, make_scribe, read_incidents, Quiet())
    messages = windows_messages(400)
    for each in messages:
        await stage.take(Event(each, 0, acked))
    last = window_chunks.Header.from_kafka(messages[max(acked)[1]].headers)
    assert START_S + 400 - LOOKBACK_S - 5 < last.end_s < START_S + 400 - LOOKBACK_S + 1


async def test_a_message_that_is_not_ours_is_a_dead_letter() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()

    async def read_incidents() -> list[Incident]:
        return []

    stage = LocalizeStage(outbox, make_scribe, read_incidents, Quiet())
    headers = window_chunks.Header("pane", "f1", 1, 2).to_kafka()
    for offset, wrong in enumerate(({}, dict(headers))):
        await stage.take(Event(InMessage(offset, START_S * 1000, b"junk", wrong), 0, acked))
    assert [o.topic for o in outbox.sent] == [topics.DEAD_LETTER.name] * 2
    assert stage.dead_lettered == 2


async def test_partitions_that_have_more_to_read_are_waited_for() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    ends = {0: OffsetRange(0, 60), 1: OffsetRange(0, 60)}

    async def extents() -> dict[int, OffsetRange]:
        return ends

    confluence = OutputMerger(outbox)
    stage = Ingest(confluence, reading=ConsumerProgress(extents))
    beats = Heartbeats(confluence, reading=ConsumerProgress())
    for each in minute():
        await stage.take(Event(each, 0, acked))
    beat = heartbeat.encode(Heartbeat("h1", (START_S + 50) * 10**9))
    await beats.take(Event(InMessage(0, 0, beat, {}), 0, acked))
    await stage.flush()
    await beats.flush()
    assert outbox.sent == [], "partition 1 has not begun"
    assert acked == []

    other = minute()
    for each in other[:30]:
        await stage.take(Event(each, 1, acked))
    await stage.flush()
    assert max(judged_panes(outbox)) == 26, "as far as partition 1 has come"
    for each in other[30:]:
        await stage.take(Event(each, 1, acked))
    await stage.flush()
    panes = judged_panes(outbox)
    assert panes == sorted(panes)
    assert len(panes) == 2 * 57
    kinds = [window_chunks.Header.from_kafka(dict(o.headers)) for o in outbox.sent]
    at = next(i for i, h in enumerate(kinds) if h.kind == "heartbeats")
    assert kinds[at - 1].end_s <= START_S + 51 <= kinds[at + 1].end_s
    assert acked


async def test_a_heartbeat_of_a_clock_far_ahead_does_not_hold_up_those_of_others() -> None:
    outbox, acked = Outbox(), list[tuple[int, int]]()
    merged = OutputMerger(outbox)
    stage = Heartbeats(merged)
    year_s = 365 * 86_400
    for offset, at_s in enumerate((START_S, START_S + year_s, START_S + 1)):
        raw = heartbeat.encode(Heartbeat(f"h{offset}", at_s * 10**9, fabric="f1"))
        await stage.take(Event(InMessage(offset, START_S * 1000, raw, {}), 0, acked))
    await stage.flush()
    ends = [window_chunks.Header.from_kafka(dict(out.headers)).end_s for out in outbox.sent]
    assert max(ends) <= START_S + 62
    beats = [window_chunks.decode("heartbeats", out.value).to_pylist() for out in outbox.sent]
    assert {row["time"] // 10**9 for rows in beats for row in rows} == {
        START_S, START_S + 1, START_S + year_s,
    }  # fmt: skip
