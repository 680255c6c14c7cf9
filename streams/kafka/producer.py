"""How stages publish: send messages, and return when the brokers have stored them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from confluent_kafka import KafkaException, Producer

from schemas.message_headers import described
from streams.errors import PublishError
from streams.kafka.messages import OutMessage


class MessageProducer(Protocol):
    """Publishes messages; a test passes one that appends them to a list."""

    async def send(self, messages: Sequence[OutMessage]) -> None:
        """Return when every message is stored; raises PublishError when one is not."""
        ...


class KafkaProducer:
    """An idempotent Kafka producer that the stages of one event loop share.

    Messages of one call reach their partitions in order, and calls in the order they were made. A
    thread serves the acknowledgements, so that the event loop never polls.
    """

    def __init__(self, bootstrap: str, options: Mapping[str, Any] | None = None) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "compression.type": "lz4",
                "linger.ms": 2,
                "log_level": 4,
                "delivery.timeout.ms": 60_000,
                **(options or {}),
            }
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="producer", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._stop.is_set():
            self._producer.poll(0.1)

    async def send(self, messages: Sequence[OutMessage]) -> None:
        if not messages:
            return
        batch = _Batch(len(messages), asyncio.get_running_loop())
        for message in messages:
            while True:
                try:
                    self._producer.produce(
                        message.topic,
                        value=message.value,
                        key=message.key,
                        headers=[*described(message.topic, message.headers)],
                        on_delivery=batch.delivered,
                    )
                except BufferError:  # the queue is full: what is in it must leave first
                    await asyncio.sleep(0.01)
                except KafkaException as why:
                    raise PublishError(message.topic, str(why.args[0])) from why
                else:
                    break
        await batch.done

    def close(self) -> None:
        """Wait for messages that are not stored yet, at most ten seconds."""
        self._producer.flush(10)
        self._stop.set()
        self._thread.join()


class _Batch:
    """Counts the acknowledgements of one call; they arrive on the producer's thread."""

    def __init__(self, size: int, loop: asyncio.AbstractEventLoop) -> None:
        self.done: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._left = size
        self._failed: PublishError | None = None

    def delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed = self._failed or PublishError(message.topic(), str(error))
        self._left -= 1
        if self._left == 0:
            self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        if self.done.done():
            return
        if self._failed is not None:
            self.done.set_exception(self._failed)
        else:
            self.done.set_result(None)
