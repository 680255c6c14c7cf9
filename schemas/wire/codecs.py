"""Bytes of ping records -> one validated column batch and the rejected rows; and back to bytes.

Every reader of ping records (stream worker, sink, ``diagnose``) decodes with this module, so that a
record is good or bad in the same way everywhere. A bad row costs that row: it is returned as a
Reject with the column and the reason. A message that cannot be read as a whole (unknown
content-type, corrupt Arrow, over a limit of ``schemas.limits``) raises CodecError.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa

from schemas import topics
from schemas.documents import ping
from schemas.limits import LIMITS, Limits
from schemas.wire import record_checks
from schemas.wire.arrow.stream import parse_arrow
from schemas.wire.decoded import CodecError, Decoded, Parsed, one_line
from schemas.wire.ping_columns import NUMBERS, TYPES, row_as_json, type_name
from schemas.wire.rejects import Reject
from schemas.wire.row_errors import RowErrors, shortened
from schemas.wire.text import csv_rows, flat_json, json_rows


def decode(raw: bytes, content_type: str) -> Decoded:
    """Read one message.

    raw           the message's payload
    content_type  Arrow stream, NDJSON, CSV (with or without a BOM) or a JSON array; parameters
                  such as ``; charset=utf-8`` are ignored
    Raises CodecError when the message as a whole is not readable or over a limit.
    """
    flat = flat_json.parse(raw) if content_type == topics.NDJSON else None
    return _decoded(parse(raw, content_type) if flat is None else flat)


def decode_csv(raw: bytes, *, header: bytes | None = None) -> Decoded:
    """Read a block of CSV.

    raw  lines; the first one is the header unless ``header`` gives it
    Row numbers of rejects count data lines from 0. Raises CodecError without a usable header.
    """
    return _decoded(csv_rows.parse_csv(raw, header=header))


def parse(raw: bytes, content_type: str, limits: Limits = LIMITS) -> Parsed:
    """Rows of one message, not yet checked as records; raises CodecError."""
    if len(raw) > limits.message_bytes:
        raise CodecError(f"message of {len(raw)} B is over the limit of {limits.message_bytes} B")
    kind = content_type[:256].partition(";")[0].strip().lower()
    if kind == topics.ARROW:
        return parse_arrow(raw, limits)
    if kind == topics.NDJSON:
        return json_rows.parse_ndjson(raw, limits)
    if kind == topics.JSON:
        return json_rows.parse_json_array(raw, limits)
    if kind == topics.CSV:
        if raw.count(b"\n") > limits.rows:
            raise CodecError(f"message holds more than {limits.rows} rows; split it")
        return csv_rows.parse_csv(raw, limits=limits)
    raise CodecError(
        f"content-type {shortened(content_type)} is not known; send one of "
        f"{topics.ARROW}, {topics.NDJSON}, {topics.JSON}, {topics.CSV}"
    )


def conform(batch: pa.RecordBatch) -> Decoded:
    """Check columns that are in memory already, with the same rules; raises CodecError."""
    return _decoded(Parsed(batch))


def _decoded(parsed: Parsed) -> Decoded:
    """Good rows in the record's types, and a Reject for each bad one."""
    typed, errors = check(parsed)
    found = list(parsed.rejects)
    found += [reject_of(parsed, errors, row) for row in np.flatnonzero(errors.bad).tolist()]
    good = typed.filter(pa.array(~errors.bad)) if errors.any() else typed
    return Decoded(good, sorted(found, key=lambda reject: reject.row))


def check(parsed: Parsed, limits: Limits = LIMITS) -> tuple[pa.RecordBatch, RowErrors]:
    """All rows in the record's types, extra_stats unpacked, and which of them are no records.

    Raises CodecError for what is wrong with every row of the message.
    """
    batch = parsed.batch
    columns: dict[str, pa.Array] = {}
    errors = RowErrors(batch.num_rows)
    names = batch.schema.names
    dial = batch.column(names.index("dial")) if "dial" in names else None
    for name, column in zip(names, batch.columns, strict=True):
        target = ping.ALIASES.get(name, name)
        if target in TYPES and target not in columns:
            if target == "latency":
                column = record_checks.without_unread(column, dial)
            try:
                columns[target] = record_checks.cast(column, TYPES[target], target, errors)
            except (ArithmeticError, ValueError, TypeError, LookupError) as why:
                kind = type_name(column)
                raise CodecError(f"column {name} of type {kind}: {one_line(why)}") from why
    if missing := [name for name in ping.REQUIRED if name not in columns]:
        if batch.num_rows and parsed.lines is None:
            raise CodecError(f"required columns are missing: {', '.join(missing)}")
        for name in missing:
            columns[name] = pa.nulls(batch.num_rows, TYPES[name])
    if not record_checks.are_valid(columns, limits):
        columns = record_checks.check_lengths(columns, errors, limits)
        _unpack_extra_stats(columns, errors, limits)
        record_checks.check_values(columns, errors)
    columns.pop("extra_stats", None)  # unpacked, or null in all rows
    record_checks.check_rows(columns, errors, limits)
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns)), errors


def reject_of(parsed: Parsed, errors: RowErrors, row: int) -> Reject:
    """What is wrong with a row of the batch, with the row's bytes."""
    column, reason, rule = errors.reason(row)
    if parsed.origin is None or parsed.lines is None:
        return Reject(row, column, reason, row_as_json(parsed.batch, row), rule=rule)
    line = int(parsed.origin[row])
    return Reject(line, column, reason, parsed.lines[line], rule=rule)


def _unpack_extra_stats(columns: dict[str, pa.Array], errors: RowErrors, limits: Limits) -> None:
    """extra_stats is JSON text on the wire and typed columns in memory."""
    text = columns.pop("extra_stats", None)
    if text is None or text.null_count == len(text):
        return
    wanted = dict.fromkeys(extra.name for extra in ping.EXTRA_STATS if extra.name not in columns)
    parsed: list[dict[str, object]] = []
    for row, value in enumerate(text.to_pylist()):
        stats: dict[str, object] = {}
        if value and value.strip():
            found = json_rows.parse_object(value.encode(), wanted, limits)
            if isinstance(found, str):
                errors.add(row, "extra_stats", found)
            else:
                stats = found
        parsed.append(stats)
    for extra in ping.EXTRA_STATS:
        if extra.name in wanted and any(extra.name in stats for stats in parsed):
            values = json_rows.array(
                [stats.get(extra.name) for stats in parsed], number=extra.name in NUMBERS
            )
            columns[extra.name] = record_checks.cast(values, TYPES[extra.name], extra.name, errors)


def encode_arrow(batch: pa.RecordBatch) -> bytes:
    """An Arrow IPC stream of one batch, uncompressed (Kafka compresses)."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def encode_ndjson(batch: pa.RecordBatch) -> bytes:
    """One JSON object per line, without its nulls."""
    encoder = msgspec.json.Encoder()
    rows = batch.to_pylist()
    return encoder.encode_lines([{k: v for k, v in r.items() if v is not None} for r in rows])
