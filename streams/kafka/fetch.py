"""How much a consumer fetches from a broker at once."""

from __future__ import annotations

from typing import Any, Final

from schemas.limits import LIMITS

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
