"""Dead letters as rows: the sink's own, and those of skh.dead-letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from streams.dead_letters import DEFAULT
from streams.kafka.messages import OutMessage
from streams.sink.parameters import DEFAULT as SINK
from streams.sink.rows import DEAD_LETTER, Place


class DeadLetter(NamedTuple):
    """A message (line 0) or a record in it (line 1 is the first) that could not be used.

    records  that it speaks of: more than one in the summary of a message's many bad records
    """

    place: Place
    reason: str
    raw: bytes
    line: int = 0
    column: str = ""
    records: int = 1

    @classmethod
    def of(cls, out: OutMessage) -> DeadLetter:
        """The row of a published dead letter: the same key, whichever stage found it."""
        return cls.from_kafka(dict(out.headers), out.value, Place(out.topic, 0, 0))

    @classmethod
    def from_kafka(cls, headers: Mapping[str, bytes], raw: bytes, at: Place) -> DeadLetter:
        """Inverse of streams.dead_letters; never fails, so that every dead letter is stored.

        at  where the dead letter itself is; stands in where its headers do not say
        """
        texts = {
            name: value[: SINK.letter_characters].decode(errors="replace")
            for name in ("topic", "partition", "offset", "reason", "line", "column", "count")
            if (value := headers.get(name)) is not None
        }
        known = bool(texts.get("topic")) and _number(texts, "offset", None) is not None
        place = Place(
            texts["topic"] if known else at.topic,
            _number(texts, "partition", 0) or 0 if known else at.partition,
            _number(texts, "offset", 0) or 0 if known else at.offset,
        )
        reason = texts.get("reason") or "a dead letter without a reason"
        line, count = _number(texts, "line", 0) or 0, _number(texts, "count", 1)
        return cls(place, reason, raw, line, texts.get("column", ""), max(count or 0, 1))


def _number(texts: Mapping[str, str], name: str, default: int | None) -> int | None:
    text = texts.get(name, "")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        return default
    number = int(text)
    return number if name != "partition" or abs(number) < 2**31 else default


def table(letters: Sequence[DeadLetter]) -> pa.Table:
    """Rows of ``dead_letters``."""
    return pa.Table.from_pylist(
        [
            {
                **letter.place._asdict(),
                "line": letter.line,
                "column": letter.column,
                "reason": letter.reason,
                "raw": letter.raw[: DEFAULT.raw_bytes],
                "count": letter.records,
            }
            for letter in letters
        ],
        DEAD_LETTER,
    )
