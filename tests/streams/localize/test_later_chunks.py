"""Chunks of workers of a later release are judged, and counted."""

from __future__ import annotations

import logging

import pytest
from builders.clusters import START_S, Cluster, fine
from builders.schemas.release_files import later
from builders.streams.stages import BatchEvent, FixedFeed, RecordingProducer, no_incidents
from builders.streams.stream_workers import worker_of

from localizer.localizer import Localizer
from schemas.metrics import Sample
from schemas.metrics import stream as metrics
from schemas.wire import window_chunks
from streams import counters
from streams.kafka.messages import InMessage
from streams.localize.stage import LocalizeStage

pytestmark = pytest.mark.anyio

CLUSTER = Cluster()


async def test_later_chunks_are_counted_named_once_and_no_dead_letter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    producer = RecordingProducer()
    stage = LocalizeStage(
        producer, lambda _: Localizer(topology=CLUSTER.topology), no_incidents, FixedFeed()
    )
    offset = chunks = 0
    for at in range(3):
        for header, batch, body in CLUSTER.second(at, fine):
            value = body if batch is None else window_chunks.encode(later(batch))
            raw = InMessage(offset, (START_S + at) * 1000, value, dict(header.to_kafka()))
            await stage.consume(BatchEvent([raw], 0, []))
            offset, chunks = offset + 1, chunks + (batch is not None)
    assert (stage.counts.later, stage.counts.dead_lettered) == (chunks, 0)
    samples = list(counters.samples(worker_of(stage, FixedFeed())))
    assert Sample(metrics.STREAM_LATER, chunks) in samples
    said = [each for each in caplog.messages if "a later release writes columns" in each]
    assert said == [
        "skh.windows: a later release writes columns that are ignored: deep_of_the_future, "
        "of_the_future"
    ]
