"""Publishing to Kafka: idempotent, compressed, bounded, every failure counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from probers.publishing.partitioner import partition_of
from probers.publishing.publisher import PublishError, PublishUsageError
from probers.publishing.signer import Signer

_REFUSED = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})  # noqa: SLF001 — their names


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
        signer: Signer | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Raises PublishUsageError when librdkafka does not know an option.

        give_up_s  how long an undelivered message is kept
        options    further librdkafka settings, e.g. of security
        """
        self.counts: Counter[str] = Counter()
        self._brokers = brokers
        self._signer = signer or Signer()
        self._partitions: dict[str, int] = {}
        self._trouble = ""
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
            # As Java and aiokafka clients hash: one key, one partition, whichever client produces.
            "partitioner": "murmur2_random",
            "linger.ms": 50,
            "queue.buffering.max.messages": max_messages,
            "queue.buffering.max.kbytes": max_kbytes,
            "message.timeout.ms": int(give_up_s * 1000),
            "log_level": 2,
            "logger": None,
            "error_cb": self._failed,
            **options,
        }

    def connect(self, timeout_s: float) -> None:
        """Ask a broker for its metadata."""
        try:
            found = self._producer.list_topics(timeout=timeout_s)
        except KafkaException as why:
            self._producer.poll(0)  # hands over why
            raise PublishError(
                f"kafka:{self._brokers}: {self._trouble}"
                if self._trouble
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
    ) -> bool:
        """Queue one message for librdkafka's threads."""
        chosen: int | None = None
        if self._signer.signs and (count := self._partitions.get(topic, 0)):
            # Signed as well: a copy of it in another partition would not count as a duplicate.
            chosen = partition_of(key.encode(), count)
        signed = self._signer.headers(topic, content_type, payload, headers, chosen)
        try:
            self._producer.produce(
                topic, value=payload, key=key, headers=signed, on_delivery=self._delivered,
                **({} if chosen is None else {"partition": chosen}),
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

    def _failed(self, error: KafkaError) -> None:
        """Refused for good, or only not there yet: the former is what a person wants to know."""
        if error.code() in _REFUSED:
            self._trouble = error.str()

    def _delivered(self, error: object, _message: object) -> None:
        self.counts["failed" if error is not None else "delivered"] += 1
