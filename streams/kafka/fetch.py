"""How much a consumer fetches from a broker at once, and what it gets."""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME

from schemas.limits import LIMITS
from streams.kafka.messages import InMessage

#: Limit of a partition's part of an answer [B]. A message larger than this still comes, alone: the
#: broker always sends the first one whole. Over ``Limits.message_bytes`` it becomes a dead letter.
PARTITION_BYTES: Final = 1024 * 1024
#: librdkafka's settings. It refuses answers over ``receive.message.max.bytes``, so that must be
#: above the largest message that may be on a topic, and 512 B more than ``fetch.max.bytes``.
FETCH: Final[dict[str, Any]] = {
    "max.partition.fetch.bytes": PARTITION_BYTES,
    "fetch.max.bytes": LIMITS.message_bytes,
    "receive.message.max.bytes": 128 * 1024 * 1024,
}


def received(message: Any) -> InMessage:
    """A message of librdkafka as a plain value."""
    try:
        headers = {name: value or b"" for name, value in message.headers() or ()}
    except Exception:  # the client decodes names as UTF-8, which no broker checks
        headers = {}
    kind, time_ms = message.timestamp()
    if kind != TIMESTAMP_LOG_APPEND_TIME:  # a sender's clock: at most now
        time_ms = min(time_ms, time.time_ns() // 1_000_000)
    return InMessage(
        message.offset(), time_ms, message.value() or b"", headers, message.key() or b""
    )
