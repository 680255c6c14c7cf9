"""CSV -> columns of text, not yet checked: a header line and whole lines, with or without a BOM."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
from pyarrow import csv as pacsv

from schemas.documents import ping
from schemas.limits import LIMITS, Limits
from schemas.wire.decoded import CodecError, Parsed, one_line
from schemas.wire.ping_columns import KNOWN
from schemas.wire.rejects import Reject

_BOM = b"\xef\xbb\xbf"
_OTHER_MARKS = ";\t|"  # that others separate columns by


def parse_csv(raw: bytes, *, header: bytes | None = None, limits: Limits = LIMITS) -> Parsed:
    """Lines of a block of CSV as columns of text, not yet checked as records.

    raw  lines; the first one is the header unless ``header`` gives it
    Raises CodecError without a usable header.
    """
    raw = raw.removeprefix(_BOM)
    if header is None:
        header, _, raw = raw.partition(b"\n")
    names = header_names(header, limits)
    lines = raw.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    rejects: list[Reject] = []
    keep: list[int] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if (found := _wrong(line, names, limits)) is None:
            keep.append(number)
        else:
            column, reason, rule = found
            rejects.append(Reject(number, column, reason, line, rule=rule or reason))
    if not keep:
        return Parsed(_no_texts(), np.empty(0, np.int64), lines, rejects)
    block = b"\n".join(lines[number] for number in keep)
    known = [name for name in names if name in KNOWN]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(column_names=names, use_threads=False,
                                           block_size=len(block) + 1),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(known, pa.string()), strings_can_be_null=False,
                include_columns=known,
            ),
        ).combine_chunks()  # fmt: skip
    except pa.ArrowException as why:
        raise CodecError(f"not CSV: {one_line(why)}") from why
    if table.num_rows != len(keep):  # Arrow and csv split a line differently
        raise CodecError(f"{len(keep)} lines of CSV hold {table.num_rows} rows")
    batch = table.to_batches()[0]
    return Parsed(batch, np.array(keep, np.int64), lines, rejects)


def _wrong(line: bytes, names: list[str], limits: Limits) -> tuple[str | None, str, str] | None:
    """(column, reason, rule or "" where it is the reason) of a bad line; None: the line is good."""
    if len(line) > limits.line_bytes:
        return None, f"a row of more than {limits.line_bytes} B", ""
    if b"\r" in line.rstrip(b"\r\n"):
        return None, "a carriage return within the line", ""
    fields = line.count(b",") + 1 if b'"' not in line else _fields(line)
    if not fields:
        return None, "quotes do not close as CSV's do", ""
    if fields != len(names):
        rule = f"not {len(names)} fields as the header has"
        return (
            _last_column(names, fields), f"{fields} fields where the header has {len(names)}", rule,
        )  # fmt: skip
    if not _is_text(line):
        return None, "line is not UTF-8 text", ""
    return None


def header_names(header: bytes, limits: Limits = LIMITS) -> list[str]:
    """Column names of a header line; raises CodecError when it cannot be one."""
    if header.count(b",") >= limits.columns:
        raise CodecError(f"header has more than {limits.columns} columns")
    if len(header) > limits.line_bytes:
        raise CodecError(f"header is longer than {limits.line_bytes} B")
    try:
        text = header.removeprefix(_BOM).decode().strip("\r\n")
    except UnicodeDecodeError as why:
        raise CodecError(f"header line is not UTF-8 text: {why.reason}") from why
    try:
        names = [name.strip() for name in next(csv.reader([text]), [])]
    except csv.Error as why:  # a carriage return, a field without an end
        raise CodecError(f"header line is not CSV: {' '.join(str(why).split())[:200]}") from why
    if missing := [name for name in ping.REQUIRED if name not in names]:
        if len(names) == 1 and any(mark in text for mark in _OTHER_MARKS):
            raise CodecError("header has no comma; the separator of CSV must be a comma")
        raise CodecError(
            f"header lacks the columns {', '.join(missing)}; the first line names the columns"
        )
    if len(set(names)) != len(names):
        raise CodecError("header names a column twice")
    return names


def _no_texts() -> pa.RecordBatch:
    """No rows, with the required columns as texts."""
    required = [pa.nulls(0, pa.string()) for _ in ping.REQUIRED]
    return pa.RecordBatch.from_arrays(required, list(ping.REQUIRED))


def _fields(line: bytes) -> int:
    try:
        return len(next(csv.reader([line.decode("utf-8", "replace")], strict=True), []))
    except csv.Error:
        return 0


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _last_column(names: list[str], fields: int) -> str:
    return names[min(fields, len(names)) - 1]
