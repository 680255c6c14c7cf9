"""Faust's Kafka transport with what we must choose or judge ourselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import faust
from faust.transport.drivers import aiokafka as driver

from schemas.limits import LIMITS
from streams.kafka import header_names


class _Waiting(NamedTuple):
    """Acknowledged messages wait for a commit beyond this offset since then [s]."""

    committed: int
    since_s: float


def use(app: faust.App, fetch_wait_ms: int) -> None:
    """Let the app's consumer wait ``fetch_wait_ms`` for data that is not there yet [ms].

    Faust says 1500. Kafka answers as soon as there is data; librdkafka's in-process cluster
    answers when the time is over, so there it is what every message is late.

    Faust also takes a partition whose commit stands still for a livelock, and asks for a bug to be
    reported. Here offsets are held back on purpose, for as long as what was read may be needed
    again; so it is one only when messages have been acknowledged and are not committed for that
    time (``broker_commit_livelock_soft_timeout``): see ``stalled``.
    """

    header_names.tolerate()

    class Thread(driver.AIOKafkaConsumerThread):
        def _create_worker_consumer(self, transport: Any) -> Any:
            consumer = super()._create_worker_consumer(transport)
            consumer._fetch_max_wait_ms = fetch_wait_ms  # noqa: SLF001 — Faust passes a constant
            consumer._fetch_max_bytes = LIMITS.message_bytes  # noqa: SLF001 — nor this
            return consumer

        def verify_event_path(self, now: float, tp: Any) -> None:
            consumer: Any = self.consumer
            consumer.watch_commit(now, tp)
            super().verify_event_path(now, tp)

        def _log_slow_processing_commit(self, msg: str, tp: Any, *args: Any) -> None:
            consumer: Any = self.consumer
            if tp in consumer.stalled:
                super()._log_slow_processing_commit(msg, tp, *args)

    class Consumer(driver.Consumer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._waiting: dict[Any, _Waiting] = {}
            self.stalled: set[Any] = set()

        def _new_consumer_thread(self) -> Any:
            return Thread(self, loop=self.loop, beacon=self.beacon)

        def watch_commit(self, now: float, tp: Any) -> None:
            """See whether acknowledged messages have waited for a commit for long.

            Stages acknowledge in the order of offsets, so what is acknowledged can be committed.
            """
            if not self._acked.get(tp):
                self._waiting.pop(tp, None)
                self.stalled.discard(tp)
                return
            committed = self._committed_offset[tp] or -1
            known = self._waiting.get(tp)
            if known is None or known.committed != committed:
                known = self._waiting[tp] = _Waiting(committed, now)
                self.stalled.discard(tp)
            if now - known.since_s >= self.commit_livelock_soft_timeout:
                self.stalled.add(tp)

    class Transport(driver.Transport):
        pass

    Transport.Consumer = Consumer
    app.transport = Transport(app.conf.broker_consumer, app)


def stalled(app: faust.App) -> set[Any]:
    """Partitions with acknowledged messages that are not committed for long."""
    return set(getattr(app.consumer, "stalled", ())) if app.started else set()
