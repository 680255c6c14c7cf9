"""JSON text (NDJSON or an array of objects) -> columns of known names, not yet checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from schemas.limits import LIMITS, Limits
from schemas.wire.decoded import CodecError, Parsed, one_line
from schemas.wire.ping_columns import KNOWN, NUMBERS
from schemas.wire.rejects import Reject

_decoder: Final = msgspec.json.Decoder(dict[str, object])
_NO_OBJECT: Final = "not a JSON object"
_TOO_MANY: Final = "message holds more than {} rows; split it"


def parse_ndjson(raw: bytes, limits: Limits = LIMITS) -> Parsed:
    """Rows of one JSON object per line, not yet checked as records; raises CodecError."""
    if raw.count(b"\n") > limits.rows:  # a newline after the last row begins no further row
        raise CodecError(_TOO_MANY.format(limits.rows))
    return _parse_lines(raw.split(b"\n"), limits)


def parse_json_array(raw: bytes, limits: Limits = LIMITS) -> Parsed:
    """Rows of a JSON array of objects, not yet checked as records; raises CodecError."""
    if raw.count(b",") > max(limits.rows, len(raw) // limits.json_commas):
        raise CodecError(_TOO_MANY.format(limits.rows))  # splitting it would cost too much memory
    try:
        rows = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise CodecError(f"not a JSON array: {one_line(why)}") from why
    if len(rows) > limits.rows:
        raise CodecError(_TOO_MANY.format(limits.rows))
    return _parse_lines([bytes(row) for row in rows], limits)


def _parse_lines(lines: list[bytes], limits: Limits) -> Parsed:
    if len(lines) > limits.rows + (not lines or not lines[-1].strip()):
        raise CodecError(_TOO_MANY.format(limits.rows))
    rows: list[dict[str, object]] = []
    origin: list[int] = []
    rejects: list[Reject] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        found = parse_object(line, KNOWN, limits)
        if isinstance(found, str):
            rule = found.partition(": ")[0]
            rejects.append(Reject(number, None, found, line, rule=rule))
        else:
            rows.append(found)
            origin.append(number)
    names: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= names.keys():
            names |= dict.fromkeys(row)
    if names:
        values = zip(*[tuple(map(row.get, names)) for row in rows], strict=True)
        columns = [
            array(column, number=name in NUMBERS)
            for name, column in zip(names, values, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, list(names))
    else:  # a batch without columns would have no rows
        batch = pa.RecordBatch.from_arrays([pa.nulls(len(rows), pa.string())], ["dial"])
    return Parsed(batch, np.array(origin, np.int64), lines, rejects)


def parse_object(
    line: bytes, known: Mapping[str, object], limits: Limits = LIMITS
) -> dict[str, object] | str:
    """Values of one JSON object by known name, or why it is none.

    Arrays and objects become JSON text at once: as Python objects they take 20 times the memory.
    """
    if len(line) > limits.line_bytes:
        return f"a row of more than {limits.line_bytes} B"
    brackets = line.count(b"[") + line.count(b"{")
    if brackets > limits.brackets:
        return f"more than {limits.brackets} brackets; a record is flat"
    if len(line) > limits.commas and line.count(b",") > limits.commas:
        return f"more than {limits.commas} values in a row"
    try:
        row = _decoder.decode(line)
        if brackets == 1 and row.keys() <= known.keys():
            return row  # as nearly all are: nothing lies within it, and nothing is left out
        return {name: _flat(value) for name, value in row.items() if name in known}
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as why:
        return f"{_NO_OBJECT}: {one_line(why)}"


def array(values: Sequence[object], *, number: bool) -> pa.Array:
    """A column of JSON values; mixed types become text, which is cast row by row later.

    number  the record has a number here: integers beside floats become text as well, because a
            time in ns as a float loses digits
    """
    if number and {*map(type, values)} >= {int, float}:
        return _texts(values)
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return _texts(values)


def _texts(values: Sequence[object]) -> pa.Array:
    return pa.array([None if v is None else _text(v) for v in values], pa.string())


def _flat(value: object) -> object:
    return _text(value) if isinstance(value, list | dict) else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
