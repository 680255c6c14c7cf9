"""Arrow streams -> plain columns of known names; every expansion is bounded before it happens.

A plain value is not larger in memory than in the message: a number, a time, a text. Dictionaries,
views and nested values may be, so their plain size is computed before they are decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from schemas.limits import LIMITS, Limits
from schemas.wire.arrow.frames import Frames

_MOST_SCHEMAS: Final = 256
_MOST_SCHEMA_BYTES: Final = 64 * 1024
_VALUE_BYTES: Final = 64  # of a nested value as a Python object, lower bound


class ColumnError(ValueError):
    """Columns of a type that no ping record has, or that expand too much; one line."""


class Plan(NamedTuple):
    """How to read every message of one schema.

    keep     indices of the columns of known names; None: all
    encoded  positions among the kept columns that hold dictionaries or views
    nested   positions among the kept columns that hold lists or structs
    wrong    why no message of this schema can be read, or None
    """

    schema: pa.Schema
    keep: list[int] | None
    encoded: list[int]
    nested: list[int]
    wrong: str | None


class Plans:
    """Cache of plans by the bytes of the schema: an agent sends one schema in every message."""

    def __init__(self, known: Mapping[str, object]) -> None:
        self._known = known
        self._plans: dict[bytes, Plan] = {}

    def of(self, raw: bytes, limits: Limits = LIMITS) -> Plan:
        """The plan of a schema's frame; raises pa.ArrowException when it is corrupt."""
        plan = self._plans.get(raw)
        if plan is None:
            plan = self._make(pa.ipc.read_schema(pa.py_buffer(raw)), limits)
            if len(self._plans) >= _MOST_SCHEMAS:
                self._plans.clear()
            if len(raw) <= _MOST_SCHEMA_BYTES:
                self._plans[raw] = plan
        return plan

    def _make(self, schema: pa.Schema, limits: Limits) -> Plan:
        if len(schema) > limits.columns:
            wrong = f"{len(schema)} columns; a message may have {limits.columns}"
            return Plan(schema, None, [], [], wrong)
        keep = [index for index, name in enumerate(schema.names) if name in self._known]
        encoded, nested = [], []
        for position, index in enumerate(keep):
            kind = schema.field(index).type
            if is_nested(kind):
                nested.append(position)
            elif is_encoded(kind):
                encoded.append(position)
            elif not is_plain(kind):
                name = schema.names[index]
                wrong = f"column {name}: {str(kind)[:64]} is no type of a ping record"
                return Plan(schema, keep, [], [], wrong)
        return Plan(schema, None if len(keep) == len(schema) else keep, encoded, nested, None)


def read(raw: bytes, frames: Frames, plan: Plan, limits: Limits = LIMITS) -> pa.RecordBatch:
    """Rows of a stream, validated in full, as plain columns of known names.

    Raises ColumnError when they would expand to more than ``limits`` allows a message of this size,
    and pa.ArrowException when the stream is corrupt.
    """
    if plan.wrong is not None:
        raise ColumnError(plan.wrong)
    buffer = pa.py_buffer(raw)
    left = most = limits.may_expand_to(len(raw))
    found: list[pa.RecordBatch] = []
    if frames.dictionaries or not frames.batches:
        with pa.ipc.open_stream(buffer) as reader:
            batches = iter(reader) if frames.batches else [_no_rows(plan.schema)]
            for batch in batches:
                found.append(_plain(batch, plan, left, most))
                left -= found[-1].nbytes
    else:
        for start, end in frames.batches:
            batch = pa.ipc.read_record_batch(buffer.slice(start, end - start), plan.schema)
            found.append(_plain(batch, plan, left, most))
    if len(found) == 1:
        return found[0]
    whole = pa.Table.from_batches(found).combine_chunks().to_batches()
    return whole[0] if whole else found[0]


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _plain(batch: pa.RecordBatch, plan: Plan, left: int, most: int) -> pa.RecordBatch:
    if plan.keep is not None:
        batch = batch.select(plan.keep)
    batch.validate(full=True)
    if not plan.encoded and not plan.nested:
        return batch
    for index in plan.nested:
        left -= _VALUE_BYTES * leaves(batch.column(index))
        _check_left(left, most, batch.schema.names[index])
    columns = list(batch.columns)
    for index in plan.encoded:
        left -= decoded_bytes(columns[index])
        _check_left(left, most, batch.schema.names[index])
        columns[index] = decode(columns[index])
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _check_left(left: int, most: int, name: str) -> None:
    if left < 0:
        raise ColumnError(f"column {name[:64]}: its values expand to more than {most} B")


