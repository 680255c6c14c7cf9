"""The stage of skh.windows: which localizer gets which message, and what is acknowledged."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from builders.streams.ping_records import START_S
from builders.streams.stages import (
    BatchEvent,
    FixedFeed,
    RecordingLocalizer,
    RecordingProducer,
    no_incidents,
    recording_localizer,
    windows_messages,
)

from localizer.localizer import Localizer, LocalizerOutput
from schemas import topics
from schemas.documents.incident import Incident
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage
from streams.localize.retention import RETENTION
from streams.localize.stage import LocalizeStage

pytestmark = pytest.mark.anyio


async def test_a_fabric_gets_its_messages_in_order_after_its_own_incidents() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()
    made: dict[str, RecordingLocalizer] = {}
    reads = 0

    async def read_incidents() -> list[Incident]:
        nonlocal reads
        reads += 1
        return []

    def make(fabric: str) -> Any:
        return made.setdefault(fabric, RecordingLocalizer())

    stage = LocalizeStage(producer, make, read_incidents, FixedFeed())
    for each in windows_messages(20):
        await stage.consume(BatchEvent([each], 0, acked))
    localizer = made["f1"]
    ends = [end_s for kind, end_s, _ in localizer.observed if kind == "pane"]
    assert ends == sorted(ends)
    assert len(ends) == 20
    assert localizer.restored == []
    assert reads == 1
    assert acked == [], "everything is within the detectors' history"


async def test_a_localizer_judges_and_is_measured_on_a_thread_only() -> None:
    on_loop: set[str] = set()
    calls: Counter[str] = Counter()

    class Watched(Localizer):
        def _record(self, what: str) -> None:
            calls[what] += 1
            if threading.current_thread() is threading.main_thread():
                on_loop.add(what)

        def observe(self, header: Any, batch: Any, body: bytes = b"") -> LocalizerOutput:
            before = self.judged_s
            found = super().observe(header, batch, body)
            if before is not None and self.judged_s != before:
                self._record("judge")
            return found

        def sizes(self) -> dict[str, int]:
            self._record("sizes")
            return super().sizes()

    stage = LocalizeStage(RecordingProducer(), lambda _: Watched(), no_incidents, FixedFeed())
    both = []  # another partition follows, and completes the seconds
    for each in windows_messages(40):
        both.append(each)
        if each.headers["kind"] == b"punctuation":
            both.append(each._replace(headers={**each.headers, "partition": b"1"}))
    for offset, each in enumerate(both):
        await stage.consume(BatchEvent([each._replace(offset=offset)], 0, []))
    assert calls["judge"] > 10
    assert calls["sizes"] > 1
    assert on_loop == set()


async def test_messages_beyond_the_detectors_history_are_acknowledged() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()

    stage = LocalizeStage(producer, recording_localizer, no_incidents, FixedFeed())
    messages = windows_messages(400)
    for each in messages:
        await stage.consume(BatchEvent([each], 0, acked))
    last = window_chunks.Header.from_kafka(messages[max(acked)[1]].headers)
    assert (
        START_S + 400 - RETENTION.lookback_s - 5
        < last.end_s
        < START_S + 400 - RETENTION.lookback_s + 1
    )


async def test_an_invalid_message_of_skh_windows_is_a_dead_letter() -> None:
    producer, acked = RecordingProducer(), list[tuple[int, int]]()

    stage = LocalizeStage(producer, recording_localizer, no_incidents, FixedFeed())
    headers = window_chunks.Header("pane", "f1", 1, 2).to_kafka()
    for offset, wrong in enumerate(({}, dict(headers))):
        await stage.consume(
            BatchEvent([InMessage(offset, START_S * 1000, b"junk", wrong)], 0, acked)
        )
    assert [o.topic for o in producer.sent] == [topics.DEAD_LETTER.name] * 2
    assert stage.counts.dead_lettered == 2


async def test_messages_of_a_batch_are_judged_in_order_and_acknowledged_with_the_last() -> None:
    acked = list[tuple[int, int]]()
    localizer = RecordingLocalizer()
    stage = LocalizeStage(RecordingProducer(), lambda _: localizer, no_incidents, FixedFeed())
    every = windows_messages(RETENTION.lookback_s + 20)
    batches = [every[first : first + 7] for first in range(0, len(every), 7)]
    for each in batches:
        await stage.consume(BatchEvent(each, 0, acked))
    ends = [end_s for kind, end_s, _ in localizer.observed if kind == "pane"]
    assert ends == list(range(ends[0], ends[0] + RETENTION.lookback_s + 20))
    assert acked, "the first are older than the detectors' history"
    assert {offset for _, offset in acked} <= {each[-1].offset for each in batches}
    assert max(acked)[1] < len(every) - RETENTION.lookback_s


async def test_the_rest_of_a_batch_is_left_to_the_next_owner_of_its_partition() -> None:
    acked, judged = list[tuple[int, int]](), list[int]()

    class Revoked(RecordingLocalizer):
        def observe(
            self, header: window_chunks.Header, batch: pa.RecordBatch | None, body: bytes = b""
        ) -> LocalizerOutput:
            judged.append(header.end_s)
            if len(judged) == 3:
                stage.revoke()
            return LocalizerOutput()

    stage = LocalizeStage(RecordingProducer(), lambda _: Revoked(), no_incidents, FixedFeed())
    await stage.consume(BatchEvent(windows_messages(10), 0, acked))
    assert len(judged) == 3
    assert stage.fabrics == []
    assert acked == []
