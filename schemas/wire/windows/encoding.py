"""Rows -> chunks of skh.windows: Arrow IPC streams of one batch, none above the limit.

Most of a second's paths are those of the second before. What precedes the values in a chunk
(schema, names, and the description of its batch) is then the same bytes, and is written once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from schemas.compiled.codes import compacted

MAX_CHUNK_BYTES: Final = 512 * 1024
_CHUNK_ROWS: Final = 4096
_OVERHEAD_BYTES: Final = 16 * 1024  # schema and frames of a stream, upper bound
_SMALL_BYTES: Final = 4 * 1024  # a smaller dictionary is not worth compacting
_ALIGNMENT: Final = 8  # of each column in the body of a batch [B]
_END: Final = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream
_HEADS: Final = 2  # that are kept of a schema: of a full chunk, and of the last one


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


class _Values:
    """The values of a batch's columns: of names, their places in the dictionaries."""

    def __init__(self, columns: list[pa.Array]) -> None:
        self._columns = []
        for each in columns:
            width = each.type.bit_width // 8
            view = memoryview(each.buffers()[1])[each.offset * width :]
            self._columns.append((width, view))

    def body(self, start: int, rows: int) -> list[bytes | memoryview]:
        """Some rows as they lie in the body of a batch.

        As Arrow does it, a column is filled up with the values that follow, then with zeros.
        """
        sizes = [-(-width * rows // _ALIGNMENT) * _ALIGNMENT for width, _ in self._columns]
        parts: list[bytes | memoryview] = [
            view[start * width : start * width + size]
            for (width, view), size in zip(self._columns, sizes, strict=True)
        ]
        if sum(map(len, parts)) < sum(sizes):
            return [bytes(each).ljust(size, b"\0") for each, size in zip(parts, sizes, strict=True)]
        return parts


@dataclass(slots=True)
class _Alike:
    """Batches of one schema in turn with the same names.

    names  of each column of names
    step   rows of a full chunk
    heads  rows of a chunk -> the bytes before its values
    """

    names: list[pa.Array]
    step: int
    heads: dict[int, bytes] = field(default_factory=dict)

    def keep(self, rows: int, raw: bytes, rest: bytes) -> None:
        """Keep what precedes ``rest`` in a chunk."""
        if not raw.endswith(rest):
            return
        while len(self.heads) >= _HEADS:
            del self.heads[next(iter(self.heads))]
        self.heads[rows] = raw.removesuffix(rest)


class ChunkEncoder:
    """Encodes batches in turn, as ``encode_chunks`` does each."""

    def __init__(self) -> None:
        self._alike: dict[pa.Schema, _Alike] = {}

    def encode(self, batch: pa.RecordBatch) -> list[bytes]:
        """See ``encode_chunks``."""
        columns, names = batch.columns, []
        for at, each in enumerate(columns):
            if isinstance(each, pa.DictionaryArray):
                columns[at] = each.indices
                names.append(each.dictionary)
        alike = self._alike.get(batch.schema)
        if alike is None or not all(map(pa.Array.equals, alike.names, names)):
            step = _rows_within(batch)
            if all(map(_is_plain, columns)):
                self._alike[batch.schema] = _Alike(names, step)
        elif batch.num_rows and not any(each.null_count for each in columns):
            return self._encode_alike(batch, alike, _Values(columns))
        else:
            step = alike.step
        starts = range(0, max(batch.num_rows, 1), step)
        return [raw for start in starts for raw in _encode_within(batch.slice(start, step))]

    @staticmethod
    def _encode_alike(batch: pa.RecordBatch, alike: _Alike, values: _Values) -> list[bytes]:
        out: list[bytes] = []
        for start in range(0, batch.num_rows, alike.step):
            rows = min(alike.step, batch.num_rows - start)
            body = values.body(start, rows)
            if rows in alike.heads:
                out.append(b"".join((alike.heads[rows], *body, _END)))
                continue
            part = batch.slice(start, rows)
            raws = _encode_within(part)
            if _is_small(part) and len(raws) == 1:  # neither reduced nor split, as none of as many
                alike.keep(rows, raws[0], b"".join((*body, _END)))
            out += raws
        return out


def _is_plain(column: pa.Array) -> bool:
    """Whether a column's values are one buffer of whole bytes."""
    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type))


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
