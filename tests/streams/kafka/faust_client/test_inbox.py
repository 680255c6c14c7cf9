"""What waits for an agent is bounded in messages and in bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from mode.utils.queues import FlowControlEvent

from schemas import topics
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.faust_client.batches import DEFAULT
from streams.kafka.faust_client.inbox import Inbox
from streams.worker import StreamConfig, StreamWorker


def inbox(size: int, max_bytes: int) -> Inbox:
    return Inbox(size, max_bytes=max_bytes, flow_control=flowing())


def flowing() -> FlowControlEvent:
    event = FlowControlEvent()
    event.resume()
    return event


def event(value: object) -> SimpleNamespace:
    return SimpleNamespace(message=SimpleNamespace(value=value))


def deliver(queue: Inbox, value: object, paused: list[str]) -> None:
    drop: Callable[[], None] = paused.clear
    queue.put_nowait_enhanced(
        event(value), on_pressure_high=lambda: paused.append("fetch"), on_pressure_drop=drop
    )


async def until(holds: Callable[[], bool]) -> None:
    while True:
        if holds():
            return
        await asyncio.sleep(0.05)  # between two looks at a condition with a deadline


def test_few_large_messages_fill_it() -> None:
    queue = inbox(100, max_bytes=1000)
    for _ in range(3):
        queue.put_nowait(event(bytes(300)))
    assert not queue.full()
    queue.put_nowait(event(bytes(300)))
    assert queue.full()
    with pytest.raises(asyncio.QueueFull):
        queue.put_nowait(event(b"x"))


def test_many_small_messages_fill_it_as_before() -> None:
    queue = inbox(3, max_bytes=1000)
    for _ in range(3):
        queue.put_nowait(event(b"x"))
    assert queue.full()


def test_a_batch_counts_as_all_of_its_messages() -> None:
    queue = inbox(100, max_bytes=1000)
    queue.put_nowait(event([SimpleNamespace(value=bytes(600)), SimpleNamespace(value=None)]))
    queue.put_nowait(event([SimpleNamespace(value=bytes(400))]))
    assert queue.full()


def test_a_message_larger_than_the_bound_still_comes() -> None:
    queue = inbox(100, max_bytes=1000)
    queue.put_nowait(event(bytes(5000)))
    assert queue.full()
    queue.get_nowait()
    assert queue.waiting_bytes == 0
    assert not queue.full()


def test_bytes_are_counted_as_they_came_though_the_agent_takes_the_payload_away() -> None:
    queue = inbox(100, max_bytes=1000)
    queue.put_nowait(first := event(bytes(900)))
    first.message.value = None
    queue.get_nowait()
    assert queue.waiting_bytes == 0


def test_fetching_pauses_before_it_is_full_and_goes_on_when_it_has_drained() -> None:
    queue, paused = inbox(10, max_bytes=1000), list[str]()
    for _ in range(8):
        deliver(queue, bytes(100), paused)
    assert not paused
    deliver(queue, bytes(100), paused)
    assert paused == ["fetch"]
    while queue.qsize() > 4:
        queue.get_nowait()
    assert paused == ["fetch"]
    queue.get_nowait()
    assert not paused


def test_a_delivery_waits_for_room_in_bytes() -> None:
    async def scene() -> int:
        queue = inbox(100, max_bytes=1000)
        queue.put_nowait(event(bytes(1000)))
        waiting = asyncio.ensure_future(queue.put(event(b"next")))
        await asyncio.wait({waiting}, timeout=0.0)
        assert not waiting.done()
        await queue.get()
        await waiting
        return queue.qsize()

    assert asyncio.run(scene()) == 1


def test_what_is_forgotten_at_a_rebalance_weighs_nothing() -> None:
    queue = inbox(100, max_bytes=1000)
    queue.put_nowait(event(bytes(1000)))
    queue.clear()
    assert (queue.qsize(), queue.waiting_bytes) == (0, 0)
    queue.put_nowait(event(b"new"))
    assert queue.get_nowait().message.value == b"new"


def test_a_worker_whose_localizer_stands_still_holds_no_more_and_then_reads_it_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size, count = 50_000, 1_600
    most = 0
    put = Inbox._put  # noqa: SLF001

    def watched(self: Inbox, item: Any) -> None:
        nonlocal most
        put(self, item)
        most = max(most, self.waiting_bytes)

    monkeypatch.setattr(Inbox, "_put", watched)

    async def story() -> StreamWorker:
        broker = EmbeddedBroker()
        for at in range(count):
            broker.produce(topics.WINDOWS.name, f"f{at}", {}, bytes(size))
            if at % 100 == 99:
                assert broker.flush() == 0
        worker = StreamWorker(
            StreamConfig(broker.bootstrap, fetch_wait_ms=20, kafka={"log_level": 2})
        )
        go_on, consume = asyncio.Event(), worker.localize.consume

        async def standing_still(event: Any) -> None:
            await go_on.wait()
            await consume(event)

        monkeypatch.setattr(worker.localize, "consume", standing_still)
        try:
            await worker.start()
            async with asyncio.timeout(600):
                await until(lambda: most >= 0.8 * DEFAULT.waiting_bytes)
                go_on.set()
                await until(lambda: worker.localize.counts.messages == count)
        finally:
            await worker.stop()
        return worker

    worker = asyncio.run(story())
    assert worker.localize.counts.dead_lettered == count
    assert most <= DEFAULT.waiting_bytes + DEFAULT.size * size, "one batch more than fills it"
