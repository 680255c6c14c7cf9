"""The partition of a key is the one that Kafka's own producers choose."""

from __future__ import annotations

from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from probers.publishing.partitioner import partition_of
from schemas import topics

PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name


def test_the_partition_of_a_key_is_the_one_that_kafkas_own_producers_choose(
    cluster: Producer, brokers: str
) -> None:
    found: dict[bytes, int] = {}
    producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random"})
    keys = [b"host-%d" % n for n in range(40)] + [b"a", b"ab", b"abc", "höst".encode()]
    for key in keys:
        producer.produce(
            PINGS, value=b"", key=key,
            on_delivery=lambda _, m: found.update({m.key(): m.partition()}),
        )  # fmt: skip
    assert producer.flush(120) == 0
    count = len(cluster.list_topics(PINGS, timeout=60).topics[PINGS].partitions)
    assert found == {key: partition_of(key, count) for key in keys}


@given(st.binary(max_size=40), st.integers(1, 100))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of(key, partitions) < partitions
