"""Faust's Kafka transport, with fetch limits and a livelock check of our own."""

from __future__ import annotations

from typing import Any, NamedTuple

import faust
from faust.transport.drivers import aiokafka as driver

from schemas.limits import LIMITS
from streams.kafka import header_names


class _Uncommitted(NamedTuple):
    """Acknowledged messages beyond the committed offset wait for a commit since then [s]."""

    committed: int
    since_s: float


def use(app: faust.App, fetch_wait_ms: int) -> None:
    """Give the app a transport whose consumer waits ``fetch_wait_ms`` for new data [ms].

    Faust's default is 1500 ms. Kafka answers as soon as there is data; librdkafka's in-process
    cluster answers when the time is over, so with it every message is late by this time.

    Faust also reports a partition whose committed offset stands still as a livelock. Here commits
    are delayed on purpose, while messages may have to be read again; so a partition has stalled
    only when messages have been acknowledged and stay uncommitted for
    ``broker_commit_livelock_soft_timeout``: see ``commit_stalled``.
    """

    header_names.tolerate()

    class Thread(driver.AIOKafkaConsumerThread):
        def _create_worker_consumer(self, transport: Any) -> Any:
            consumer = super()._create_worker_consumer(transport)
            consumer._fetch_max_wait_ms = fetch_wait_ms  # noqa: SLF001 — Faust passes a constant
            consumer._fetch_max_bytes = LIMITS.message_bytes  # noqa: SLF001 — as above
            return consumer

        def verify_event_path(self, now: float, tp: Any) -> None:
            consumer: Any = self.consumer
            consumer.check_commit(now, tp)
            super().verify_event_path(now, tp)

        def _log_slow_processing_commit(self, msg: str, tp: Any, *args: Any) -> None:
            consumer: Any = self.consumer
            if tp in consumer.commit_stalled:
                super()._log_slow_processing_commit(msg, tp, *args)

    class Consumer(driver.Consumer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._uncommitted: dict[Any, _Uncommitted] = {}
            self.commit_stalled: set[Any] = set()

        def _new_consumer_thread(self) -> Any:
            return Thread(self, loop=self.loop, beacon=self.beacon)

        def check_commit(self, now: float, tp: Any) -> None:
            """Record whether acknowledged messages have been uncommitted for too long.

            Stages acknowledge in the order of offsets, so an acknowledged message can be committed.
            """
            if not self._acked.get(tp):
                self._uncommitted.pop(tp, None)
                self.commit_stalled.discard(tp)
                return
            committed = self._committed_offset[tp] or -1
            known = self._uncommitted.get(tp)
            if known is None or known.committed != committed:
                known = self._uncommitted[tp] = _Uncommitted(committed, now)
                self.commit_stalled.discard(tp)
            if now - known.since_s >= self.commit_livelock_soft_timeout:
                self.commit_stalled.add(tp)

    class Transport(driver.Transport):
        pass

    Transport.Consumer = Consumer
    app.transport = Transport(app.conf.broker_consumer, app)


def commit_stalled(app: faust.App) -> set[Any]:
    """Partitions with acknowledged messages that stay uncommitted."""
    return set(getattr(app.consumer, "commit_stalled", ())) if app.started else set()
