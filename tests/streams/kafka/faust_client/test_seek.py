"""After a rebalance no message is left out, also where no offset is committed yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa
import pytest

from schemas import topics
from schemas.wire import window_chunks
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.worker import StreamConfig, StreamWorker

START_S = 1_780_000_000
SECONDS = 20


@pytest.fixture
def broker() -> EmbeddedBroker:
    """A broker with twenty messages in one partition of skh.windows."""
    broker = EmbeddedBroker()
    for second in range(START_S, START_S + SECONDS):
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


async def localized(worker: StreamWorker, count: int) -> None:
    """Return when so many messages of skh.windows have been read."""
    async with asyncio.timeout(300):
        while True:
            if worker.localize.counts.messages == count:
                break
            await asyncio.sleep(0.05)  # between two looks at a condition with a deadline


def resume(worker: StreamWorker) -> None:
    """What Faust does when the partitions of an assignment have been sought."""
    worker.app.flow_control.resume()
    worker.app.consumer.resume_flow()


async def with_worker(broker: EmbeddedBroker, story: Any) -> None:
    worker = StreamWorker(StreamConfig(broker.bootstrap, fetch_wait_ms=20, kafka={"log_level": 2}))
    try:
        await worker.start()
        await localized(worker, SECONDS)
        await story(worker)
        assert not worker.app.crashed
    finally:
        await worker.stop()


def test_a_partition_without_a_committed_offset_is_read_from_its_beginning(
    broker: EmbeddedBroker,
) -> None:
    async def story(worker: StreamWorker) -> None:
        await worker.app.consumer.perform_seek()
        resume(worker)
        await localized(worker, 2 * SECONDS)

    asyncio.run(with_worker(broker, story))


def test_a_partition_with_a_committed_offset_is_read_from_there(broker: EmbeddedBroker) -> None:
    async def story(worker: StreamWorker) -> None:
        consumer = worker.app.consumer
        [tp] = [
            tp for tp in consumer.assignment()
            if tp.topic == topics.WINDOWS.name and consumer.highwater(tp)
        ]  # fmt: skip
        assert await consumer._commit({tp: 15})  # noqa: SLF001
        await consumer.perform_seek()
        resume(worker)
        await localized(worker, SECONDS + 5)

    asyncio.run(with_worker(broker, story))


def test_what_is_fetched_while_a_rebalance_stops_the_flow_is_read_again(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fetch is waited for; what it brings is dropped, and read again from the beginning."""

    async def story(worker: StreamWorker) -> None:
        consumer = worker.app.consumer
        fetch, begun, stopped = consumer._thread.getmany, asyncio.Event(), asyncio.Event()  # noqa: SLF001

        async def slow(*args: Any, **options: Any) -> Any:
            begun.set()
            await stopped.wait()
            return await fetch(*args, **options)

        monkeypatch.setattr(consumer._thread, "getmany", slow)  # noqa: SLF001
        await begun.wait()
        seeking = asyncio.create_task(consumer.perform_seek())
        await asyncio.sleep(0)
        assert not consumer.flow_active
        assert not seeking.done()
        stopped.set()
        await seeking
        resume(worker)
        await localized(worker, 2 * SECONDS)

    asyncio.run(with_worker(broker, story))
