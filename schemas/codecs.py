"""Bytes of ping records -> one validated column batch, and the rows that are not records.

Every reader of ping records (stream worker, sink, ``diagnose``) comes through here, so a record is
good or bad in the same way everywhere. A bad row costs that row: it is returned as a Reject with
the column and the reason. A bad message (unknown content-type, corrupt Arrow) raises CodecError.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import checks, ping, topics

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
MAX_ROWS: Final = 65_536
#: A record is flat but for route and extra_stats; a deep tower of brackets exhausts the stack.
MAX_BRACKETS: Final = 256

_TYPES: Final = {
    column.name: pa.type_for_alias(column.type) for column in (*ping.COLUMNS, *ping.EXTRA_STATS)
}
_EXTRA_DECODER: Final = msgspec.json.Decoder(dict[str, object])
_TOWER: Final = f"more than {MAX_BRACKETS} brackets; a record is flat"


class CodecError(ValueError):
    """A whole message cannot be read; the reason says what was wrong."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not a ping record.

    row     0-based position in the message or block; column: the offending column, if one is
    reason  one line: what was wrong, with which value
    raw     the row's bytes, as near to what was sent as the format allows
    rows    how many rows it stands for; row is -1 when they are several
    """

    row: int
    column: str | None
    reason: str
    raw: bytes
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Decoded:
    """Good rows as a batch of the present columns, typed as in schemas.ping; bad rows apart."""

    batch: pa.RecordBatch
    rejects: list[Reject]


def decode(raw: bytes, content_type: str) -> Decoded:
    """Read one message.

    raw           the message's payload
    content_type  Arrow stream, NDJSON, CSV (with or without a BOM) or a JSON array; parameters
                  such as ``; charset=utf-8`` are ignored
    Raises CodecError when the message as a whole is not readable or over a limit.
    """
    if len(raw) > MAX_MESSAGE_BYTES:
        raise CodecError(f"message of {len(raw)} B is over the limit of {MAX_MESSAGE_BYTES} B")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == topics.ARROW:
        return conform(read_arrow(raw))
    if kind == topics.NDJSON:
        return _json_rows(raw.split(b"\n"))
    if kind == topics.JSON:
        return _json_array(raw)
    if kind == topics.CSV:
        from schemas.csv_codec import decode_csv

        if raw.count(b"\n") > MAX_ROWS:
            raise CodecError(f"message holds more than {MAX_ROWS} rows; split it")
        return decode_csv(raw)
    raise CodecError(
        f"content-type {content_type!r} is not known; send one of "
        f"{topics.ARROW}, {topics.NDJSON}, {topics.JSON}, {topics.CSV}"
    )


def read_arrow(raw: bytes) -> pa.RecordBatch:
    """Rows of an Arrow stream as they came: sound in memory, not yet checked as records.

    Raises CodecError. Corrupt offsets would otherwise crash the process, so all is validated.
    """
    try:
        with pa.ipc.open_stream(pa.py_buffer(raw)) as reader:
            batches = []
            rows = 0
            for batch in reader:
                batch.validate(full=True)
                rows += batch.num_rows
                if rows > MAX_ROWS:
                    raise CodecError(f"Arrow stream holds more than {MAX_ROWS} rows; split it")
                batches.append(batch)
            schema = reader.schema
            _ = schema.names  # a name that is no UTF-8 shows only when it is asked for
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as why:
        raise CodecError(f"corrupt Arrow stream: {_one_line(why)}") from why
    if len(batches) == 1:
        return batches[0]
    return _only(pa.Table.from_batches(batches, schema).combine_chunks().to_batches(), schema)


def _json_array(raw: bytes) -> Decoded:
    try:
        rows = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError) as why:
        raise CodecError(f"not a JSON array: {_one_line(why)}") from why
    return _json_rows([bytes(row) for row in rows])


def _json_rows(lines: list[bytes]) -> Decoded:
    if len(lines) > MAX_ROWS:
        raise CodecError(f"message holds more than {MAX_ROWS} rows; split it")
    rows: list[dict[str, object]] = []
    origin: list[int] = []
    rejects: list[Reject] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if line.count(b"[") + line.count(b"{") > MAX_BRACKETS:
            rejects.append(Reject(number, None, _TOWER, line))
            continue
        try:
            row = _EXTRA_DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
            rejects.append(Reject(number, None, f"not a JSON object: {_one_line(why)}", line))
            continue
        rows.append(row)
        origin.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    known = [name for name in names if ping.ALIASES.get(name, name) in _TYPES]
    columns = [_loose_array([row.get(name) for row in rows]) for name in known]
    batch = pa.RecordBatch.from_arrays(columns, known) if known else _no_columns(len(rows))
    return conform(batch, origin=np.array(origin, np.int64), raw=lines, rejects=rejects)


def _no_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows, pa.string())], ["dial"])


def _loose_array(values: list[object]) -> pa.Array:
    """A column as JSON gave it; mixed types become text, which ``conform`` casts row by row."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if v is None else _text(v) for v in values], pa.string())


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def conform(
    batch: pa.RecordBatch,
    *,
    origin: np.ndarray | None = None,
    raw: list[bytes] | None = None,
    rejects: list[Reject] | None = None,
) -> Decoded:
    """Cast a batch's columns to the record's types, unpack extra_stats, and part good from bad.

    origin  (rows,) position of each row in ``raw``; both None when rows have no bytes of their own
    """
    columns: dict[str, pa.Array] = {}
    faults = checks.Faults(batch.num_rows)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        target = ping.ALIASES.get(name, name)
        if target in _TYPES and target not in columns:
            try:
                columns[target] = checks.cast(column, _TYPES[target], target, faults)
            except (ArithmeticError, ValueError, TypeError) as why:
                kind = _type_name(column)
                raise CodecError(f"column {name} of type {kind}: {_one_line(why)}") from why
    if missing := [name for name in ping.REQUIRED if name not in columns]:
        if batch.num_rows and raw is None:
            raise CodecError(f"required columns are missing: {', '.join(missing)}")
        for name in missing:
            columns[name] = pa.nulls(batch.num_rows, _TYPES[name])
    _unpack_extra_stats(columns, faults)
    checks.check_rows(columns, faults)
    good = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
    found = list(rejects or ())
    for row, (column_name, reason) in faults.items():
        at = int(origin[row]) if origin is not None else row
        found.append(Reject(at, column_name, reason, raw[at] if raw else row_bytes(batch, row)))
    if faults.any():
        good = good.filter(pa.array(~faults.bad))
    return Decoded(good, sorted(found, key=lambda reject: reject.row))


