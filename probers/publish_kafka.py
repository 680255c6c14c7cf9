"""Publishing to Kafka: idempotent, compressed, bounded, every failure counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

from confluent_kafka import KafkaException, Producer

from probers.publish import PublishError
from schemas.topics import CONTENT_TYPE


class KafkaPublisher:
    """librdkafka's producer. A message is delivered, or counted as failed or overflow."""

    def __init__(
        self,
        brokers: str,
        *,
        compression: str = "zstd",
        max_messages: int = 10_000,
        max_kbytes: int = 32_768,
        give_up_s: float = 60.0,
    ) -> None:
        """``give_up_s``: how long an undelivered message is kept."""
        self.counts: Counter[str] = Counter()
        self._brokers = brokers
        self._producer: Any = Producer(
            {
                "bootstrap.servers": brokers,
                "client.id": "skeletonhunter-agent",
                "enable.idempotence": True,
                "compression.type": compression,
                # As Java and aiokafka clients hash: one key, one partition, whoever produces.
                "partitioner": "murmur2_random",
                "linger.ms": 50,
                "queue.buffering.max.messages": max_messages,
                "queue.buffering.max.kbytes": max_kbytes,
                "message.timeout.ms": int(give_up_s * 1000),
                "log_level": 2,
            },
            logger=None,
        )

    def connect(self, timeout_s: float) -> None:
        """Ask a broker for its metadata."""
        try:
            self._producer.list_topics(timeout=timeout_s)
        except KafkaException as why:
            raise PublishError(
                f"kafka:{self._brokers}: no broker answered within {timeout_s:g} s; "
                "check the address and that Kafka runs"
            ) from why

    def publish(self, topic: str, key: str, payload: bytes, content_type: str) -> bool:
        """Queue one message for librdkafka's threads."""
        try:
            self._producer.produce(
                topic, value=payload, key=key, headers={CONTENT_TYPE: content_type.encode()},
                on_delivery=self._delivered,
            )  # fmt: skip
        except BufferError:
            self.counts["overflow"] += 1
            return False
        self.counts["queued"] += 1
        return True

    def poll(self) -> None:
        """Serve delivery reports."""
        self._producer.poll(0)

    def close(self, timeout_s: float) -> int:
        """Flush; what is left then is lost, and is the number returned."""
        left = int(self._producer.flush(timeout_s))
        self.counts["failed"] += left
        return left

    def _delivered(self, error: object, _message: object) -> None:
        self.counts["failed" if error is not None else "delivered"] += 1
