"""Bytes of ping records -> one validated column batch, and the rows that are not records.

Every reader of ping records (stream worker, sink, ``diagnose``) comes through here, so a record is
good or bad in the same way everywhere. A bad row costs that row: it is returned as a Reject with
the column and the reason. A bad message (unknown content-type, corrupt Arrow, over a limit of
``schemas.limits``) raises CodecError.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas import topics
from schemas.documents import ping
from schemas.limits import LIMITS, Limits
from schemas.wire import arrow_columns, arrow_frames, json_rows, record_checks
from schemas.wire.arrow_frames import FrameError
from schemas.wire.bad_rows import Faults, shortened
from schemas.wire.rejects import (
    Reject as Reject,  # what decoders return; readers import it from here
)

MAX_MESSAGE_BYTES: Final = LIMITS.message_bytes
MAX_ROWS: Final = LIMITS.rows

_TYPES: Final = {
    column.name: pa.type_for_alias(column.type) for column in (*ping.COLUMNS, *ping.EXTRA_STATS)
}
_NUMBERS: Final = frozenset(name for name, kind in _TYPES.items() if not pa.types.is_string(kind))
#: Names of columns that readers use; others are left out.
KNOWN: Final = dict.fromkeys((*_TYPES, *ping.ALIASES))
_plans: Final = arrow_columns.Plans(KNOWN)


class CodecError(ValueError):
    """A whole message cannot be read; the reason says what was wrong."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Rows of a message, not yet checked as records.

    batch    the columns as they came; of known names
    origin   (rows,) position of each row in ``lines``; None: rows have no bytes of their own
    lines    bytes of each row of a text format
    rejects  rows that are not in the batch, because they cannot even be parsed
    bytes    of the batch's values, about [B]
    """

    batch: pa.RecordBatch
    origin: npt.NDArray[np.int64] | None = None
    lines: list[bytes] | None = None
    rejects: list[Reject] = field(default_factory=list)
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """Good rows as a batch of the present columns, typed as ``documents.ping``; bad rows apart."""

    batch: pa.RecordBatch
    rejects: list[Reject]


def decode(raw: bytes, content_type: str) -> Decoded:
    """Read one message.

    raw           the message's payload
    content_type  Arrow stream, NDJSON, CSV (with or without a BOM) or a JSON array; parameters
                  such as ``; charset=utf-8`` are ignored
    Raises CodecError when the message as a whole is not readable or over a limit.
    """
    return conformed(parse(raw, content_type))


def parse(raw: bytes, content_type: str, limits: Limits = LIMITS) -> Parsed:
    """Rows of one message as they came; raises CodecError."""
    if len(raw) > limits.message_bytes:
        raise CodecError(f"message of {len(raw)} B is over the limit of {limits.message_bytes} B")
    kind = content_type[:256].partition(";")[0].strip().lower()
    if kind == topics.ARROW:
        return _parse_arrow(raw, limits)
    if kind == topics.NDJSON:
        if raw.count(b"\n") > limits.rows:  # a newline after the last row is none of its own
            raise CodecError(_TOO_MANY.format(limits.rows))
        return _json_rows(raw.split(b"\n"), limits)
    if kind == topics.JSON:
        return _json_rows(_json_array(raw, limits), limits)
    if kind == topics.CSV:
        from schemas.wire.csv import parse_csv

        if raw.count(b"\n") > limits.rows:
            raise CodecError(_TOO_MANY.format(limits.rows))
        return parse_csv(raw, limits=limits)
    raise CodecError(
        f"content-type {shortened(content_type)} is not known; send one of "
        f"{topics.ARROW}, {topics.NDJSON}, {topics.JSON}, {topics.CSV}"
    )


_TOO_MANY: Final = "message holds more than {} rows; split it"


def read_arrow(raw: bytes, limits: Limits = LIMITS) -> pa.RecordBatch:
    """Rows of an Arrow stream: sound in memory, plain, of known names, not yet checked as records.

    Raises CodecError. Corrupt offsets would otherwise crash the process, so all is validated.
    """
    return _parse_arrow(raw, limits).batch


def _parse_arrow(raw: bytes, limits: Limits) -> Parsed:
    try:
        frames = arrow_frames.walk(raw, limits)
        if frames.rows > limits.rows:
            raise CodecError(f"Arrow stream holds more than {limits.rows} rows; split it")
        if frames.rows > max(1, len(raw) // limits.least_bytes):
            raise CodecError(f"{frames.rows} rows in {len(raw)} B: a record takes more")
        plan = _plans.of(raw[slice(*frames.schema)], limits)
        batch = arrow_columns.read(raw, frames, plan, limits)
    except (FrameError, pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as why:
        raise CodecError(f"corrupt Arrow stream: {_one_line(why)}") from why
    except arrow_columns.ColumnError as why:
        raise CodecError(_one_line(why)) from why
    return Parsed(batch, bytes=batch.nbytes if plan.encoded else len(raw))


def _json_array(raw: bytes, limits: Limits) -> list[bytes]:
    if raw.count(b",") > max(limits.rows, len(raw) // limits.json_commas):
        raise CodecError(_TOO_MANY.format(limits.rows))  # too many to take apart and count them
    try:
        rows = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise CodecError(f"not a JSON array: {_one_line(why)}") from why
    if len(rows) > limits.rows:
        raise CodecError(_TOO_MANY.format(limits.rows))
    return [bytes(row) for row in rows]


def _json_rows(lines: list[bytes], limits: Limits) -> Parsed:
    if len(lines) > limits.rows + (not lines or not lines[-1].strip()):
        raise CodecError(_TOO_MANY.format(limits.rows))
    rows, origin, rejects = json_rows.read(lines, KNOWN, limits)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [
        json_rows.array([row.get(name) for row in rows], number=name in _NUMBERS) for name in names
    ]
    batch = pa.RecordBatch.from_arrays(columns, list(names)) if names else _no_columns(len(rows))
    return Parsed(batch, np.array(origin, np.int64), lines, rejects)


def _no_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows, pa.string())], ["dial"])


def conform(batch: pa.RecordBatch) -> Decoded:
    """Cast a batch's columns to the record's types, unpack extra_stats, and part good from bad."""
    return conformed(Parsed(batch))


def conformed(parsed: Parsed) -> Decoded:
    """Part good rows from bad ones, and say of each bad one what is wrong."""
    typed, faults = check(parsed)
    found = list(parsed.rejects)
    found += [reject_of(parsed, faults, row) for row in np.flatnonzero(faults.bad).tolist()]
    good = typed.filter(pa.array(~faults.bad)) if faults.any() else typed
    return Decoded(good, sorted(found, key=lambda reject: reject.row))


def check(parsed: Parsed, limits: Limits = LIMITS) -> tuple[pa.RecordBatch, Faults]:
    """All rows with the record's types, and which of them are no records.

    Raises CodecError for what is wrong with every row of the message.
    """
    batch = parsed.batch
    columns: dict[str, pa.Array] = {}
    faults = Faults(batch.num_rows)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        target = ping.ALIASES.get(name, name)
        if target in _TYPES and target not in columns:
            try:
                columns[target] = record_checks.cast(column, _TYPES[target], target, faults)
            except (ArithmeticError, ValueError, TypeError, LookupError) as why:
                kind = _type_name(column)
                raise CodecError(f"column {name} of type {kind}: {_one_line(why)}") from why
    if missing := [name for name in ping.REQUIRED if name not in columns]:
        if batch.num_rows and parsed.lines is None:
            raise CodecError(f"required columns are missing: {', '.join(missing)}")
        for name in missing:
            columns[name] = pa.nulls(batch.num_rows, _TYPES[name])
    columns = record_checks.check_lengths(columns, faults, limits)
    _unpack_extra_stats(columns, faults, limits)
    record_checks.check_rows(columns, faults, limits)
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns)), faults


def reject_of(parsed: Parsed, faults: Faults, row: int) -> Reject:
    """What is wrong with a row of the batch, with the row's bytes."""
    column, reason, rule = faults.reason(row)
    if parsed.origin is None or parsed.lines is None:
        return Reject(row, column, reason, row_bytes(parsed.batch, row), rule=rule)
    at = int(parsed.origin[row])
    return Reject(at, column, reason, parsed.lines[at], rule=rule)


