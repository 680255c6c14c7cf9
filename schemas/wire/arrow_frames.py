"""An Arrow IPC stream's frames, read without Arrow: what it holds is known before it is expanded.

A frame is a length, metadata (a flatbuffer) and a body. Arrow decompresses bodies and applies
dictionaries while it reads, so a stream is walked here first: https://arrow.apache.org/docs/format/
Columnar.html, "Serialization and Interprocess Communication"; the tables are those of Message.fbs.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

import numpy as np

from schemas.limits import LIMITS, Limits

_I32: Final = Struct("<i").unpack_from
_U32: Final = Struct("<I").unpack_from
_U16: Final = Struct("<H").unpack_from
_I64: Final = Struct("<q").unpack_from
_CONTINUATION: Final = -1
_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3


class FrameError(ValueError):
    """The stream is torn, or holds what no reader of ours expands."""


class Frames(NamedTuple):
    """Where things are in a stream.

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
    try:
        return _walk(raw, limits)
    except (StructError, IndexError) as why:
        raise FrameError("metadata points outside of the message") from why


def _walk(raw: bytes, limits: Limits) -> Frames:
    schema: tuple[int, int] | None = None
    batches: list[tuple[int, int]] = []
    rows, at, end, count, dictionaries = 0, 0, len(raw), 0, False
    while at < end:
        start = at
        (length,) = _I32(raw, at)
        at += 4
        if length == _CONTINUATION:  # absent before Arrow 0.15
            (length,) = _I32(raw, at)
            at += 4
        if length == 0:
            break
        if length < 0 or at + length > end:
            raise FrameError(f"metadata of {length} B in a message of {end} B")
        kind, header, body = _message(raw, at)
        at += length + body
        if body < 0 or at > end:
            raise FrameError(f"a body of {body} B in a message of {end} B")
        count += 1
        if count > limits.arrow_frames:
            raise FrameError(f"more than {limits.arrow_frames} IPC messages in one stream")
        if kind == _RECORDS:
            rows += _records(raw, header, body)
            batches.append((start, at))
        elif kind == _DICTIONARY:
            _dictionary(raw, header, body)
            dictionaries = True
        elif kind == _SCHEMA and schema is None:
            schema = (start, at)
        else:
            raise FrameError(f"an IPC message of type {kind} in a stream of records")
        if schema is None:
            raise FrameError("the stream does not begin with its schema")
    if schema is None:
        raise FrameError("the stream has no schema")
    return Frames(schema, batches, rows, dictionaries)


def _message(raw: bytes, at: int) -> tuple[int, int, int]:
    """Type of the header, where its table is, bytes of the body."""
    table = at + _U32(raw, at)[0]
    kind, header, body = _slot(raw, table, 1), _slot(raw, table, 2), _slot(raw, table, 3)
    if not kind or not header:
        raise FrameError("an IPC message without a header")
    return raw[kind], header + _U32(raw, header)[0], _I64(raw, body)[0] if body else 0


def _records(raw: bytes, table: int, body: int) -> int:
    """Rows of a record batch; refuses what is larger in memory than in the message."""
    if _slot(raw, table, 3):
        raise FrameError("its body is compressed; let Kafka compress (compression.type)")
    if buffers := _slot(raw, table, 2):
        vector = buffers + _U32(raw, buffers)[0]
        count = _U32(raw, vector)[0]
        if vector + 4 + 16 * count > len(raw):
            raise FrameError("metadata points outside of the message")
        sizes = np.frombuffer(raw, np.int64, 2 * count, vector + 4)[1::2]
        if count and (sizes.min() < 0 or sizes.max() > body or sizes.sum() > body):
            raise FrameError("its buffers overlap or lie outside of its body")
    length = _slot(raw, table, 0)
    rows = int(_I64(raw, length)[0]) if length else 0
    if rows < 0:
        raise FrameError(f"a batch of {rows} rows")
    return rows


def _dictionary(raw: bytes, table: int, body: int) -> None:
    data, delta = _slot(raw, table, 1), _slot(raw, table, 2)
    if delta and raw[delta]:  # each makes a copy of the whole dictionary
        raise FrameError("dictionary deltas are not taken; send whole dictionaries")
    if data:
        _records(raw, data + _U32(raw, data)[0], body)


def _slot(raw: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table is; 0 when it is absent."""
    vtable = table - _I32(raw, table)[0]
    if vtable < 0 or vtable >= len(raw):
        raise FrameError("metadata points outside of the message")
    place = 4 + 2 * number
    if place + 2 > _U16(raw, vtable)[0]:
        return 0
    offset = _U16(raw, vtable + place)[0]
    return table + offset if offset else 0
