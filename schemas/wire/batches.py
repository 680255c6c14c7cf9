"""Many messages of ping records -> one validated batch.

Checking a batch costs nearly the same for 50 rows as for 5,000. Readers of skh.pings therefore
gather messages for some milliseconds and check them together. Errors still name the message and row
where they are, and a message that makes the joint check fail costs that message only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import topics
from schemas.limits import LIMITS, Limits
from schemas.wire import codecs, rejects
from schemas.wire.arrow.alike import join
from schemas.wire.arrow.layouts import Group, Layouts
from schemas.wire.arrow.stream import LAYOUTS
from schemas.wire.cardinality import beyond_limits
from schemas.wire.decoded import CodecError, Parsed, one_line
from schemas.wire.ping_columns import concat, no_rows, row_as_json
from schemas.wire.rejects import Reject
from schemas.wire.row_errors import RowErrors
from schemas.wire.text import flat_json

I64 = npt.NDArray[np.int64]
Check = Callable[[Parsed, Limits], tuple[pa.RecordBatch, RowErrors]]

#: Plain values of messages that are checked together [B]; checking holds them in memory twice.
_TOGETHER_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Joined:
    """Good rows of several messages, rejected rows, and unreadable messages.

    batch    good rows, in the order of the messages
    message  (rows,) index of the message that each row came in
    row      (rows,) position of each row in that message, bad rows counted
    rejects  (index of the message, reject); the bad rows of a message after the first few share
             one reject, whose ``count`` is their number
    errors   (index of the message, why it cannot be read at all)
    """

    batch: pa.RecordBatch
    message: I64
    row: I64
    rejects: list[tuple[int, Reject]]
    errors: list[tuple[int, CodecError]]

    @property
    def bad(self) -> int:
        """Bad records [count]; a message that cannot be read counts as one."""
        return len(self.errors) + rejects.count_rows(reject for _, reject in self.rejects)


class BadRow(NamedTuple):
    """A valid record that a reader cannot use.

    row     position in the batch
    column  the offending column, or None
    rule    the reason without the value; equal for rows rejected by the same rule
    """

    row: int
    column: str | None
    reason: str
    rule: str


def refused(
    batch: pa.RecordBatch, message: I64, row: I64, bad: Sequence[BadRow], limits: Limits = LIMITS
) -> list[tuple[int, Reject]]:
    """Rejects of some rows of a decoded batch: a few of each message in full, one for the others.

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
            raw = row_as_json(batch, each.row)
            reject = Reject(int(row[each.row]), each.column, each.reason, raw, rule=each.rule)
            out.append((index, rejects.excerpt(reject, limits)))
        if rest := rows[limits.letters :]:
            first = int(row[rest[0].row])
            out.append((index, rejects.summary(first, ((each.rule, 1) for each in rest))))
    return out


class _Part(NamedTuple):
    """Result of messages that were checked together; fields as in Joined."""

    batch: pa.RecordBatch
    message: I64
    row: I64
    rejects: list[tuple[int, Reject]]


@dataclass(slots=True)
class _Found:
    parts: list[_Part] = field(default_factory=list)
    errors: list[tuple[int, CodecError]] = field(default_factory=list)


def decode_all(
    messages: Sequence[tuple[bytes, str]],
    limits: Limits = LIMITS,
    *,
    check: Check = codecs.check,
    layouts: Layouts | None = LAYOUTS,
) -> Joined:
    """Read messages, each (payload, content-type); no content of a message raises.

    check  rows of several messages of one schema -> the rows in the record's types, and the bad
           ones; an error that it raises becomes the error of the message that causes it
    layouts  known layouts of Arrow streams, which are read together, and flat NDJSON as well; None:
           each message is read by itself, which takes longer and gives the same
    """
    found = _Found()
    done: set[int] = set()
    if layouts is not None:
        arrow = [(i, raw) for i, (raw, kind) in enumerate(messages) if kind == topics.ARROW]
        for group in layouts.groups(arrow, limits):
            for part in group.parts(_TOGETHER_BYTES):
                done.update(_check_alike(part, found, limits, check))
        lines = [(i, raw) for i, (raw, kind) in enumerate(messages) if kind == topics.NDJSON]
        for indices, raws in flat_json.groups(lines, limits):
            done.update(_check_flat(indices, raws, found, limits, check))
    same_schema: list[tuple[int, Parsed]] = []  # Arrow batches, not yet checked
    group_bytes = 0

    for index, (raw, content_type) in enumerate(messages):
        if index in done:
            continue
        try:
            parsed = codecs.parse(raw, content_type, limits)
        except CodecError as why:
            found.errors.append((index, why))
            continue
        except Exception as why:  # libraries raise errors of any type for corrupt bytes
            found.errors.append((index, _unexpected(why)))
            continue
        joins = content_type == topics.ARROW and parsed.lines is None
        if same_schema and not (
            joins
            and group_bytes < _TOGETHER_BYTES
            and same_schema[0][1].batch.schema.equals(parsed.batch.schema)
        ):
            _check(same_schema, found, limits, check)
            same_schema, group_bytes = [], 0
        if joins:
            same_schema.append((index, parsed))
            group_bytes += parsed.bytes
        else:
            _check([(index, parsed)], found, limits, check)
    if same_schema:
        _check(same_schema, found, limits, check)
    return _joined(found)


