"""Queries of where partitions end."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from schemas import topics
from streams.kafka import admin
from streams.merge.end_offsets import EndOffsets
from testbed.services import kafka_server

pytestmark = pytest.mark.anyio
NAME = topics.PINGS.name
PATIENCE_S = 60.0  # a busy machine may not answer within the two seconds of a worker


@pytest.fixture
def producer() -> Iterator[Producer]:
    made = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 2})
    made.list_topics(NAME, timeout=60)  # the query creates it
    yield made
    made.flush(5)


async def test_end_offsets_are_current(producer: Producer) -> None:
    broker = next(iter(producer.list_topics(timeout=60).brokers.values()))
    ends = EndOffsets({"bootstrap.servers": f"{broker.host}:{broker.port}"}, PATIENCE_S)
    assert await ends.query(NAME, {0, 1}) == {0: 0, 1: 0}
    producer.produce(NAME, b"x", partition=1)
    assert producer.flush(10) == 0
    assert await ends.query(NAME, {0, 1}) == {0: 0, 1: 1}
    ends.close()


async def test_a_partition_without_a_leader_is_absent(producer: Producer) -> None:
    broker = next(iter(producer.list_topics(timeout=60).brokers.values()))
    ends = EndOffsets({"bootstrap.servers": f"{broker.host}:{broker.port}"}, PATIENCE_S)
    assert await ends.query(NAME, {0, 99}) == {0: 0}
    ends.close()


async def test_it_connects_again_after_its_end(producer: Producer) -> None:
    broker = next(iter(producer.list_topics(timeout=60).brokers.values()))
    ends = EndOffsets({"bootstrap.servers": f"{broker.host}:{broker.port}"}, PATIENCE_S)
    assert await ends.query(NAME, []) == {}
    assert await ends.query(NAME, [1]) == {1: 0}
    ends.close()
    assert await ends.query(NAME, [1]) == {1: 0}
    ends.close()


async def test_leaders_that_are_down_cost_one_time_out_and_not_one_each() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ends = EndOffsets({"bootstrap.servers": f"127.0.0.1:{port}"})
    began = time.monotonic()
    assert await ends.query(NAME, range(50)) == {}
    assert time.monotonic() - began < 50, "2 s, on a machine that is not busy"
    ends.close()


async def answered(ends: EndOffsets) -> None:
    """Until the broker, which may not lead yet, says that two partitions are empty."""
    deadline = time.monotonic() + PATIENCE_S
    while await ends.query(NAME, {0, 1}) != {0: 0, 1: 0}:
        assert time.monotonic() < deadline


@pytest.mark.kafka
async def test_a_broker_that_has_been_started_again_is_asked_with_success(tmp_path: Path) -> None:
    """Its partitions begin a new term, of which a client from before does not learn."""
    if why := kafka_server.missing():
        pytest.skip(why)
    server = kafka_server.KafkaServer(tmp_path)
    kafka = {"bootstrap.servers": server.bootstrap}
    ends = EndOffsets(kafka, PATIENCE_S)
    try:
        admin.create(kafka)
        await answered(ends)
        server.stop()
        server.start()
        await answered(ends)
    finally:
        ends.close()
        server.stop()
