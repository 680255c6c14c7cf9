"""Messages of ``batch.TOPICS`` -> ClickHouse.

Inserts in batches and commits offsets afterwards: after a crash the same messages are stored again,
and the tables' keys make one row of both. While ClickHouse or the broker is down nothing is
dropped: partitions are paused, polling goes on so that the sink stays in its group, and the batch
is tried again after growing pauses.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import (
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)

from schemas.metrics import Sample
from store.client import StoreUnavailable
from streams.kafka.fetch import FETCH
from streams.readers.operator_feed import OperatorFeed
from streams.sink.batch import TOPICS, Batch, Batcher
from streams.sink.counts import SinkCounts
from streams.sink.kafka_io import DeadLettersUnsent, publish_dead_letters, to_message
from streams.sink.parameters import DEFAULT, Limits

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
#: The consumer group of all sinks.
GROUP: Final = "skh-sink"
_BATCH: Final = 500


class Sink:
    """Reads and stores until it is stopped; ``run`` blocks, so it needs a thread or a process.

    store     open on migrated tables; this sink's own
    kafka     librdkafka settings of the broker: bootstrap.servers and security
    limits    when a batch is due
    retry_s   first and longest pause between attempts to store a batch
    admission  decides on messages of agents (skh.pings, skh.heartbeats, skh.throughput,
               skh.evidence), as in their other readers; None: every sender is accepted
    ownership  which the admission uses; it learns here where containers run
    from_first  the broker is no older than this sink: what it has deleted before the first commit
                was missed. Else a partition without a commit begins with what is there
    """

    def __init__(
        self,
        store: Store,
        kafka: Mapping[str, Any],
        *,
        limits: Limits | None = None,
        group: str = GROUP,
        retry_s: tuple[float, float] = (DEFAULT.least_pause_s, DEFAULT.longest_pause_s),
        clock: Callable[[], float] = time.monotonic,
        admission: Admission | None = None,
        ownership: Ownership | None = None,
        from_first: bool = False,
    ) -> None:
        self._store = store
        self._kafka = dict(kafka)
        self._group = group
        self._retry_s = retry_s
        self._clock = clock
        self._batcher = Batcher(limits, admission=admission)
        self._operator_feed = (
            None if ownership is None
            else OperatorFeed(kafka, ownership.add, on_evict=ownership.drop_old)
        )  # fmt: skip
        self._lost = False  # partitions were revoked since the batch was begun
        self._waiting: str | None = None  # why the batch cannot be stored
        self._counts = SinkCounts()
        self._from_first = from_first
        self._assigned = False

    def not_ready(self) -> str | None:
        """Why the sink is not storing just now; None when it is."""
        if not self._assigned:
            return "the sink has no partitions yet"
        return self._waiting

    def samples(self) -> Iterator[Sample]:
        """The sink's metrics."""
        return self._counts.samples(self._batcher.read, waiting=self._waiting is not None)

    def run(self, stop: Event) -> None:
        """Read and store until ``stop`` is set; what was read by then is stored if possible.

        Raises StoreRefused when ClickHouse does not accept rows (not migrated, no permission), and
        KafkaException when the client cannot go on; no message is lost by either.
        """
        consumer = Consumer({**self._kafka, **_CONSUMER, "group.id": self._group})
        producer = Producer({**self._kafka, "compression.type": "zstd"})
        if self._operator_feed is not None:
            self._operator_feed.read()
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
            if stored:  # else later offsets would be committed although earlier rows are missing
                self._flush(consumer, producer, stop)
        finally:
            self._assigned = False
            consumer.close()
            if self._operator_feed is not None:
                self._operator_feed.close()

    def _collect(self, consumer: Consumer) -> None:
        if self._operator_feed is not None:
            self._operator_feed.new_documents()
            self._operator_feed.evict(int(time.time()))
        # poll(), not consume(): a rebalance cannot happen between two messages of one call, so no
        # message of a revoked partition follows _on_revoke.
        message = consumer.poll(_POLL_S)
        for _ in range(_BATCH):
            if message is None:
                return
            if error := message.error():
                if error.fatal():
                    raise KafkaException(error)
                _log.warning("skh-sink: %s", error.str())
            else:
                self._batcher.add(to_message(message), self._clock())
            message = consumer.poll(0)
        if message is not None and not message.error():
            self._batcher.add(to_message(message), self._clock())

    def _flush(self, consumer: Consumer, producer: Producer, stop: Event) -> bool:
        """Store and commit; False when the batch was given up and will be read again."""
        batch = self._batcher.collect()
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
        """True when all of it is stored; False when the sink stops or loses its partitions."""
        pause_s, longest_s = self._retry_s
        paused: list[TopicPartition] = []
        while True:
            try:
                self._insert(batch)
                publish_dead_letters(producer, batch.letters)
                batch.letters.clear()
                break
            except (StoreUnavailable, DeadLettersUnsent) as why:
                self._counts.failures += 1
                self._waiting = why.public  # clients read it: no host, path or user
                _log.warning("skh-sink: not stored, next attempt in %.1f s: %s", pause_s, why)
            if not paused:
                paused = consumer.assignment()
                consumer.pause(paused)
            until = self._clock() + pause_s
            while self._clock() < until:
                if stop.is_set() or self._lost:
                    return False
                self._collect(consumer)
            pause_s = min(2 * pause_s, longest_s)
        self._waiting = None
        if paused and not self._lost:
            consumer.resume(paused)
        return not self._lost

    def _insert(self, batch: Batch) -> None:
        for name in list(batch.tables):
            started = self._clock()
            self._store.insert(name, batch.tables[name])
            self._counts.insert_s += self._clock() - started
            self._counts.inserts[name] += 1
            self._counts.rows[name] += batch.tables.pop(name).num_rows

    def _commit(self, batch: Batch, consumer: Consumer) -> None:
        reached = [TopicPartition(t, p, offset) for (t, p), offset in batch.offsets.items()]
        try:
            consumer.commit(offsets=reached, asynchronous=False)
        except KafkaException as why:
            # Stored but not committed: the next owner stores the same rows again.
            self._counts.commit_failures += 1
            _log.warning("skh-sink: offsets not committed: %s", why)
            return
        for each in reached:
            _, high = consumer.get_watermark_offsets(each, cached=True)
            self._counts.lag[each.topic, each.partition] = max(high - each.offset, 0)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._assigned = True
        try:
            committed = consumer.committed(partitions, timeout=5)
        except KafkaException as why:
            _log.warning("skh-sink: gaps at the start cannot be counted: %s", why)
            return
        for each in committed:
            if each.offset >= 0 or self._from_first:
                self._batcher.expect(each.topic, each.partition, max(each.offset, 0))

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        # Eager rebalancing revokes all partitions. What is not committed is read again by the next
        # owner, so it is dropped here: storing it twice would only delay the rebalance.
        self._batcher.discard()
        self._lost = True
        self._assigned = False
        self._counts.rebalances += 1
        self._counts.lag.clear()
