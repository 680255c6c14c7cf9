"""After a rebalance no message is left out, also where no offset is committed yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from builders.streams.stream_workers import localized, partition_of, worker_after

from streams.worker import StreamWorker

SECONDS = 20


def resume(worker: StreamWorker) -> None:
    """What Faust does when the partitions of an assignment have been sought."""
    worker.app.flow_control.resume()
    worker.app.consumer.resume_flow()


def test_a_partition_without_a_committed_offset_is_read_from_its_beginning() -> None:
    async def story() -> None:
        async with worker_after(SECONDS) as worker:
            await worker.app.consumer.perform_seek()
            resume(worker)
            await localized(worker, 2 * SECONDS)

    asyncio.run(story())


def test_a_partition_with_a_committed_offset_is_read_from_there() -> None:
    async def story() -> None:
        async with worker_after(SECONDS) as worker:
            consumer = worker.app.consumer
            assert await consumer._commit({partition_of(worker): 15})  # noqa: SLF001
            await consumer.perform_seek()
            resume(worker)
            await localized(worker, SECONDS + 5)

    asyncio.run(story())


def test_what_is_fetched_while_a_rebalance_stops_the_flow_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fetch is waited for; what it brings is dropped, and read again from the beginning."""

    async def story() -> None:
        async with worker_after(SECONDS) as worker:
            consumer = worker.app.consumer
            fetch = consumer._thread.getmany  # noqa: SLF001
            begun, stopped = asyncio.Event(), asyncio.Event()

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

    asyncio.run(story())
