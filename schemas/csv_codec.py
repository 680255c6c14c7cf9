"""CSV blocks -> ping records; a block is a header line and whole lines, with or without a BOM."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
from pyarrow import csv as pacsv

from schemas import ping
from schemas.codecs import CodecError, Decoded, Reject, conform

_BOM = b"\xef\xbb\xbf"


def decode_csv(raw: bytes, *, header: bytes | None = None) -> Decoded:
    """Read a block of CSV.

    raw     lines; the first one is the header unless ``header`` gives it
    Row numbers of rejects count data lines from 0. Raises CodecError without a usable header.
    """
    raw = raw.removeprefix(_BOM)
    if header is None:
        header, _, raw = raw.partition(b"\n")
    names = header_names(header)
    lines = raw.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    wrong: list[Reject] = []
    keep: list[int] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        fields = line.count(b",") + 1 if b'"' not in line else _fields(line)
        if b"\r" in line.rstrip(b"\r\n"):
            wrong.append(Reject(number, None, "a carriage return within the line", line))
        elif not fields:
            wrong.append(Reject(number, None, "quotes do not close as CSV's do", line))
        elif fields != len(names):
            reason = f"{fields} fields where the header has {len(names)}"
            wrong.append(Reject(number, _last_column(names, fields), reason, line))
        elif not _is_text(line):
            wrong.append(Reject(number, None, "line is not UTF-8 text", line))
        else:
            keep.append(number)
    if not keep:
        return Decoded(empty(), wrong)
    block = b"\n".join(lines[number] for number in keep)
    table = pacsv.read_csv(
        pa.BufferReader(block),
        read_options=pacsv.ReadOptions(column_names=names, use_threads=False,
                                       block_size=len(block) + 1),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    ).combine_chunks()  # fmt: skip
    batch = table.to_batches()[0]
    return conform(batch, origin=np.array(keep, np.int64), raw=lines, rejects=wrong)


def header_names(header: bytes) -> list[str]:
    """Column names of a header line; raises CodecError when it cannot be one."""
    try:
        text = header.removeprefix(_BOM).decode().strip("\r\n")
    except UnicodeDecodeError as why:
        raise CodecError(f"header line is not UTF-8 text: {why.reason}") from why
    names = [name.strip() for name in next(csv.reader([text]), [])]
    if missing := [name for name in ping.REQUIRED if name not in names]:
        raise CodecError(
            f"header lacks the columns {', '.join(missing)}; the first line names the columns"
        )
    if len(set(names)) != len(names):
        raise CodecError("header names a column twice")
    return names


def empty() -> pa.RecordBatch:
    """No rows, with the required columns."""
    return conform(
        pa.RecordBatch.from_arrays([pa.nulls(0, pa.string()) for _ in ping.REQUIRED],
                                   list(ping.REQUIRED))
    ).batch  # fmt: skip


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
