"""Publishing to Kafka: idempotent, compressed, bounded, every failure counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from probers.publishing.partitioner import partition_of
from probers.publishing.publisher import PublishError, PublishUsageError
from probers.publishing.signer import Signer

_REFUSED = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})  # noqa: SLF001  # librdkafka's names


class KafkaPublisher:
    """librdkafka's producer. Every message is counted as delivered, failed or overflow."""

    def __init__(
        self,
        brokers: str,
        *,
        compression: str = "zstd",
        max_messages: int = 10_000,
        max_kbytes: int = 32_768,
        give_up_s: float = 60.0,
        signer: Signer | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Raises PublishUsageError when librdkafka does not know an option.

        give_up_s  after this time an undelivered message counts as failed
        options    further librdkafka settings, e.g. of security
        """
        self.counts: Counter[str] = Counter()
        self._brokers = brokers
        self._signer = signer or Signer()
        self._partitions: dict[str, int] = {}
        self._refusal = ""
        secure = (options or {}).get("security.protocol", "plaintext").lower() != "plaintext"
        self._credentials = ", the certificate and password" if secure else ""
        try:
            self._producer: Any = Producer(self._settings(
                compression, max_messages, max_kbytes, give_up_s, options or {}
            ))  # fmt: skip
        except KafkaException as why:
            raise PublishUsageError(f"kafka:{brokers}: {why.args[0].str()}") from None

    def _settings(
        self,
        compression: str,
        max_messages: int,
        max_kbytes: int,
        give_up_s: float,
        options: Mapping[str, str],
    ) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._brokers,
            "client.id": "skeletonhunter-agent",
            "enable.idempotence": True,
            "compression.type": compression,
            # The hash of Java and aiokafka clients: a key has the same partition with every client.
            "partitioner": "murmur2_random",
            "linger.ms": 50,
            "queue.buffering.max.messages": max_messages,
            "queue.buffering.max.kbytes": max_kbytes,
            "message.timeout.ms": int(give_up_s * 1000),
            "log_level": 2,
            "logger": None,
            "error_cb": self._on_error,
            **options,
        }

    def connect(self, timeout_s: float) -> None:
        """Request a broker's metadata."""
        try:
            found = self._producer.list_topics(timeout=timeout_s)
        except KafkaException as why:
            self._producer.poll(0)  # calls _on_error
            raise PublishError(
                f"kafka:{self._brokers}: {self._refusal}"
                if self._refusal
                else f"kafka:{self._brokers}: no broker answered within {timeout_s:g} s; "
                f"check the address{self._credentials} and that Kafka runs"
            ) from why
        self._partitions = {name: len(each.partitions) for name, each in found.topics.items()}

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
        on_delivered: Callable[[bool], None] | None = None,
    ) -> bool:
        """Queue one message for librdkafka's threads.

        on_delivered  called by ``poll`` or ``close`` with whether the broker has the message
        """

        def confirm(error: object, message: object) -> None:
            self._on_delivery(error, message)
            if on_delivered is not None:
                on_delivered(error is None)

        partition: int | None = None
        if self._signer.signs and (count := self._partitions.get(topic, 0)):
            # Signed too, so that a copy in another partition is recognized as a duplicate.
            partition = partition_of(key.encode(), count)
        signed = self._signer.headers(topic, content_type, payload, headers, partition)
        try:
            self._producer.produce(
                topic, value=payload, key=key, headers=signed, on_delivery=confirm,
                **({} if partition is None else {"partition": partition}),
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
        """Flush; returns the number of messages that were not delivered."""
        left = int(self._producer.flush(timeout_s))
        self.counts["failed"] += left
        return left

    def _on_error(self, error: KafkaError) -> None:
        """Remember why a broker refuses the client; other errors may pass by themselves."""
        if error.code() in _REFUSED:
            self._refusal = error.str()

    def _on_delivery(self, error: object, _message: object) -> None:
        self.counts["failed" if error is not None else "delivered"] += 1
