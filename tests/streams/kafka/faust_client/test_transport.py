"""Which offsets are committed: acknowledged ones; a delay on purpose is no livelock."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from time import monotonic
from typing import Any

import mode
import pytest
from aiokafka.consumer.fetcher import OffsetResetStrategy
from builders.streams.stream_workers import partition_of, worker_after

from schemas import topics
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.faust_client import batches
from streams.kafka.faust_client.transport import deliver
from streams.worker import StreamConfig, StreamWorker

COMMIT_S = 2.0


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if "ommitted" in r.getMessage()]


def more_to_come(worker: StreamWorker) -> Any:
    """The partition of skh.windows, as it is while new messages arrive all the time."""
    tp = partition_of(worker)
    state = state_of(worker, tp)
    state.highwater = state.position + 1
    return tp


def state_of(worker: StreamWorker, tp: Any) -> Any:
    """What aiokafka knows of an assigned partition."""
    subscriptions = worker.app.consumer._thread._consumer._fetcher._subscriptions  # noqa: SLF001
    return subscriptions.subscription.assignment.state_value(tp)


def test_a_health_check_before_the_consumer_is_made_does_not_disturb_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It runs on a thread with an event loop of its own, and the consumer belongs to the other."""

    async def question(worker: StreamWorker) -> str | None:
        return worker.not_ready()

    async def story() -> None:
        broker = EmbeddedBroker()
        worker = StreamWorker(
            StreamConfig(broker.bootstrap, fetch_wait_ms=20, kafka={"log_level": 2})
        )
        answers = []
        begin = worker.app.on_init_dependencies

        def asked_first() -> Any:
            assert worker.app.started
            asking = threading.Thread(
                target=lambda: answers.append(asyncio.run(question(worker))), daemon=True
            )
            asking.start()
            asking.join(60)
            return begin()

        monkeypatch.setattr(worker.app, "on_init_dependencies", asked_first)
        try:
            await worker.start()
            assert answers == ["the stream worker has no partitions yet"]
        finally:
            await worker.stop()

    asyncio.run(story())


def test_pending_acks_are_no_livelock_and_a_missing_commit_is_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        async with worker_after(20, commit_s=COMMIT_S) as worker:
            waiting = {
                name: channel.queue.maxsize
                for channel in worker.app.topics
                for name in channel.topics
            }
            in_batches = {waiting[name] * batches.DEFAULT.size for name in batches.BATCHED}
            assert in_batches == {waiting[topics.HEARTBEATS.name]} == {4096}
            consumer = worker.app.consumer
            tp = more_to_come(worker)
            for later_s in (0.0, 2 * COMMIT_S, 20 * COMMIT_S):  # now and then, as Faust looks
                more_to_come(worker)
                consumer.verify_event_path(monotonic() + later_s, tp)
            assert complaints(caplog) == []
            assert worker.commit_stalled == 0

            consumer._acked[tp].append(0)  # noqa: SLF001 — acknowledged, and the commit fails
            for later_s in (0.0, 2 * COMMIT_S):
                more_to_come(worker)
                consumer.verify_event_path(monotonic() + later_s, tp)
            assert worker.commit_stalled == 1
            assert len(complaints(caplog)) == 1

            consumer._acked[tp].clear()  # noqa: SLF001 — committed at last
            consumer.verify_event_path(monotonic() + 3 * COMMIT_S, tp)
            assert worker.commit_stalled == 0

            # Offsets 4 to 8 have no message: 9 is not acknowledged because they need not be.
            consumer._acked[tp].append(3)  # noqa: SLF001
            await consumer._add_gap(tp, 4, 9)  # noqa: SLF001 — what Faust does at message 9
            assert consumer._new_offset(tp) == 4  # noqa: SLF001
            assert consumer._new_offset(tp) is None  # noqa: SLF001 — committed once

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())


def test_a_reader_that_retention_has_overtaken_does_not_end_the_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its partition has no position until the broker has said where it begins now."""

    async def story() -> None:
        async with worker_after(1) as worker:
            tp = more_to_come(worker)
            state_of(worker, tp).await_reset(OffsetResetStrategy.EARLIEST)
            assert not state_of(worker, tp).has_valid_position
            worker.app.consumer.verify_event_path(monotonic(), tp)
            assert caplog.records == []
            assert not worker.app.crashed

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())


def test_a_stage_that_asks_when_a_rebalance_has_begun_does_not_end_the_worker() -> None:
    """The client takes the partitions away before the stages are told so."""

    async def story() -> None:
        async with worker_after(1) as worker:
            consumer, tp = worker.app.consumer, more_to_come(worker)
            assert consumer.highwater(tp) == 2
            subscription = consumer._thread._consumer._subscription.subscription  # noqa: SLF001
            assignment = subscription.assignment
            subscription._assignment = None  # noqa: SLF001 — what aiokafka does first of all
            await worker.localize.tick()
            assert consumer.highwater(tp) is None
            subscription._assignment = assignment  # noqa: SLF001

    asyncio.run(story())


class Consumer(mode.Service):
    """Delivers messages to a queue of one place."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: asyncio.Queue[int] = asyncio.Queue(1)
        self.suspended = asyncio.Event()

    def put(self, number: int) -> Coroutine[Any, Any, Any]:
        return deliver(self.queue.put(number), self.suspended.wait(), self.wait_first)


def test_a_message_is_delivered_without_a_task_when_its_queue_has_room() -> None:
    async def story() -> None:
        consumer, before = Consumer(), asyncio.all_tasks()
        with pytest.raises(StopIteration) as done:
            consumer.put(7).send(None)  # it does not wait
        assert done.value.value.results == [None]
        assert asyncio.all_tasks() == before
        assert consumer.queue.get_nowait() == 7

    asyncio.run(story())


def test_a_message_waits_for_a_full_queue_and_is_delivered_once() -> None:
    async def story() -> None:
        consumer = Consumer()
        await consumer.put(1)
        waiting = asyncio.create_task(consumer.put(2))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert await consumer.queue.get() == 1
        await waiting
        assert consumer.queue.get_nowait() == 2
        assert consumer.queue.empty()

    asyncio.run(story())


def test_a_suspension_gives_up_the_delivery_to_a_full_queue() -> None:
    async def story() -> None:
        consumer = Consumer()
        await consumer.put(1)
        waiting = asyncio.create_task(consumer.put(2))
        await asyncio.sleep(0)
        consumer.suspended.set()
        await waiting
        assert consumer.queue.get_nowait() == 1
        await asyncio.sleep(0)
        assert consumer.queue.empty()

    asyncio.run(story())


def test_an_error_of_a_delivery_is_raised() -> None:
    async def failing() -> None:
        raise ValueError("its callback fails")

    async def story() -> None:
        consumer = Consumer()
        with pytest.raises(ValueError, match="its callback fails"):
            await deliver(failing(), consumer.suspended.wait(), consumer.wait_first)

    asyncio.run(story())
