"""Kafka's protocol inside this process: librdkafka's in-process cluster, loopback only.

It retains about the newest 5 MB of compressed bytes of each partition; a slow reader misses the
rest, which shows as a gap in the offsets that every stage counts.
"""

from __future__ import annotations

from typing import Final

from confluent_kafka import Producer

from schemas import topics

_TIMEOUT_S: Final = 10.0


class EmbeddedBroker:
    """A broker with all topics; lives as long as this object and must outlive its clients."""

    def __init__(self) -> None:
        # The cluster belongs to a client: this producer, which also serves the relay.
        self._owner = Producer(
            {
                "test.mock.num.brokers": 1,
                "bootstrap.servers": "embedded",
                "log_level": 2,
                "linger.ms": 5,
                "compression.type": "zstd",  # four times as long until a message is forgotten
            }
        )
        broker = next(iter(self._owner.list_topics(timeout=_TIMEOUT_S).brokers.values()))
        self.bootstrap = f"{broker.host}:{broker.port}"
        for topic in topics.ALL:
            self._owner.list_topics(topic.name, timeout=_TIMEOUT_S)  # asking makes a topic

    def produce(self, topic: str, key: str, headers: dict[str, bytes], value: bytes) -> None:
        """Hand a message over without waiting; fits ``probers.publishing.relay.Relay`` as sink."""
        self._owner.produce(topic, value=value, key=key, headers=list(headers.items()))
        self._owner.poll(0)

    def flush(self, timeout_s: float = _TIMEOUT_S) -> int:
        """Wait until everything handed over is in its partition; returns what is not."""
        left: int = self._owner.flush(timeout_s)
        return left
