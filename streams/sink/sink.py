"""skh.pings, skh.windows, skh.anomalies, skh.incidents, skh.dead-letter -> ClickHouse.

Inserts in batches and commits offsets only afterwards: after a crash the same messages are stored
again, and the tables' keys make that one row. While ClickHouse or the broker is down nothing is
dropped: partitions are paused, polling goes on so that the group keeps us, and the attempt is
repeated with growing pauses.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from schemas import metrics, topics
from store.client import StoreUnavailable
from streams import dead_letters
from streams.kafka.fetch import FETCH
from streams.localize.operator_feed import OperatorFeed
from streams.sink.batch import TOPICS, Batch, Batcher, Limits, Message
from streams.sink.rows import Place

if TYPE_CHECKING:
    from store.client import Store
    from streams.admission.admission import Admission
    from streams.admission.ownership import Ownership

_log = logging.getLogger(__name__)
_CONSUMER: Final = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "queued.max.messages.kbytes": 32 * 1024,
    "topic.metadata.refresh.interval.ms": 10_000,
    **FETCH,
}
_POLL_S: Final = 0.1
_AT_ONCE: Final = 500


class DeadLettersUnsent(Exception):
    """The broker did not take our dead letters: wait and try again."""

    public = "the broker does not take dead letters"


class Sink:
    """Reads until told to stop; ``run`` blocks, so give it a thread or a process.

    store     open on migrated tables; this sink's own
    kafka     librdkafka settings of the broker: bootstrap.servers and security
    limits    when a batch is due
    retry_s   first and longest pause between attempts to store a batch
    admission  decides on skh.pings, as the stream workers' does; None: every sender is believed
    ownership  what the admission goes by; it learns here where containers run
    """

    def __init__(
        self,
        store: Store,
        kafka: Mapping[str, Any],
        *,
        limits: Limits | None = None,
        group: str = "skh-sink",
        retry_s: tuple[float, float] = (0.2, 10.0),
        clock: Callable[[], float] = time.monotonic,
        admission: Admission | None = None,
        ownership: Ownership | None = None,
    ) -> None:
        self._store = store
        self._kafka = dict(kafka)
        self._group = group
        self._retry_s = retry_s
        self._clock = clock
        self._batcher = Batcher(limits, admission=admission)
        self._notices = None if ownership is None else OperatorFeed(kafka, ownership.hear)
        self._lost = False
        self._trouble: str | None = None
        self._assigned = False
        self._lag: dict[tuple[str, int], int] = {}
        self._rows: Counter[str] = Counter()
        self._inserts: Counter[str] = Counter()
        self._insert_s = 0.0
        self._failures = 0
        self._commit_failures = 0
        self._rebalances = 0

    def not_ready(self) -> str | None:
        """Why the sink does not store just now, or None when it does."""
        if not self._assigned:
            return "the sink has no partitions yet"
        return self._trouble

    def samples(self) -> Iterator[metrics.Sample]:
        """Counters for the api's /metrics."""
        read = self._batcher.read
        for metric, values in (
            (metrics.SINK_MESSAGES, read.messages),
            (metrics.SINK_DEAD_LETTERS, read.dead_letters),
            (metrics.SINK_MISSING, read.missing),
            (metrics.SINK_ROWS, self._rows),
            (metrics.SINK_INSERTS, self._inserts),
        ):
            for label, value in sorted(dict(values).items()):
                yield metrics.Sample(metric, value, (label,))
        lag: Counter[str] = Counter()
        for (topic, _), behind in list(self._lag.items()):
            lag[topic] += behind
        for topic, behind in sorted(lag.items()):
            yield metrics.Sample(metrics.SINK_LAG, behind, (topic,))
        yield metrics.Sample(metrics.SINK_INSERT_SECONDS, self._insert_s)
        yield metrics.Sample(metrics.SINK_INSERT_FAILURES, self._failures)
        yield metrics.Sample(metrics.SINK_COMMIT_FAILURES, self._commit_failures)
        yield metrics.Sample(metrics.SINK_REBALANCES, self._rebalances)
        yield metrics.Sample(metrics.SINK_WAITING, self._trouble is not None)

    def run(self, stop: Event) -> None:
        """Read and store until ``stop`` is set; what was read by then is stored if that works.

        Raises StoreRefused when ClickHouse will not take rows (not migrated, no permission) and
        KafkaException when the client cannot go on; both end the process, and nothing is lost.
        """
        consumer = Consumer({**self._kafka, **_CONSUMER, "group.id": self._group})
        producer = Producer({**self._kafka, "compression.type": "zstd"})
        if self._notices is not None:
            self._notices.read()
        consumer.subscribe(
            [topic.name for topic in TOPICS],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_revoke,
        )
        try:
            stored = True
            while not stop.is_set():
                self._collect(consumer)
                if self._batcher.due(self._clock()):
                    stored = self._flush(consumer, producer, stop)
            if stored:  # else later offsets would be committed over rows that are not stored
                self._flush(consumer, producer, stop)
        finally:
            self._assigned = False
            consumer.close()
            if self._notices is not None:
                self._notices.close()

    def _collect(self, consumer: Consumer) -> None:
        if self._notices is not None:
            self._notices.news()
        # poll() and not consume(): a rebalance cannot slip in between two messages of one call, so
        # no message of a partition that was just taken away follows _on_revoke.
        message = consumer.poll(_POLL_S)
        for _ in range(_AT_ONCE):
            if message is None:
                return
            if error := message.error():
                if error.fatal():
                    raise KafkaException(error)
                _log.warning("skh-sink: %s", error.str())
            else:
                self._batcher.add(_plain(message), self._clock())
            message = consumer.poll(0)
        if message is not None and not message.error():
            self._batcher.add(_plain(message), self._clock())

    def _flush(self, consumer: Consumer, producer: Producer, stop: Event) -> bool:
        """False when the batch was given up, to be read again from the last commit."""
        batch = self._batcher.take()
        if not batch.offsets:
            return True
        self._lost = False
        if not self._store_batch(batch, consumer, producer, stop):
            return False
        self._commit(batch, consumer)
        return True

    def _store_batch(
        self, batch: Batch, consumer: Consumer, producer: Producer, stop: Event
    ) -> bool:
        """True when all of it is stored; False when told to stop or the partitions are gone."""
        pause_s, longest_s = self._retry_s
        paused: list[TopicPartition] = []
        while True:
            try:
                self._insert(batch)
                self._publish(batch, producer)
                break
            except (StoreUnavailable, DeadLettersUnsent) as why:
                self._failures += 1
                self._trouble = why.public  # clients see it: no host, path or user
                _log.warning("skh-sink: not stored, again in %.1f s: %s", pause_s, why)
            if not paused:
                paused = consumer.assignment()
                consumer.pause(paused)
            until = self._clock() + pause_s
            while self._clock() < until:
                if stop.is_set() or self._lost:
                    return False
                self._collect(consumer)
            pause_s = min(2 * pause_s, longest_s)
        self._trouble = None
        if paused and not self._lost:
            consumer.resume(paused)
        return not self._lost

    def _insert(self, batch: Batch) -> None:
        for name in list(batch.tables):
            started = self._clock()
            self._store.insert(name, batch.tables[name])
            self._insert_s += self._clock() - started
            self._inserts[name] += 1
            self._rows[name] += batch.tables.pop(name).num_rows

    def _publish(self, batch: Batch, producer: Producer) -> None:
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failed.append(error)

        for letter in batch.letters:
            out = dead_letters.message(*letter.place, letter.raw, letter.reason)
            headers: list[tuple[str, str | bytes | None]] = [*out.headers]
            producer.produce(
                out.topic, out.value, key=out.key, headers=headers, on_delivery=delivered
            )
            producer.poll(0)
        if batch.letters and (producer.flush(5) or failed):
            producer.purge()
            why = failed[0].str() if failed else "the broker did not answer for 5 s"
            raise DeadLettersUnsent(f"{topics.DEAD_LETTER.name}: {why}")
        batch.letters.clear()

    def _commit(self, batch: Batch, consumer: Consumer) -> None:
        reached = [TopicPartition(t, p, offset) for (t, p), offset in batch.offsets.items()]
        try:
            consumer.commit(offsets=reached, asynchronous=False)
        except KafkaException as why:
            # Stored but not committed: whoever reads it again stores the same rows again.
            self._commit_failures += 1
            _log.warning("skh-sink: offsets not committed: %s", why)
            return
        for at in reached:
            _, high = consumer.get_watermark_offsets(at, cached=True)
            self._lag[at.topic, at.partition] = max(high - at.offset, 0)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._assigned = True
        try:
            committed = consumer.committed(partitions, timeout=5)
        except KafkaException as why:
            _log.warning("skh-sink: gaps at the start cannot be counted: %s", why)
            return
        for at in committed:
            if at.offset >= 0:
                self._batcher.expect(at.topic, at.partition, at.offset)

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        # Eager rebalancing takes all partitions. What is not committed is read again by the next
        # owner, so it is dropped here rather than stored twice while a rebalance waits for us.
        self._batcher.forget()
        self._lost = True
        self._assigned = False
        self._rebalances += 1
        self._lag.clear()


def _plain(message: Any) -> Message:
    place = Place(message.topic(), message.partition(), message.offset())
    try:
        headers = {name: value or b"" for name, value in message.headers() or ()}
    except Exception:  # the client decodes names as UTF-8, which no broker ever checked
        headers = {}
    kind, time_ms = message.timestamp()
    if kind != TIMESTAMP_LOG_APPEND_TIME:  # a sender's own word: as the stream workers do
        time_ms = min(time_ms, time.time_ns() // 1_000_000)
    return Message(place, message.value() or b"", headers, message.key() or b"", time_ms)
