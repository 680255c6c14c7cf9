"""The stage of skh.pings: what is published, and acknowledged after that."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from builders.streams.ping_records import START_S, message, ping
from builders.streams.stages import BatchEvent, Event, RecordingProducer, minute

from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from streams.admission.decoded import Decoded
from streams.heartbeats import Heartbeats
from streams.ingest import Ingest
from streams.kafka.messages import InMessage, OutMessage
from streams.merge.consumer_progress import ConsumerProgress, UnreadRange
from streams.merge.output_merger import OutputMerger
from streams.windowing.partition import PartitionWorker

pytestmark = pytest.mark.anyio


async def feed(stage: Ingest, messages: list[InMessage], acked: list[tuple[int, int]]) -> None:
    for each in messages:
        event = BatchEvent([each], 0, acked)
        await stage.consume(event)
        assert event.message.value is None, "a held event must not hold its payload"
    await stage.flush()


async def test_messages_that_no_open_window_needs_are_acknowledged() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    await feed(Ingest(OutputMerger(producer)), minute(), acked)
    assert producer.panes() == list(range(57))
    assert acked, "the first windows have closed"
    assert max(acked)[1] < 57 - 25, "the next window still needs 25 seconds"


async def test_nothing_is_acknowledged_when_publishing_fails() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    producer.fails = True
    with pytest.raises(RuntimeError, match="broker is gone"):
        await feed(Ingest(OutputMerger(producer)), minute(), acked)
    assert acked == []


async def test_reading_again_from_the_commit_begins_a_higher_epoch() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(producer))
    await feed(stage, minute(), acked)
    await feed(stage, minute(first=20), acked)
    epochs = [each.epoch for each in producer.headers()]
    assert len(set(epochs)) == 2
    assert epochs == sorted(epochs)
    counts = stage.counts
    assert counts.records == counts.judged + counts.held, "what is read again counts again"
    assert (counts.late, counts.duplicate) == (0, 0)


async def test_a_rebalance_publishes_no_half_pane() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(producer))
    await feed(stage, minute(last=30), acked)
    before = len(acked)
    stage.revoke()
    await feed(stage, minute(), acked)
    assert producer.panes() == [*range(27), *range(57)]
    assert len(acked) > before


async def test_a_message_from_a_clock_in_the_future_counts_as_arriving_now() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    now_s = START_S + 10.0
    stage = Ingest(OutputMerger(producer), clock_ns=lambda: int(now_s * 1e9))
    ahead = message(0, [ping(3600, src="h9")])
    rest = [m._replace(offset=m.offset + 1) for m in minute(last=12)]
    await feed(stage, [ahead, *rest], acked)
    assert producer.panes() == list(range(9))
    assert stage.counts.late == 1


async def test_the_brokers_time_stamp_counts_whatever_the_workers_clock_is() -> None:
    """Log append time, and a worker whose clock is an hour behind: nothing is in the future."""
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(producer), clock_ns=lambda: (START_S - 3600) * 10**9)
    for each in minute(last=12):
        await stage.consume(BatchEvent([each], 0, acked, time_kind=1))
    await stage.flush()
    assert producer.panes() == list(range(9))
    assert stage.counts.late == 0


class Failing(PartitionWorker):
    """Windowing with a defect that one destination triggers."""

    def step(
        self, messages: Sequence[InMessage], decoded: Decoded | None = None
    ) -> list[OutMessage]:
        if any(b"10.6.6.6" in each.value for each in messages):
            raise IndexError("a defect of ours")
        return super().step(messages, decoded)


async def test_a_message_that_windowing_fails_on_is_a_dead_letter_and_the_next_is_judged() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = Ingest(OutputMerger(producer), make_worker=Failing)
    bad = message(30, [ping(30, dst_ip="10.6.6.6")])
    after = [each._replace(offset=each.offset + 1) for each in minute(first=30)]
    await feed(stage, [*minute(last=30), bad, *after], acked)
    assert producer.panes()[-1] == 56
    (letter,) = producer.dead_letters()
    assert dict(letter.headers)["offset"] == b"30"
    assert b"IndexError" in dict(letter.headers)["reason"]
    counts = stage.counts
    assert counts.records == counts.judged + counts.late + counts.dead_lettered + counts.held
    assert counts.dead_lettered == 1
    assert stage.failures == 2, "the step, and the message alone"
    assert max(acked)[1] >= 30, "the offset moves past the bad message"


async def test_pings_and_heartbeats_wait_for_partitions_with_unread_messages() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    ends = {0: UnreadRange(0, 60), 1: UnreadRange(0, 60)}

    async def extents() -> dict[int, UnreadRange]:
        return ends

    merger = OutputMerger(producer)
    stage = Ingest(merger, progress=ConsumerProgress(extents))
    beats = Heartbeats(merger, progress=ConsumerProgress())
    for each in minute():
        await stage.consume(BatchEvent([each], 0, acked))
    beat = heartbeat.encode(Heartbeat("h1", (START_S + 50) * 10**9))
    await beats.consume(Event(InMessage(0, 0, beat, {}), 0, acked))
    await stage.flush()
    await beats.flush()
    assert producer.sent == [], "partition 1 has not begun"
    assert acked == []

    other = minute()
    for each in other[:30]:
        await stage.consume(BatchEvent([each], 1, acked))
    await stage.flush()
    assert max(producer.panes()) == 26, "as far as partition 1 has come"
    for each in other[30:]:
        await stage.consume(BatchEvent([each], 1, acked))
    await stage.flush()
    panes = producer.panes()
    assert panes == sorted(panes)
    assert len(panes) == 2 * 57
    headers = producer.headers()
    at = next(i for i, h in enumerate(headers) if h.kind == "heartbeats")
    assert headers[at - 1].end_s <= START_S + 51 <= headers[at + 1].end_s
    assert acked


async def test_what_a_stage_has_read_but_not_processed_is_waited_for_by_the_other() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()

    async def extents() -> dict[int, UnreadRange]:
        return {0: UnreadRange(0, 60), 1: UnreadRange(0, 60)}

    async def beats_extents() -> dict[int, UnreadRange]:
        return {0: UnreadRange(0, 2)}

    merger = OutputMerger(producer)
    stage = Ingest(merger, progress=ConsumerProgress(extents))
    beats = Heartbeats(merger, progress=ConsumerProgress(beats_extents))
    for each in minute():
        await stage.consume(BatchEvent([each], 0, acked))
    await stage.flush()
    for each in minute():  # to the end of partition 1, and then the other stage publishes first
        await stage.consume(BatchEvent([each], 1, acked))
    for offset in range(2):
        beat = heartbeat.encode(Heartbeat("h1", (START_S + 20 + offset) * 10**9))
        await beats.consume(Event(InMessage(offset, 0, beat, {}), 0, acked))
    await beats.flush()
    assert producer.panes() == [], "partition 1 has been read, but no pane of it has closed"

    beat = heartbeat.encode(Heartbeat("h1", (START_S + 50) * 10**9))
    await beats.consume(Event(InMessage(2, 0, beat, {}), 0, acked))
    await stage.flush()
    assert max(producer.panes()) < 51, "the heartbeats of that second are yet to be handed over"
    await beats.flush()
    panes = producer.panes()
    assert panes == sorted(panes)
    assert len(panes) == 2 * 57
