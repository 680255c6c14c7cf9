"""Columns of ping records as Arrow holds them: types, defaults, joining, one row as JSON."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import ping

#: Arrow type of each column of the record and of each key of extra_stats.
TYPES: Final = {
    column.name: pa.type_for_alias(column.type) for column in (*ping.COLUMNS, *ping.EXTRA_STATS)
}
#: Names of the columns that hold numbers.
NUMBERS: Final = frozenset(name for name, kind in TYPES.items() if not pa.types.is_string(kind))
#: Names of columns that readers use, older spellings included; other columns are ignored.
KNOWN: Final = dict.fromkeys((*TYPES, *ping.ALIASES))


def column(batch: pa.RecordBatch, name: str, default: object) -> pa.Array:
    """(rows,) a column without nulls: ``default`` where it is null or absent."""
    index = batch.schema.get_field_index(name)
    if index < 0:
        return pa.repeat(pa.scalar(default, TYPES[name]), batch.num_rows)
    values = batch.column(index)
    return pc.fill_null(values, pa.scalar(default, values.type)) if values.null_count else values


def concat(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches of differing columns as one; a column that a batch lacks is null there."""
    if len(batches) == 1:
        return batches[0]
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    joined = table.to_batches()
    return joined[0] if joined else pa.RecordBatch.from_pylist([], table.schema)


def no_rows() -> pa.RecordBatch:
    """A batch of no rows, with the required columns in the record's types."""
    schema = pa.schema([(name, TYPES[name]) for name in ping.REQUIRED])
    return pa.RecordBatch.from_pylist([], schema)


def row_as_json(batch: pa.RecordBatch, row: int) -> bytes:
    """A row as a JSON object without its nulls, for a dead letter."""
    values: dict[str, object] = {}
    for name, values_of in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values[name] = values_of[row].as_py()
        except (ArithmeticError, ValueError, TypeError, LookupError):  # e.g. a time of no year
            values[name] = f"unreadable {type_name(values_of)}"
    return json.dumps({k: v for k, v in values.items() if v is not None}, default=str).encode()


def type_name(values: pa.Array) -> str:
    """Name of a column's Arrow type, of at most 64 characters."""
    try:
        return str(values.type)[:64]
    except UnicodeDecodeError:  # a corrupt name within a nested type
        return "corrupt type"
