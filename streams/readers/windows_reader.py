"""Reads messages of skh.windows again, beside the consumer that reads on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, TopicPartition

from schemas import topics
from streams.errors import BrokerUnreachable
from streams.kafka.messages import InMessage

_BATCH: Final = 64
_WAIT_S: Final = 0.5
_TIMEOUT_S: Final = 10.0


class Reader(Protocol):
    """Reads a partition from an offset on; blocks, so it belongs in a thread."""

    @property
    def position(self) -> int:
        """Offset of the next message to come, or where the partition ended."""
        ...

    def read(self) -> list[InMessage]:
        """The next messages; empty when there are none yet. Raises BrokerUnreachable."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


#: Partition of skh.windows, offset -> a reader that begins there.
OpenReader = Callable[[int, int], Reader]


class WindowsReader:
    """Reads what the broker still has; it skips messages that the broker has deleted."""

    def __init__(self, kafka: Mapping[str, Any], partition: int, offset: int) -> None:
        self._name = str(kafka.get("bootstrap.servers"))
        self._consumer = Consumer({
            **kafka, "group.id": "skh-reread", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 4,
        })  # fmt: skip
        self._consumer.assign([TopicPartition(topics.WINDOWS.name, partition, offset)])
        self.position = offset
        self._quiet_s = 0.0

    def read(self) -> list[InMessage]:
        out: list[InMessage] = []
        found = self._consumer.consume(_BATCH, _WAIT_S)
        self._quiet_s = 0.0 if found else self._quiet_s + _WAIT_S
        if self._quiet_s >= _TIMEOUT_S:
            raise BrokerUnreachable(self._name, f"{topics.WINDOWS.name} cannot be read again")
        for message in found:
            if (error := message.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 — its public name
                    self.position = max(self.position, message.offset() or 0)
                continue  # librdkafka tries again by itself
            kind, time_ms = message.timestamp()
            pairs: Any = message.headers() or ()
            headers = {name: bytes(value or b"") for name, value in pairs}
            offset = message.offset() or 0
            out.append(
                InMessage(
                    offset,
                    0 if kind == TIMESTAMP_NOT_AVAILABLE else time_ms,
                    message.value() or b"",
                    headers,
                )
            )
            self.position = offset + 1
        return out

    def close(self) -> None:
        self._consumer.close()
