"""Stream workers: one without a broker, as far as its metrics go, and one that reads heartbeats of
skh.windows from the embedded broker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from schemas import topics
from schemas.wire import window_chunks
from streams.admission.admission import Admission
from streams.admission.twins import Twins
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.localize.stage import LocalizeStage
from streams.readers.operator_feed import OperatorFeed
from streams.windowing.record_counts import RecordCounts
from streams.worker import StreamConfig, StreamWorker

START_S = 1_780_000_000


def worker_of(stage: LocalizeStage, operator_feed: OperatorFeed) -> Any:
    """A worker that has a localizing stage and has read nothing else."""
    return SimpleNamespace(
        localize=stage,
        operator_feed=operator_feed,
        admission=Admission(),
        ingest=SimpleNamespace(counts=RecordCounts(), failures=0, sizes=Counter(), missing=0),
        heartbeats=SimpleNamespace(received=0, missing=0, dead_lettered=0, twins=Twins()),
        merger=SimpleNamespace(buffered_bytes=0, stalled=0, early=0),
        refused=Counter(),
        lag_s=0.0,
        catching_up=False,
        commit_stalled=0,
    )


def broker_with_heartbeats(seconds: int) -> EmbeddedBroker:
    """A broker with one message for each of so many seconds, all in one partition."""
    broker = EmbeddedBroker()
    for second in range(START_S, START_S + seconds):
        beat = {
            "fabric": "f1", "node_sn": "h1", "time": second * 10**9, "alive": True,
            "cpu_steal": 0.0, "scheduling_delay_us": 0.0,
        }  # fmt: skip
        header = window_chunks.Header("heartbeats", "f1", second, second + 1)
        batch = pa.RecordBatch.from_pylist([beat], window_chunks.HEARTBEATS)
        broker.produce(
            topics.WINDOWS.name, "f1", dict(header.to_kafka()), window_chunks.encode(batch)
        )
    assert broker.flush() == 0
    return broker


@asynccontextmanager
async def worker_after(seconds: int, **settings: Any) -> AsyncIterator[StreamWorker]:
    """A worker that has read so many messages, and everything that there is.

    settings  of its ``StreamConfig``
    """
    broker = broker_with_heartbeats(seconds)
    worker = StreamWorker(
        StreamConfig(broker.bootstrap, fetch_wait_ms=20, kafka={"log_level": 2}, **settings)
    )
    try:
        await worker.start()
        await localized(worker, seconds)
        yield worker
        assert not worker.app.crashed
    finally:
        await worker.stop()


async def localized(worker: StreamWorker, count: int) -> None:
    """Return when so many messages of skh.windows have been read."""
    async with asyncio.timeout(600):
        while True:
            if worker.localize.counts.messages == count:
                break
            await asyncio.sleep(0.05)  # between two looks at a condition with a deadline


def partition_of(worker: StreamWorker) -> Any:
    """The partition of skh.windows that has the messages."""
    consumer = worker.app.consumer
    [tp] = [
        tp
        for tp in consumer.assignment()
        if tp.topic == topics.WINDOWS.name and consumer.highwater(tp)
    ]
    return tp
