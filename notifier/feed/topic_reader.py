"""Reads topics from their beginning on, without the help of a group; blocks."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

_TIMEOUT_S: Final = 10.0
_WAIT_S: Final = 0.2
_BATCH: Final = 500
#: Nothing comes for so long, and the end is not reached: the broker is away [s].
_STALLED_S: Final = 30.0


class Place(NamedTuple):
    """Where a message is."""

    topic: str
    partition: int
    offset: int


class Read(NamedTuple):
    """A message; time_ms: the broker's time stamp."""

    place: Place
    key: bytes
    value: bytes
    time_ms: int


class TopicReader:
    """Reads all partitions of some topics; raises ConnectionError when they cannot be read."""

    def __init__(self, kafka: Mapping[str, Any], topics: Sequence[str], group: str) -> None:
        self._name = str(kafka.get("bootstrap.servers"))
        self._consumer = Consumer({
            **kafka, "group.id": group, "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 3,
        })  # fmt: skip
        self._lock = threading.Lock()  # closing waits for a thread that still reads
        self.begins: dict[tuple[str, int], int] = {}
        self.ends: dict[tuple[str, int], int] = {}
        try:
            for topic in topics:
                self._look(topic)
        except KafkaException as why:
            self._consumer.close()
            raise ConnectionError(f"{self._name}: {why.args[0]}") from why
        except ConnectionError:
            self._consumer.close()
            raise
        self._consumer.assign([
            TopicPartition(topic, partition, low)
            for (topic, partition), low in self.begins.items()
        ])  # fmt: skip

    def to_end(self) -> Iterator[Read]:
        """Messages from the beginning until each partition has been at its end once."""
        unread = {at for at, low in self.begins.items() if self.ends[at] > low}
        quiet_s = 0.0
        while unread:
            found = self._consume()
            quiet_s = 0.0 if found else quiet_s + _WAIT_S
            if quiet_s > _STALLED_S:
                raise ConnectionError(f"{self._name}: {sorted(unread)[0][0]} cannot be read")
            for message in found:
                if message.error() is not None:
                    self._check(message)
                    unread.discard((message.topic(), message.partition()))
                else:
                    read = _read(message)
                    yield read
                    if read.place.offset + 1 >= self.ends[read.place[:2]]:
                        unread.discard(read.place[:2])

    def next(self) -> list[Read]:
        """The next messages; empty when there are none yet."""
        out = []
        for message in self._consume():
            if message.error() is not None:
                self._check(message)
            else:
                out.append(_read(message))
        return out

    def close(self) -> None:
        """Close the connection; a thread that reads on gets a RuntimeError."""
        with self._lock:
            self._consumer.close()

    def _consume(self) -> list[Any]:
        with self._lock:
            return self._consumer.consume(_BATCH, _WAIT_S)

    def _look(self, topic: str) -> None:
        known = self._consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
        if known.error is not None or not known.partitions:
            raise ConnectionError(
                f"{self._name}: there is no {topic}; `skeletonhunter topics --create` makes it"
            )
        for partition in known.partitions:
            at = TopicPartition(topic, partition)
            low, high = self._consumer.get_watermark_offsets(at, timeout=_TIMEOUT_S)
            self.begins[topic, partition] = max(low, 0)
            self.ends[topic, partition] = max(high, low, 0)

    def _check(self, message: Any) -> None:
        if message.error().code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 — a name
            raise ConnectionError(f"{self._name}: {message.topic()}: {message.error().str()}")


def _read(message: Any) -> Read:
    place = Place(message.topic(), message.partition(), message.offset())
    return Read(place, message.key() or b"", message.value() or b"", message.timestamp()[1])
