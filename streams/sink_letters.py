"""Dead letters as rows: the sink's own, and those that lie on skh.dead-letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from streams.dead_letters import MAX_RAW_BYTES
from streams.sink_rows import DEAD_LETTER, Place


class DeadLetter(NamedTuple):
    """A message (line 0) or a record in it (line 1 is the first) that could not be used."""

    place: Place
    reason: str
    raw: bytes
    line: int = 0
    column: str = ""

    @classmethod
    def from_kafka(cls, headers: Mapping[str, bytes], raw: bytes, at: Place) -> DeadLetter:
        """Inverse of streams.dead_letters; never fails, for a dead letter has nowhere else to go.

        at  where the dead letter itself is; stands in where its headers do not say
        """
        texts = {name: value.decode(errors="replace") for name, value in headers.items()}
        known = bool(texts.get("topic")) and _number(texts, "offset", None) is not None
        place = Place(
            texts["topic"] if known else at.topic,
            _number(texts, "partition", 0) or 0 if known else at.partition,
            _number(texts, "offset", 0) or 0 if known else at.offset,
        )
        reason = texts.get("reason") or "a dead letter without a reason"
        return cls(place, reason, raw, _number(texts, "line", 0) or 0, texts.get("column", ""))


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
                "raw": letter.raw[:MAX_RAW_BYTES],
            }
            for letter in letters
        ],
        DEAD_LETTER,
    )