def is_plain(kind: pa.DataType) -> bool:
    """Whether values take a few bytes each, or are text whose bytes are all in the message."""
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind):
        return False
    return bool(
        pa.types.is_primitive(kind)  # numbers, times, booleans
        or pa.types.is_null(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_decimal(kind)
    )


def is_encoded(kind: pa.DataType) -> bool:
    """Whether the type is a dictionary of plain values, or a view."""
    if pa.types.is_dictionary(kind):
        return is_plain(kind.value_type)
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def is_nested(kind: pa.DataType, depth: int = 2) -> bool:
    """Whether the type is a list or struct of plain values, at most ``depth`` levels deep."""
    if depth == 0:
        return False
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = [kind.value_type]
    elif pa.types.is_struct(kind):
        inner = [kind.field(index).type for index in range(kind.num_fields)]
    else:
        return False
    return all(is_plain(each) or is_nested(each, depth - 1) for each in inner)


def leaves(column: pa.Array) -> int:
    """Number of values in a column, those in its lists and structs included [count]."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return len(column) + leaves(column.flatten())
    if pa.types.is_struct(kind):
        return len(column) + sum(leaves(each) for each in column.flatten())
    return len(column)


def decoded_bytes(column: pa.Array, lengths: np.ndarray | None = None) -> int:
    """Size of a dictionary or view column once decoded to plain values, upper bound [B].

    lengths  of the texts of its dictionary, if they are known
    """
    if not pa.types.is_dictionary(column.type):
        # Views: 16 B a row, of which 4 are the length of its text.
        views = np.frombuffer(column.buffers()[1], np.int32, 4 * len(column), 16 * column.offset)
        lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), views[::4], 0)
        return int(lengths.astype(np.int64).sum()) + 8 * len(column)
    values = column.dictionary
    if not text_like(values.type):
        return 16 * len(column)
    lengths = text_lengths(values) if lengths is None else lengths
    if not len(lengths):
        return 8 * len(column)
    longest = int(lengths.max())
    if longest * len(column) <= 1024 * 1024:
        return (longest + 8) * len(column)
    used = column.indices.drop_null().to_numpy(zero_copy_only=False)
    return int(lengths[used].sum(dtype=np.int64)) + 8 * len(column)


def decode(column: pa.Array) -> pa.Array:
    """A dictionary or view column as plain values."""
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column.cast(pa.string() if pa.types.is_string_view(column.type) else pa.binary())


def text_like(kind: pa.DataType) -> bool:
    """Whether the type is text or bytes with offsets."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )  # fmt: skip


def text_lengths(column: pa.Array) -> np.ndarray:
    """(rows,) length of each text [B]; of a null, the difference of its offsets."""
    rows = len(column)
    if not rows or (offsets := column.buffers()[1]) is None:
        return np.zeros(rows, np.int64)
    wide = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    kind = np.dtype(np.int64 if wide else np.int32)
    edges = np.frombuffer(offsets, kind, rows + 1, column.offset * kind.itemsize)
    lengths: np.ndarray = np.subtract(edges[1:], edges[:-1])
    return lengths


def as_naive(column: pa.Array) -> pa.Array:
    """A time column without its time zone: values are UTC whatever the zone's name says."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.view(pa.timestamp(kind.unit))
    return column
