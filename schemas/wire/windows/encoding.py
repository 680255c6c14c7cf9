"""Rows -> chunks of skh.windows: Arrow IPC streams of one batch, none above the limit.

Most of a second's paths are those of the second before. What precedes the record batch in a chunk
(schema and names) is then the same bytes, and is written once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from schemas.compiled.codes import compacted

MAX_CHUNK_BYTES: Final = 512 * 1024
_CHUNK_ROWS: Final = 4096
_OVERHEAD_BYTES: Final = 16 * 1024  # schema and frames of a stream, upper bound
_SMALL_BYTES: Final = 4 * 1024  # a smaller dictionary is not worth compacting
_END: Final = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream


def encode(batch: pa.RecordBatch) -> bytes:
    """One uncompressed Arrow IPC stream (Kafka compresses)."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def encode_chunks(batch: pa.RecordBatch) -> list[bytes]:
    """The batch as one or more chunks of at most MAX_CHUNK_BYTES, in order.

    Rows with names of usual length take about 100 B. Where names are long, chunks hold fewer rows,
    and only the names that their own rows use. A batch without rows is one chunk without rows.
    """
    return ChunkEncoder().encode(batch)


@dataclass(frozen=True, slots=True)
class _Alike:
    """Batches of one schema in turn with the same names.

    names   of each column of names
    step    rows of a full chunk
    most    rows of the longest chunk that has been encoded as it is; 0: none
    prefix  the bytes before the record batch in such a chunk
    """

    names: list[pa.Array]
    step: int
    most: int = 0
    prefix: bytes = b""

    def with_prefix_of(self, part: pa.RecordBatch, raw: bytes) -> _Alike:
        """The same, with the prefix of a chunk that was neither reduced nor split."""
        rest = b"".join((part.serialize(), _END))
        if not raw.endswith(rest):
            return self
        return replace(self, most=part.num_rows, prefix=raw.removesuffix(rest))


class ChunkEncoder:
    """Encodes batches in turn, as ``encode_chunks`` does each."""

    def __init__(self) -> None:
        self._alike: dict[pa.Schema, _Alike] = {}

    def encode(self, batch: pa.RecordBatch) -> list[bytes]:
        """See ``encode_chunks``."""
        columns = batch.columns
        names = [each.dictionary for each in columns if isinstance(each, pa.DictionaryArray)]
        alike = self._alike.get(batch.schema)
        if alike is None or not all(map(pa.Array.equals, alike.names, names)):
            alike = _Alike(names, _rows_within(batch))
        full = not any(each.null_count for each in columns)  # a chunk's size follows from its rows
        out: list[bytes] = []
        for start in range(0, max(batch.num_rows, 1), alike.step):
            part = batch.slice(start, alike.step)
            if full and 0 < part.num_rows <= alike.most:
                out.append(b"".join((alike.prefix, part.serialize(), _END)))
                continue
            raws = _encode_within(part)
            if full and len(raws) == 1 and _is_small(part):
                alike = alike.with_prefix_of(part, raws[0])
            out += raws
        if all(map(_has_fixed_width, columns)):
            self._alike[batch.schema] = alike
        return out


def _has_fixed_width(column: pa.Array) -> bool:
    """Whether the size of a column's values follows from the number of rows."""
    kind = column.type
    return bool(pa.types.is_primitive(kind) or pa.types.is_dictionary(kind))


def _rows_within(batch: pa.RecordBatch) -> int:
    """Rows of a chunk that has all names of the batch, so that none is encoded more than once.

    Where names take much of it, as many as a chunk may have: its names are then reduced.
    """
    names, width = 0, 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            names += column.dictionary.nbytes
            width += column.type.index_type.bit_width // 8
        elif pa.types.is_primitive(column.type):
            width += max(1, column.type.bit_width // 8)
        else:
            return _CHUNK_ROWS
    left = MAX_CHUNK_BYTES - _OVERHEAD_BYTES - names
    if 4 * left < 3 * MAX_CHUNK_BYTES or not width:
        return _CHUNK_ROWS
    return min(_CHUNK_ROWS, left // width)


def _encode_within(batch: pa.RecordBatch) -> list[bytes]:
    if not _is_small(batch):
        batch = _compact(batch)  # only now: it costs more than it saves where names are few
    raw = encode(batch)
    if len(raw) <= MAX_CHUNK_BYTES or batch.num_rows <= 1:
        return [raw]
    half = batch.num_rows // 2
    return [*_encode_within(batch.slice(0, half)), *_encode_within(batch.slice(half))]


def _is_small(batch: pa.RecordBatch) -> bool:
    """Whether a chunk has room for the rows with all names."""
    return bool(batch.nbytes <= MAX_CHUNK_BYTES - _OVERHEAD_BYTES)


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows; large dictionaries reduced to the names that the rows use."""
    columns = []
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and column.dictionary.nbytes > _SMALL_BYTES:
            codes = column.indices.to_numpy(zero_copy_only=False)
            rows = np.arange(len(codes), dtype=np.int32)
            places, used = compacted(codes, rows, len(column.dictionary))
            names = column.dictionary.take(pa.array(used))
            column = pa.DictionaryArray.from_arrays(places, names)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
