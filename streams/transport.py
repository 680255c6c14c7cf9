"""Faust's Kafka transport with the one constant of it that we must choose ourselves."""

from __future__ import annotations

from typing import Any

import faust
from faust.transport.drivers import aiokafka as driver

from schemas.limits import LIMITS
from streams import header_names


def use(app: faust.App, fetch_wait_ms: int) -> None:
    """Let the app's consumer wait ``fetch_wait_ms`` for data that is not there yet [ms].

    Faust says 1500. Kafka answers as soon as there is data; librdkafka's in-process cluster
    answers when the time is over, so there it is what every message is late.
    """

    header_names.tolerate()

    class Thread(driver.AIOKafkaConsumerThread):
        def _create_worker_consumer(self, transport: Any) -> Any:
            consumer = super()._create_worker_consumer(transport)
            consumer._fetch_max_wait_ms = fetch_wait_ms  # noqa: SLF001 — Faust passes a constant
            consumer._fetch_max_bytes = LIMITS.message_bytes  # noqa: SLF001 — nor this
            return consumer

    class Consumer(driver.Consumer):
        def _new_consumer_thread(self) -> Any:
            return Thread(self, loop=self.loop, beacon=self.beacon)

    class Transport(driver.Transport):
        pass

    Transport.Consumer = Consumer
    app.transport = Transport(app.conf.broker_consumer, app)
