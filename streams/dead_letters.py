"""any -> skh.dead-letter: what could not be read, with where it lay and why."""

from __future__ import annotations

from typing import Final

from schemas import topics
from schemas.codecs import Reject
from streams.messages import OutMessage

#: Below a broker's usual limit of 1 MB per message; the header ``bytes`` keeps the true size.
MAX_RAW_BYTES: Final = 900_000


def row(topic: str, partition: int, offset: int, reject: Reject) -> OutMessage:
    """A row of a message that is not a record; the rest of its message was good."""
    return _letter(
        topic, partition, offset, reject.raw, reject.reason, reject.row + 1, reject.column or ""
    )


def message(topic: str, partition: int, offset: int, raw: bytes, reason: str) -> OutMessage:
    """A whole message that cannot be read: line 0."""
    return _letter(topic, partition, offset, raw, reason, 0, "")


def _letter(
    topic: str, partition: int, offset: int, raw: bytes, reason: str, line: int, column: str
) -> OutMessage:
    headers = [
        ("reason", reason),
        ("topic", topic),
        ("partition", str(partition)),
        ("offset", str(offset)),
        ("line", str(line)),
        ("column", column),
        ("bytes", str(len(raw))),
    ]
    return OutMessage(
        topics.DEAD_LETTER.name,
        topic.encode(),
        raw[:MAX_RAW_BYTES],
        [(name, text.encode(errors="replace")) for name, text in headers],
    )
