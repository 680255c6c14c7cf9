"""The sink's Kafka messages: read as plain values, dead letters published."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, Producer

from schemas import topics
from schemas.message_headers import described
from streams import dead_letters
from streams.sink.batch import Message
from streams.sink.dead_letters import DeadLetter
from streams.sink.rows import Place

_FLUSH_S = 5


class DeadLettersUnsent(Exception):
    """The broker did not store the dead letters: wait and try again."""

    public = "the broker does not take dead letters"


def to_message(message: Any) -> Message:
    """A message of confluent_kafka as a plain value."""
    place = Place(message.topic(), message.partition(), message.offset())
    try:
        headers = {name: value or b"" for name, value in message.headers() or ()}
    except Exception:  # the client decodes names as UTF-8, which no broker checks
        headers = {}
    kind, time_ms = message.timestamp()
    if kind != TIMESTAMP_LOG_APPEND_TIME:  # a sender's clock: at most now, as in a stream worker
        time_ms = min(time_ms, time.time_ns() // 1_000_000)
    return Message(place, message.value() or b"", headers, message.key() or b"", time_ms)


def publish_dead_letters(producer: Producer, letters: Sequence[DeadLetter]) -> None:
    """Publish and wait; raises DeadLettersUnsent when not all of them are stored."""
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    for letter in letters:
        out = dead_letters.message(*letter.place, letter.raw, letter.reason)
        headers: list[tuple[str, str | bytes | None]] = [*described(out.topic, out.headers)]
        producer.produce(out.topic, out.value, key=out.key, headers=headers, on_delivery=delivered)
        producer.poll(0)
    if letters and (producer.flush(_FLUSH_S) or failed):
        producer.purge()
        why = failed[0].str() if failed else f"the broker did not answer for {_FLUSH_S} s"
        raise DeadLettersUnsent(f"{topics.DEAD_LETTER.name}: {why}")
