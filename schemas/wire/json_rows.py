"""Rows of JSON text -> values of known names; what is not a row of a record says why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import msgspec
import pyarrow as pa

from schemas.limits import LIMITS, Limits
from schemas.wire.rejects import Reject

_decoder: Final = msgspec.json.Decoder(dict[str, object])
_NO_OBJECT: Final = "not a JSON object"


def read(
    lines: list[bytes], known: Mapping[str, object], limits: Limits = LIMITS
) -> tuple[list[dict[str, object]], list[int], list[Reject]]:
    """Values of the lines that are objects, the lines' numbers, and why the others are none."""
    rows: list[dict[str, object]] = []
    numbers: list[int] = []
    rejects: list[Reject] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        found = one(line, known, limits)
        if isinstance(found, str):
            rule = found.partition(": ")[0]
            rejects.append(Reject(number, None, found, line, rule=rule))
        else:
            rows.append(found)
            numbers.append(number)
    return rows, numbers, rejects


def one(
    line: bytes, known: Mapping[str, object], limits: Limits = LIMITS
) -> dict[str, object] | str:
    """Values of one object by known name, or why it is none.

    Arrays and objects become JSON text at once: as Python objects they take twenty times as much.
    """
    if len(line) > limits.line_bytes:
        return f"a row of more than {limits.line_bytes} B"
    if line.count(b"[") + line.count(b"{") > limits.brackets:
        return f"more than {limits.brackets} brackets; a record is flat"
    if line.count(b",") > limits.commas:
        return f"more than {limits.commas} values in a row"
    try:
        row = _decoder.decode(line)
        return {name: _flat(value) for name, value in row.items() if name in known}
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as why:
        return f"{_NO_OBJECT}: {' '.join(str(why).split())[:300]}"


def array(values: list[object], *, number: bool) -> pa.Array:
    """A column as JSON gave it; mixed types become text, which is cast row by row.

    number  the record has a number here: then whole numbers must not become floats because of a
            neighbour, for a time in ns needs all its digits
    """
    if number and {*map(type, values)} >= {int, float}:
        return _texts(values)
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return _texts(values)


def _texts(values: list[object]) -> pa.Array:
    return pa.array([None if v is None else _text(v) for v in values], pa.string())


def _flat(value: object) -> object:
    return _text(value) if isinstance(value, list | dict) else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
