"""Which of several processes leads: the one to which the group gives a topic's partition 0.

A process that ends hands over at once; one that dies, or that the broker does not hear, does so
when its session in the group is over.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

_SESSION_MS: Final = 10_000
_HEARTBEAT_MS: Final = 1_000
_POLL_S: Final = 0.5


class Leadership:
    """This process's part in a group, for one event loop; no message of the topic is read.

    topic  exists; its partition 0 goes to one member at a time, and stays there while others join
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str, group: str) -> None:
        self._settings = {
            **kafka, "group.id": group, "enable.auto.commit": False, "log_level": 4,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": _SESSION_MS, "heartbeat.interval.ms": _HEARTBEAT_MS,
        }  # fmt: skip
        self._topic = topic
        self._stop = threading.Event()
        self._leads: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] | None = None
        self._thread: asyncio.Task[None] | None = None

    async def acquire(self) -> None:
        """Return when this process leads; raises KafkaException for what no retry mends."""
        loop = asyncio.get_running_loop()
        self._leads, self._lost = loop.create_future(), loop.create_future()
        self._thread = asyncio.create_task(asyncio.to_thread(self._follow, loop))
        await asyncio.wait({self._leads, self._thread}, return_when=asyncio.FIRST_COMPLETED)
        if self._thread.done():
            await self._thread  # raises what ended it

    async def lost(self) -> None:
        """Return when this process leads no longer; raises what ended its part in the group."""
        if self._lost is None or self._thread is None:
            raise RuntimeError("acquire first")
        await asyncio.wait({self._lost, self._thread}, return_when=asyncio.FIRST_COMPLETED)
        if self._thread.done():
            await self._thread

    async def close(self) -> None:
        """Leave the group: another process leads at once."""
        self._stop.set()
        if self._thread is not None:
            await asyncio.wait({self._thread})

    def _follow(self, loop: asyncio.AbstractEventLoop) -> None:
        consumer = Consumer(self._settings)

        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            if any(each.partition == 0 for each in partitions):
                loop.call_soon_threadsafe(_done, self._leads)

        def revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
            consumer.incremental_unassign(partitions)
            if any(each.partition == 0 for each in partitions):
                loop.call_soon_threadsafe(_done, self._lost)

        try:
            consumer.subscribe(
                [self._topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked
            )
            while not self._stop.is_set():
                message = consumer.poll(_POLL_S)
                error = None if message is None else message.error()
                if error is not None and _is_final(error):
                    raise KafkaException(error)
        finally:
            consumer.close()


def _is_final(error: KafkaError) -> bool:
    """Whether librdkafka does not try again by itself."""
    refused = (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    return bool(error.fatal()) or error.code() in refused


def _done(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
