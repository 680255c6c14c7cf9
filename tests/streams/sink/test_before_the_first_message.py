"""What the broker has deleted before the sink reads its first message of a partition."""

from __future__ import annotations

import os
from threading import Event, Thread
from typing import Any

import pytest
from builders.agents.waiting import HANG_S, wait_until
from confluent_kafka import Consumer, Producer, TopicPartition

from schemas.metrics import Metric
from schemas.metrics.sink import SINK_MESSAGES, SINK_MISSING
from streams.sink.batch import TOPICS
from streams.sink.sink import Sink

PINGS = "skh.pings"


class NoStore:
    """Takes all rows."""

    def insert(self, table: str, rows: Any) -> None:
        pass


def overtaken() -> tuple[Producer, str, int, int]:
    """A cluster that has deleted the first messages of a partition, because it keeps 5 MB of it;
    its address, the offset of the first message that is there, and the end."""
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 2})
    broker = next(iter(producer.list_topics(timeout=60).brokers.values()))
    for topic in TOPICS:
        producer.list_topics(topic.name, timeout=60)  # the query creates it
    for _ in range(10):
        producer.produce(PINGS, os.urandom(900_000), partition=0)
        assert producer.flush(60) == 0
    servers = f"{broker.host}:{broker.port}"
    asking = Consumer({"bootstrap.servers": servers, "group.id": "test", "log_level": 2})
    first, end = asking.get_watermark_offsets(TopicPartition(PINGS, 0), timeout=60)
    asking.close()
    return producer, servers, first, end


@pytest.mark.parametrize("from_first", [True, False])
def test_it_is_missed_where_the_broker_is_no_older_than_the_sink(from_first: bool) -> None:
    producer, servers, first, end = overtaken()
    assert 0 < first < end
    store: Any = NoStore()
    sink = Sink(store, {"bootstrap.servers": servers, "log_level": 2}, from_first=from_first)

    def counted(metric: Metric) -> int:
        found = (
            each for each in sink.samples() if (each.metric, each.labels) == (metric, (PINGS,))
        )
        return sum(int(each.value) for each in found)

    stop = Event()
    thread = Thread(target=sink.run, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: counted(SINK_MESSAGES) >= end - first)
    finally:
        stop.set()
        thread.join(HANG_S)
    assert counted(SINK_MESSAGES) == end - first
    assert counted(SINK_MISSING) == (first if from_first else 0)
    producer.flush(5)
