"""Fixtures of the publishers' tests: librdkafka's in-process cluster."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from schemas import topics


@pytest.fixture(scope="module")
def cluster() -> Producer:
    """The producer that holds the cluster: Kafka's real protocol on loopback."""
    return Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "ignored"})


@pytest.fixture(scope="module")
def brokers(cluster: Producer) -> str:
    """The cluster's address; it has the agents' topics."""
    broker = next(iter(cluster.list_topics(timeout=60).brokers.values()))
    for topic in (topics.PINGS.name, topics.HEARTBEATS.name):
        cluster.list_topics(topic, timeout=60)  # asking for a topic creates it
    return f"{broker.host}:{broker.port}"
