"""Asking a broker where its partitions end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from schemas import topics
from streams.merge.end_offsets import EndOffsets

pytestmark = pytest.mark.anyio
NAME = topics.PINGS.name


@pytest.fixture
def producer() -> Iterator[Producer]:
    made = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 2})
    made.list_topics(NAME, timeout=60)  # the question creates it
    yield made
    made.flush(5)


async def test_ends_are_those_of_now(producer: Producer) -> None:
    broker = next(iter(producer.list_topics(timeout=60).brokers.values()))
    ends = EndOffsets({"bootstrap.servers": f"{broker.host}:{broker.port}"})
    assert await ends.ask(NAME, {0, 1}) == {0: 0, 1: 0}
    producer.produce(NAME, b"x", partition=1)
    assert producer.flush(10) == 0
    assert await ends.ask(NAME, {0, 1}) == {0: 0, 1: 1}
    ends.close()


async def test_a_partition_that_nobody_leads_is_left_out(producer: Producer) -> None:
    broker = next(iter(producer.list_topics(timeout=60).brokers.values()))
    ends = EndOffsets({"bootstrap.servers": f"{broker.host}:{broker.port}"})
    assert await ends.ask(NAME, {0, 99}) == {0: 0}
    ends.close()
