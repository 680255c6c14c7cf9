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
        topic, partition, offset, reject.raw, reject.reason, row=reject.row, column=reject.column
    )


def message(topic: str, partition: int, offset: int, raw: bytes, reason: str) -> OutMessage:
    """A whole message that cannot be read."""
    return _letter(topic, partition, offset, raw, reason, row=None, column=None)


def _letter(
    topic: str,
    partition: int,
    offset: int,
    raw: bytes,
    reason: str,
    *,
    row: int | None,
    column: str | None,
) -> OutMessage:
    headers = [
        ("reason", reason.encode()),
        ("topic", topic.encode()),
        ("partition", str(partition).encode()),
        ("offset", str(offset).encode()),
        ("bytes", str(len(raw)).encode()),
    ]
    if row is not None:
        headers.append(("row", str(row).encode()))
    if column is not None:
        headers.append(("column", column.encode()))
    return OutMessage(topics.DEAD_LETTER.name, topic.encode(), raw[:MAX_RAW_BYTES], headers)
