"""The stage of skh.heartbeats: chunks by second and fabric, dead letters, twins."""

from __future__ import annotations

import pytest
from builders.streams.ping_records import START_S
from builders.streams.stages import Event, RecordingProducer

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.wire import window_chunks
from streams.heartbeats import Heartbeats
from streams.kafka.messages import InMessage
from streams.merge.output_merger import OutputMerger

pytestmark = pytest.mark.anyio


async def test_heartbeats_are_gathered_per_fabric_and_bad_ones_are_dead_letters() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = Heartbeats(OutputMerger(producer))
    beats = [Heartbeat(f"h{i}", (START_S + i) * 10**9, fabric=f"f{i % 2}") for i in range(4)]
    raws = [*(heartbeat.encode(beat) for beat in beats), b'{"node_sn": "h9"}', b"\xff"]
    for offset, raw in enumerate(raws):
        await stage.consume(Event(InMessage(offset, START_S * 1000, raw, {}), 2, acked))
    assert producer.sent == []
    assert acked == []
    await stage.flush()
    letters = producer.dead_letters()
    chunks = [o for o in producer.sent if o.topic == topics.WINDOWS.name]
    assert [dict(o.headers)["offset"] for o in letters] == [b"4", b"5"]
    assert [o.key for o in chunks] == [b"f0", b"f1", b"f0", b"f1"], "one a second and fabric"
    rows = [window_chunks.decode("heartbeats", each.value) for each in chunks]
    assert [r.column("node_sn").to_pylist() for r in rows] == [["h0"], ["h1"], ["h2"], ["h3"]]
    assert acked == [(2, offset) for offset in range(6)]
    assert (stage.received, stage.dead_lettered) == (6, 2)


async def test_heartbeats_of_two_agents_in_one_name_are_counted_as_twins() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = Heartbeats(OutputMerger(producer))
    for offset in range(6):
        beat = Heartbeat("h1", START_S * 10**9 + offset, fabric="f1", instance="ab"[offset % 2])
        raw = heartbeat.encode(beat)
        await stage.consume(Event(InMessage(offset, START_S * 1000, raw, {}), 2, acked))
    assert stage.twins.count == 1


async def test_a_heartbeat_from_a_clock_far_ahead_delays_no_other() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    stage = Heartbeats(OutputMerger(producer))
    year_s = 365 * 86_400
    for offset, at_s in enumerate((START_S, START_S + year_s, START_S + 1)):
        raw = heartbeat.encode(Heartbeat(f"h{offset}", at_s * 10**9, fabric="f1"))
        await stage.consume(Event(InMessage(offset, START_S * 1000, raw, {}), 0, acked))
    await stage.flush()
    ends = [each.end_s for each in producer.headers()]
    assert max(ends) <= START_S + 62
    beats = [window_chunks.decode("heartbeats", out.value).to_pylist() for out in producer.sent]
    assert {row["time"] // 10**9 for rows in beats for row in rows} == {
        START_S, START_S + 1, START_S + year_s,
    }  # fmt: skip