def _unpack_extra_stats(columns: dict[str, pa.Array], faults: Faults, limits: Limits) -> None:
    """extra_stats is JSON text on the wire and typed columns in memory."""
    text = columns.pop("extra_stats", None)
    if text is None or text.null_count == len(text):
        return
    wanted = dict.fromkeys(extra.name for extra in ping.EXTRA_STATS if extra.name not in columns)
    parsed: list[dict[str, object]] = []
    for row, value in enumerate(text.to_pylist()):
        stats: dict[str, object] = {}
        if value and value.strip():
            found = json_rows.one(value.encode(), wanted, limits)
            if isinstance(found, str):
                faults.add(row, "extra_stats", found)
            else:
                stats = found
        parsed.append(stats)
    for extra in ping.EXTRA_STATS:
        if extra.name in wanted and any(extra.name in stats for stats in parsed):
            values = json_rows.array(
                [stats.get(extra.name) for stats in parsed], number=extra.name in _NUMBERS
            )
            columns[extra.name] = record_checks.cast(values, _TYPES[extra.name], extra.name, faults)


def row_bytes(batch: pa.RecordBatch, row: int) -> bytes:
    """A row as JSON, for a dead letter."""
    values: dict[str, object] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values[name] = column[row].as_py()
        except (ArithmeticError, ValueError, TypeError, LookupError):  # e.g. a time of no year
            values[name] = f"unreadable {_type_name(column)}"
    return json.dumps({k: v for k, v in values.items() if v is not None}, default=str).encode()


def _type_name(column: pa.Array) -> str:
    try:
        return str(column.type)[:64]
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
