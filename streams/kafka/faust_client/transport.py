"""Faust's Kafka transport, with fetch limits, a livelock check and a delivery of our own."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from inspect import iscoroutine
from typing import Any, NamedTuple

import faust
from faust.transport.drivers import aiokafka as driver
from faust.types.tuples import ack_lock
from mode.services import WaitResults

from schemas.limits import LIMITS
from streams.kafka.faust_client import header_names, membership
from streams.kafka.faust_client.seek import SeekingConsumer, SeekingThread


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
    membership.use()

    class Thread(SeekingThread):
        def _create_worker_consumer(self, transport: Any) -> Any:
            consumer = super()._create_worker_consumer(transport)
            consumer._fetch_max_wait_ms = fetch_wait_ms  # noqa: SLF001 — Faust passes a constant
            consumer._fetch_max_bytes = LIMITS.message_bytes  # noqa: SLF001 — as above
            return consumer

        def verify_event_path(self, now: float, tp: Any) -> None:
            consumer: Any = self.consumer
            consumer.check_commit(now, tp)
            if self._has_position(tp):
                super().verify_event_path(now, tp)

        def _has_position(self, tp: Any) -> bool:
            """Whether it is known which message of an assigned partition is the next one.

            It is not where retention has deleted that message, until the broker has said where the
            partition begins now. What Faust does then ends the worker (an assertion of aiokafka).
            """
            state = self._assigned(tp)
            return state is None or state.has_valid_position

        def highwater(self, tp: Any) -> Any:
            """Where a partition ended at the last fetch; None: not known, or not assigned any more.

            A stage may ask before it is told that a rebalance has begun. What Faust does then ends
            the worker (an assertion of aiokafka).
            """
            state = self._assigned(tp)
            return None if state is None else state.highwater

        def _assigned(self, tp: Any) -> Any:
            """What aiokafka knows of an assigned partition; None of others."""
            assignment = self._ensure_consumer()._subscription.subscription.assignment  # noqa: SLF001
            return assignment and assignment.state_value(driver.ensure_aiokafka_TP(tp))

        def _log_slow_processing_commit(self, msg: str, tp: Any, *args: Any) -> None:
            consumer: Any = self.consumer
            if tp in consumer.commit_stalled:
                super()._log_slow_processing_commit(msg, tp, *args)

    class Consumer(SeekingConsumer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._uncommitted: dict[Any, _Uncommitted] = {}
            self.commit_stalled: set[Any] = set()

        def _new_consumer_thread(self) -> Any:
            return Thread(self, loop=self.loop, beacon=self.beacon)

        async def wait_first(self, *waits: Any, **options: Any) -> Any:
            if len(waits) == 2 and not options and iscoroutine(waits[0]):
                return await deliver(*waits, super().wait_first)
            return await super().wait_first(*waits, **options)

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

        def _new_offset(self, tp: Any) -> int | None:
            """The offset to commit: after the last message that has been acknowledged.

            Stages acknowledge in the order of offsets, and an event may stand for many messages
            (``batches``), so that there is no need to look for one that is missing in between.
            """
            with ack_lock:  # as in ``ack``
                acked = self._acked[tp]
                if not acked:
                    return None
                newest = max(acked)
                acked.clear()
                self._acked_index[tp].clear()
            return int(newest) + 1

        async def _add_gap(self, tp: Any, offset_from: int, offset_to: int) -> None:
            """Offsets without a message need no acknowledgement: see ``_new_offset``.

            Faust's own counts the message after the gap as acknowledged too.
            """

    class Transport(driver.Transport):
        pass

    Transport.Consumer = Consumer
    app.transport = Transport(app.conf.broker_consumer, app)


async def deliver(
    delivery: Coroutine[Any, Any, Any],
    suspended: Coroutine[Any, Any, Any],
    wait_first: Callable[..., Awaitable[Any]],
) -> Any:
    """Deliver a message to its queue; when that is full, as long as nothing is suspended.

    wait_first  Faust's: it makes four tasks, which costs more than the delivery, so it is called
                only when the delivery has to wait
    """
    try:
        pending = delivery.send(None)
    except StopIteration as done:
        suspended.close()
        return WaitResults([delivery], [done.value], False)
    except BaseException:
        suspended.close()
        raise
    return await wait_first(_finish(delivery, pending), suspended)


async def _finish(begun: Coroutine[Any, Any, Any], pending: Any) -> Any:
    """Run a coroutine to its end that waits for ``pending``."""
    return await _rest(begun, pending)


@types.coroutine
def _rest(begun: Coroutine[Any, Any, Any], pending: Any) -> Generator[Any, Any, Any]:
    try:
        while True:
            try:
                sent = yield pending
            except BaseException as why:  # also a cancellation: it is the coroutine's to handle
                pending = begun.throw(why)
            else:
                pending = begun.send(sent)
    except StopIteration as done:
        return done.value


def commit_stalled(app: faust.App) -> set[Any]:
    """Partitions with acknowledged messages that stay uncommitted."""
    return set(getattr(app.consumer, "commit_stalled", ())) if app.started else set()