def _joined(found: _Found) -> Joined:
    bad = sorted((each for part in found.parts for each in part.rejects), key=lambda each: each[0])
    parts = sorted(
        (part for part in found.parts if part.batch.num_rows), key=lambda part: int(part.message[0])
    )
    errors = sorted(found.errors, key=lambda error: error[0])
    if not parts:
        return Joined(no_rows(), np.empty(0, np.int64), np.empty(0, np.int64), bad, errors)
    batch = concat([part.batch for part in parts])
    message = np.concatenate([part.message for part in parts])
    row = np.concatenate([part.row for part in parts])
    if (message[1:] < message[:-1]).any():  # messages of several layouts in turn
        order = np.argsort(message, kind="stable")
        batch, message, row = batch.take(pa.array(order)), message[order], row[order]
    return Joined(batch, message, row, bad, errors)


def _check_alike(alike: Group, found: _Found, limits: Limits, check: Check) -> list[int]:
    """Read and check messages together; when that fails, halve them until one is left.

    Returns the indices of those that were read; the others are to be read by themselves.
    """
    count = len(alike.indices)
    try:
        parsed, rows = Parsed(join(alike)), alike.numbers.rows
        part = _check_together(parsed, alike.indices, rows, [None] * count, limits, check)
    except Exception:  # of any type: reading a message by itself says what is wrong with it
        if count == 1:
            return []
    else:
        found.parts.append(part)
        return alike.indices
    halves = slice(count // 2), slice(count // 2, None)
    return [i for half in halves for i in _check_alike(alike.part(half), found, limits, check)]


def _check_flat(
    indices: list[int], raws: list[bytes], found: _Found, limits: Limits, check: Check
) -> list[int]:
    """Read and check NDJSON together; returns the indices of messages without a bad row, which are
    done. The others are to be read by themselves, which says of each line what is wrong.
    """
    flat = flat_json.read(raws, limits)
    index = np.array(indices, np.int64)[flat.read]
    if not len(index):
        return []
    start = np.cumsum(flat.rows) - flat.rows
    try:
        typed, errors = check(Parsed(flat.batch), limits)
        beyond_limits(typed, errors, start, flat.rows, limits)
    except Exception:  # of any type: reading a message by itself says what is wrong with it
        return []
    is_good = ~np.logical_or.reduceat(errors.bad, start)
    keep = np.repeat(is_good, flat.rows)
    message = np.repeat(index, flat.rows)[keep]
    row = (np.arange(len(keep)) - np.repeat(start, flat.rows))[keep]
    part = _Part(typed if is_good.all() else typed.filter(pa.array(keep)), message, row, [])
    found.parts.append(part)
    done: list[int] = index[is_good].tolist()
    return done


def _check(group: list[tuple[int, Parsed]], found: _Found, limits: Limits, check: Check) -> None:
    """Check messages of one schema together; when that fails, halve them until one is left."""
    try:
        batches = [each.batch for _, each in group]
        whole = group[0][1] if len(group) == 1 else Parsed(concat(batches))
        indices, own = [index for index, _ in group], [each for _, each in group]
        rows = np.array([batch.num_rows for batch in batches])
        found.parts.append(_check_together(whole, indices, rows, own, limits, check))
        return
    except Exception as why:  # of any type: the other messages are still to be checked
        if len(group) == 1:
            error = why if isinstance(why, CodecError) else _unexpected(why)
            found.errors.append((group[0][0], error))
            return
    half = len(group) // 2
    _check(group[:half], found, limits, check)
    _check(group[half:], found, limits, check)


def _unexpected(why: Exception) -> CodecError:
    error = CodecError(f"cannot be read: {type(why).__name__}: {one_line(why)}")
    error.__cause__ = why
    return error


def _check_together(
    parsed: Parsed, indices: list[int], size: I64, own: Sequence[Parsed | None], limits: Limits,
    check: Check,
) -> _Part:  # fmt: skip
    """parsed: rows of all messages, size (messages,) of each; own: each as it was parsed, if so."""
    start = np.cumsum(size) - size
    typed, row_errors = check(parsed, limits)
    beyond_limits(typed, row_errors, start, size, limits)
    bad: list[tuple[int, Reject]] = []
    wrong = row_errors.any()
    for position, (index, each) in enumerate(zip(indices, own, strict=True)):
        if not wrong and (each is None or not each.rejects):
            continue
        first = int(start[position])
        rows = np.flatnonzero(row_errors.bad[first : first + int(size[position])]) + first
        if len(rows) or (each is not None and each.rejects):
            bad += [(index, r) for r in _rejects(parsed, each, row_errors, rows, first, limits)]
    message = np.repeat(np.array(indices, np.int64), size)
    row = np.arange(len(message)) - np.repeat(start, size)
    if parsed.origin is not None:
        row = parsed.origin
    if wrong:
        good = ~row_errors.bad
        typed, message, row = typed.filter(pa.array(good)), message[good], row[good]
    return _Part(typed, message, row, bad)


def _rejects(
    parsed: Parsed, own: Parsed | None, row_errors: RowErrors, rows: I64, first: int, limits: Limits
) -> list[Reject]:
    """Rejects of one message: its first bad rows in full, one reject for the others.

    own    the message as it was parsed, if that was done by itself; ``rows`` of ``parsed`` are its
           bad rows, from ``first`` on
    """
    if own is not None and (
        own.rejects or own.origin is not None
    ):  # text: both kinds of rejects, in order of lines
        every = [*own.rejects, *(codecs.reject_of(parsed, row_errors, int(row)) for row in rows)]
        return rejects.capped(every, limits)
    shown = [
        replace(codecs.reject_of(parsed, row_errors, int(row)), row=int(row) - first)
        for row in rows[: limits.letters]
    ]
    shown = rejects.capped(shown, limits)
    if len(rest := rows[limits.letters :]):
        shown.append(rejects.summary(int(rest[0]) - first, row_errors.rules(rest)))
    return shown
