"""Where partitions end, as brokers answer."""

from __future__ import annotations

import socket
import time

import pytest
from confluent_kafka import Producer

from schemas import topics
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.merge.end_offsets import EndOffsets

pytestmark = pytest.mark.anyio
TOPIC = topics.WINDOWS.name


@pytest.fixture
def broker() -> EmbeddedBroker:
    return EmbeddedBroker()


async def test_every_partition_ends_after_its_last_message(broker: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for partition in (0, 0, 3):
        producer.produce(TOPIC, b"x", partition=partition)
    producer.flush()
    ends = EndOffsets({"bootstrap.servers": broker.bootstrap})
    assert await ends.query(TOPIC, range(4)) == {0: 2, 1: 0, 2: 0, 3: 1}
    assert await ends.query(TOPIC, []) == {}
    ends.close()
    assert await ends.query(TOPIC, [3]) == {3: 1}, "it connects again"
    ends.close()


async def test_a_partition_without_an_answer_is_left_out_and_the_others_are_not(
    broker: EmbeddedBroker,
) -> None:
    ends = EndOffsets({"bootstrap.servers": broker.bootstrap})
    assert await ends.query(TOPIC, [0, 99]) == {0: 0}
    ends.close()


async def test_leaders_that_are_down_cost_one_time_out_and_not_one_each() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ends = EndOffsets({"bootstrap.servers": f"127.0.0.1:{port}"})
    began = time.monotonic()
    assert await ends.query(TOPIC, range(50)) == {}
    assert time.monotonic() - began < 50, "2 s, on a machine that is not busy"
    ends.close()
