"""Many messages of ping records -> one validated batch.

Checking a batch costs nearly the same for 50 rows as for 5,000. Readers of skh.pings therefore
gather messages for some milliseconds and check them together; what is wrong is still said of the
message and row where it was, and what one message does to the joint work costs that message only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import topics
from schemas.limits import LIMITS, Limits
from schemas.wire import codecs, rejects
from schemas.wire.bad_rows import Faults
from schemas.wire.cardinality import beyond_limits
from schemas.wire.codecs import CodecError, Parsed, Reject

I64 = npt.NDArray[np.int64]

#: Plain values of messages that are checked together [B]: they are in memory twice meanwhile.
_TOGETHER_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Joined:
    """Good rows of several messages, and what was wrong with the others.

    batch    good rows, in the order of the messages
    message  (rows,) index of the message that each row came in
    row      (rows,) its position in that message, bad rows counted
    rejects  (index of the message, the row's reject); rows of a message beyond the first few bad
             ones share a reject, whose ``count`` says how many they are
    errors   (index of the message, why it cannot be read at all)
    """

    batch: pa.RecordBatch
    message: I64
    row: I64
    rejects: list[tuple[int, Reject]]
    errors: list[tuple[int, CodecError]]

    @property
    def bad(self) -> int:
        """Records that are none: bad rows, and a message that cannot be read counts as one."""
        return len(self.errors) + rejects.rows(reject for _, reject in self.rejects)


class BadRow(NamedTuple):
    """A good record that a reader cannot use.

    row   of the batch; column: the offending one, if one is
    rule  the reason without the value: what alike rows share
    """

    row: int
    column: str | None
    reason: str
    rule: str


def refused(
    batch: pa.RecordBatch, message: I64, row: I64, bad: Sequence[BadRow], limits: Limits = LIMITS
) -> list[tuple[int, Reject]]:
    """Rejects of some rows of a decoded batch: of each message a few in full, one for the rest.

    batch, message, row  as in Joined
    returns              (index of the message, reject), in order
    """
    by_message: dict[int, list[BadRow]] = {}
    for each in sorted(bad):
        by_message.setdefault(int(message[each.row]), []).append(each)
    out = []
    for index in sorted(by_message):
        rows = by_message[index]
        for each in rows[: limits.letters]:
            raw = codecs.row_bytes(batch, each.row)
            reject = Reject(int(row[each.row]), each.column, each.reason, raw, rule=each.rule)
            out.append((index, rejects.excerpt(reject, limits)))
        if rest := rows[limits.letters :]:
            first = int(row[rest[0].row])
            out.append((index, rejects.summary(first, ((each.rule, 1) for each in rest))))
    return out


class _Part(NamedTuple):
    """What messages that were checked together gave."""

    batch: pa.RecordBatch
    message: I64
    row: I64
    rejects: list[tuple[int, Reject]]


@dataclass(slots=True)
class _Found:
    parts: list[_Part] = field(default_factory=list)
    errors: list[tuple[int, CodecError]] = field(default_factory=list)


def decode_all(messages: Sequence[tuple[bytes, str]], limits: Limits = LIMITS) -> Joined:
    """Read messages, each (payload, content-type); never raises for what they hold."""
    found = _Found()
    alike: list[tuple[int, Parsed]] = []  # Arrow batches of one schema, not yet checked
    alike_bytes = 0

    for index, (raw, content_type) in enumerate(messages):
        try:
            parsed = codecs.parse(raw, content_type, limits)
        except CodecError as why:
            found.errors.append((index, why))
            continue
        except Exception as why:  # whatever a library has for bytes that its authors never saw
            found.errors.append((index, _unforeseen(why)))
            continue
        joins = content_type == topics.ARROW and parsed.lines is None
        if alike and not (
            joins
            and alike_bytes < _TOGETHER_BYTES
            and alike[0][1].batch.schema.equals(parsed.batch.schema)
        ):
            _check(alike, found, limits)
            alike, alike_bytes = [], 0
        if joins:
            alike.append((index, parsed))
            alike_bytes += parsed.bytes
        else:
            _check([(index, parsed)], found, limits)
    if alike:
        _check(alike, found, limits)
    return _joined(found)


def _joined(found: _Found) -> Joined:
    bad = [each for part in found.parts for each in part.rejects]
    parts = [part for part in found.parts if part.batch.num_rows]
    errors = sorted(found.errors, key=lambda error: error[0])
    if not parts:
        return Joined(codecs.nothing(), np.empty(0, np.int64), np.empty(0, np.int64), bad, errors)
    batch = codecs.concat([part.batch for part in parts])
    message = np.concatenate([part.message for part in parts])
    return Joined(batch, message, np.concatenate([part.row for part in parts]), bad, errors)


def _check(group: list[tuple[int, Parsed]], found: _Found, limits: Limits) -> None:
    """Check messages of one schema together; when that fails, halve them until one is left."""
    try:
        found.parts.append(_together(group, limits))
        return
    except Exception as why:  # anything: one message must not take the others along
        if len(group) == 1:
            error = why if isinstance(why, CodecError) else _unforeseen(why)
            found.errors.append((group[0][0], error))
            return
    half = len(group) // 2
    _check(group[:half], found, limits)
    _check(group[half:], found, limits)


def _unforeseen(why: Exception) -> CodecError:
    text = " ".join(str(why).split())[:300]
    error = CodecError(f"cannot be read: {type(why).__name__}: {text}")
    error.__cause__ = why
    return error


def _together(group: list[tuple[int, Parsed]], limits: Limits) -> _Part:
    if len(group) == 1:
        parsed = group[0][1]
    else:
        parsed = Parsed(codecs.concat([each.batch for _, each in group]))
    size = np.array([each.batch.num_rows for _, each in group])
    start = np.cumsum(size) - size
    typed, faults = codecs.check(parsed, limits)
    beyond_limits(typed, faults, start, size, limits)
    bad: list[tuple[int, Reject]] = []
    for place, (index, each) in enumerate(group):
        first = int(start[place])
        rows = np.flatnonzero(faults.bad[first : first + int(size[place])]) + first
        if len(rows) or each.rejects:
            bad += [(index, r) for r in _rejects(parsed, each, faults, rows, first, limits)]
    message = np.repeat(np.array([index for index, _ in group], np.int64), size)
    row = np.arange(len(message)) - np.repeat(start, size)
    if parsed.origin is not None:
        row = parsed.origin
    if faults.any():
        good = ~faults.bad
        typed, message, row = typed.filter(pa.array(good)), message[good], row[good]
    return _Part(typed, message, row, bad)


def _rejects(
    parsed: Parsed, own: Parsed, faults: Faults, rows: I64, first: int, limits: Limits
) -> list[Reject]:
    """Of one message: its first bad rows in full, one reject for the rest.

    own    the message as it was parsed; ``rows`` of ``parsed`` are its bad rows, from ``first`` on
    """
    if own.rejects or own.origin is not None:  # text: rows of both kinds, in the order of its lines
        every = [*own.rejects, *(codecs.reject_of(parsed, faults, int(row)) for row in rows)]
        return rejects.capped(every, limits)
    shown = [
        rejects.moved(codecs.reject_of(parsed, faults, int(row)), int(row) - first)
        for row in rows[: limits.letters]
    ]
    shown = rejects.capped(shown, limits)
    if len(rest := rows[limits.letters :]):
        shown.append(rejects.summary(int(rest[0]) - first, faults.rules(rest)))
    return shown
