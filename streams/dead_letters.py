"""any topic -> skh.dead-letter: messages and rows that are not valid, with place and reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas import topics
from schemas.parameters.parameter import parameter
from schemas.wire.rejects import Reject
from streams.kafka.messages import OutMessage


@dataclass(frozen=True, slots=True)
class DeadLetterParameters:
    """How much of what is not valid a dead letter holds.

    raw_bytes          of the message or row; the header ``bytes`` holds the true size
    reason_characters  of the reason
    column_characters  of the column's name, which may be anything that a sender wrote
    """

    raw_bytes: int = parameter(
        900_000, unit="B", source="chosen: below a broker's usual limit of 1 MB per message"
    )
    reason_characters: int = parameter(
        500, unit="characters", source="chosen: people read it in one line"
    )
    column_characters: int = parameter(
        100, unit="characters", source="chosen: people read it in one line"
    )


DEFAULT: Final = DeadLetterParameters()


def row(topic: str, partition: int, offset: int, reject: Reject) -> OutMessage:
    """An invalid row of an otherwise valid message, or a summary of several.

    The header ``count`` is the number of rows that the dead letter stands for.
    """
    return _letter(
        topic, partition, offset, reject.raw, reject.reason,
        line=reject.row + 1, column=reject.column or "", count=reject.count,
        size=len(reject.raw) if reject.size is None else reject.size,
    )  # fmt: skip


def message(topic: str, partition: int, offset: int, raw: bytes, reason: str) -> OutMessage:
    """A whole message that cannot be read: line 0."""
    return _letter(topic, partition, offset, raw, reason, line=0, column="", count=1, size=len(raw))


def _letter(
    topic: str, partition: int, offset: int, raw: bytes, reason: str,
    *, line: int, column: str, count: int, size: int,
) -> OutMessage:  # fmt: skip
    headers = [
        ("reason", one_line(reason, DEFAULT.reason_characters)),
        ("topic", topic),
        ("partition", str(partition)),
        ("offset", str(offset)),
        ("line", str(line)),
        ("column", one_line(column, DEFAULT.column_characters)),
        ("bytes", str(size)),
        ("count", str(count)),
    ]
    return OutMessage(
        topics.DEAD_LETTER.name,
        topic.encode(),
        raw[: DEFAULT.raw_bytes],
        [(name, text.encode(errors="replace")) for name, text in headers],
    )


def one_line(text: str, most: int) -> str:
    """Printable text of one line and at most so many characters."""
    cut = text[: 2 * most]
    line = " ".join("".join(c if c.isprintable() else " " for c in cut).split())
    return line if len(line) <= most else line[: most - 3] + "..."