def _unpack_extra_stats(columns: dict[str, pa.Array], faults: checks.Faults) -> None:
    """extra_stats is JSON text on the wire and typed columns in memory."""
    text = columns.pop("extra_stats", None)
    if text is None or text.null_count == len(text):
        return
    parsed: list[dict[str, object]] = []
    for row, value in enumerate(text.to_pylist()):
        stats: dict[str, object] = {}
        if value and value.count("[") + value.count("{") > MAX_BRACKETS:
            faults.add(row, "extra_stats", _TOWER)
        elif value and value.strip():
            try:
                stats = _EXTRA_DECODER.decode(value)
            except msgspec.MsgspecError as why:
                faults.add(row, "extra_stats", f"not a JSON object: {_one_line(why)}")
        parsed.append(stats)
    for extra in ping.EXTRA_STATS:
        if extra.name not in columns and any(extra.name in stats for stats in parsed):
            values = _loose_array([stats.get(extra.name) for stats in parsed])
            columns[extra.name] = checks.cast(values, _TYPES[extra.name], extra.name, faults)


def row_bytes(batch: pa.RecordBatch, row: int) -> bytes:
    """A row as JSON, for a dead letter."""
    values: dict[str, object] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values[name] = column[row].as_py()
        except (ArithmeticError, ValueError):  # e.g. a time that Python has no year for
            values[name] = f"unreadable {_type_name(column)}"
    return json.dumps({k: v for k, v in values.items() if v is not None}, default=str).encode()


def _type_name(column: pa.Array) -> str:
    try:
        return str(column.type)
    except UnicodeDecodeError:  # a corrupt name within a nested type
        return "corrupt type"


def _one_line(why: BaseException) -> str:
    return " ".join(str(why).split())[:300]


def encode_arrow(batch: pa.RecordBatch) -> bytes:
    """An Arrow IPC stream of one batch, uncompressed (Kafka compresses)."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def encode_ndjson(batch: pa.RecordBatch) -> bytes:
    """One JSON object a line, nulls left out."""
    encoder = msgspec.json.Encoder()
    rows = batch.to_pylist()
    return encoder.encode_lines([{k: v for k, v in r.items() if v is not None} for r in rows])


def encode_csv(batch: pa.RecordBatch) -> bytes:
    """UTF-8 with a BOM and a header of the 45 columns, as in samples.csv."""
    import csv
    import io

    extras = [column.name for column in ping.EXTRA_STATS]
    out = io.StringIO()
    writer = csv.DictWriter(out, ping.NAMES, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in batch.to_pylist():
        stats = {name: row[name] for name in extras if row.get(name) is not None}
        writer.writerow({**row, "extra_stats": json.dumps(stats) if stats else ""})
    return b"\xef\xbb\xbf" + out.getvalue().encode()


def concat(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches of differing columns as one; a column that a batch lacks is null there."""
    if len(batches) == 1:
        return batches[0]
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    return _only(table.to_batches(), table.schema)


def _only(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema)


def nothing() -> pa.RecordBatch:
    """No rows, with the required columns."""
    schema = pa.schema([(name, _TYPES[name]) for name in ping.REQUIRED])
    return pa.RecordBatch.from_pylist([], schema)


def column(batch: pa.RecordBatch, name: str, default: object) -> pa.Array:
    """A column without nulls: ``default`` where it is null or absent."""
    index = batch.schema.get_field_index(name)
    if index < 0:
        return pa.repeat(pa.scalar(default, _TYPES[name]), batch.num_rows)
    values = batch.column(index)
    return pc.fill_null(values, pa.scalar(default, values.type)) if values.null_count else values


def column_type(name: str) -> pa.DataType:
    """The type of a column of the record."""
    return _TYPES[name]


def rows_of(decoded: Decoded) -> Iterator[dict[str, object]]:
    """Rows as dicts, for people and tests; not for the hot path."""
    yield from decoded.batch.to_pylist()
