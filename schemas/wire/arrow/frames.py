"""Frames of an Arrow IPC stream, read without Arrow: sizes are known before anything is expanded.

A frame is a length, metadata (a flatbuffer) and a body. Arrow decompresses bodies and applies
dictionaries while it reads, so a stream is walked here first. Format: https://arrow.apache.org/docs/format/
Columnar.html, "Serialization and Interprocess Communication"; the tables are those of Message.fbs.
The compiled helper reads what is taken; what is refused is read here, which says why.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

import numpy as np

from schemas.compiled import native
from schemas.limits import LIMITS, Limits

_I32: Final = Struct("<i").unpack_from
_U32: Final = Struct("<I").unpack_from
_U16: Final = Struct("<H").unpack_from
_I64: Final = Struct("<q").unpack_from
_CONTINUATION: Final = -1
_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3


class FrameError(ValueError):
    """The stream is incomplete, or has a feature that readers refuse to expand."""


class Frames(NamedTuple):
    """Positions in a stream [B] and counts.

    schema        [start, end) of the schema's frame
    batches       [start, end) of each record batch's frame
    rows          rows of all batches [count]
    dictionaries  whether dictionary batches come with them
    """

    schema: tuple[int, int]
    batches: list[tuple[int, int]]
    rows: int
    dictionaries: bool


def walk(raw: bytes, limits: Limits = LIMITS) -> Frames:
    """Frames of a stream up to its end mark; raises FrameError, and expands nothing."""
    helper = native.used()
    if helper is not None and (found := helper.arrow_frames(raw, limits.arrow_frames)) is not None:
        return Frames(*found)
    try:
        return _walk(raw, limits)
    except (StructError, IndexError) as why:
        raise FrameError("metadata points outside of the message") from why


def _walk(raw: bytes, limits: Limits) -> Frames:
    schema: tuple[int, int] | None = None
    batches: list[tuple[int, int]] = []
    rows, position, end, count, dictionaries = 0, 0, len(raw), 0, False
    while position < end:
        start = position
        (length,) = _I32(raw, position)
        position += 4
        if length == _CONTINUATION:  # absent before Arrow 0.15
            (length,) = _I32(raw, position)
            position += 4
        if length == 0:
            break
        if length < 0 or position + length > end:
            raise FrameError(f"metadata of {length} B in a message of {end} B")
        kind, header, body = _message(raw, position)
        position += length + body
        if body < 0 or position > end:
            raise FrameError(f"a body of {body} B in a message of {end} B")
        count += 1
        if count > limits.arrow_frames:
            raise FrameError(f"more than {limits.arrow_frames} IPC messages in one stream")
        if kind == _RECORDS:
            rows += _records(raw, header, body)
            batches.append((start, position))
        elif kind == _DICTIONARY:
            _dictionary(raw, header, body)
            dictionaries = True
        elif kind == _SCHEMA and schema is None:
            schema = (start, position)
        else:
            raise FrameError(f"an IPC message of type {kind} in a stream of records")
        if schema is None:
            raise FrameError("the stream does not begin with its schema")
    if schema is None:
        raise FrameError("the stream has no schema")
    return Frames(schema, batches, rows, dictionaries)


def _message(raw: bytes, start: int) -> tuple[int, int, int]:
    """(type of the header, position of its table, length of the body [B])."""
    table = start + _U32(raw, start)[0]
    kind, header, body = (field_position(raw, table, number) for number in (1, 2, 3))
    if not kind or not header:
        raise FrameError("an IPC message without a header")
    return raw[kind], header + _U32(raw, header)[0], _I64(raw, body)[0] if body else 0


def _records(raw: bytes, table: int, body: int) -> int:
    """Rows of a record batch; raises FrameError where it would grow in memory."""
    if field_position(raw, table, 3):
        raise FrameError("its body is compressed; let Kafka compress (compression.type)")
    if buffers := field_position(raw, table, 2):
        vector = buffers + _U32(raw, buffers)[0]
        count = _U32(raw, vector)[0]
        if vector + 4 + 16 * count > len(raw):
            raise FrameError("metadata points outside of the message")
        sizes = np.frombuffer(raw, np.int64, 2 * count, vector + 4)[1::2]
        if count and (sizes.min() < 0 or sizes.max() > body or sizes.sum() > body):
            raise FrameError("its buffers overlap or lie outside of its body")
    length = field_position(raw, table, 0)
    rows = int(_I64(raw, length)[0]) if length else 0
    if rows < 0:
        raise FrameError(f"a batch of {rows} rows")
    return rows


def _dictionary(raw: bytes, table: int, body: int) -> None:
    data, delta = field_position(raw, table, 1), field_position(raw, table, 2)
    if delta and raw[delta]:  # each delta copies the whole dictionary
        raise FrameError("dictionary deltas are not taken; send whole dictionaries")
    if data:
        _records(raw, data + _U32(raw, data)[0], body)


def field_position(raw: bytes, table: int, number: int) -> int:
    """Position of a field of a flatbuffer's table; 0 when it is absent."""
    vtable = table - _I32(raw, table)[0]
    if vtable < 0 or vtable >= len(raw):
        raise FrameError("metadata points outside of the message")
    entry = 4 + 2 * number
    if entry + 2 > _U16(raw, vtable)[0]:
        return 0
    offset = _U16(raw, vtable + entry)[0]
    return table + offset if offset else 0
