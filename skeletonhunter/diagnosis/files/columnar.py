"""Arrow streams, Arrow files and Parquet -> blocks of validated records."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from schemas.limits import LIMITS
from schemas.wire import codecs
from skeletonhunter.diagnosis.files.blocks import Block
from skeletonhunter.diagnosis.files.column_map import ColumnMap
from skeletonhunter.errors import BadInput


def arrow(
    file: BufferedReader, name: str, columns: ColumnMap | None, *, is_file: bool
) -> Iterator[Block]:
    """Batch by batch, each fully validated before use: a corrupt one would crash the process.

    is_file  the file format, with a footer, and not a stream
    Raises BadInput for a corrupt one.
    """
    if is_file and not file.seekable():
        raise BadInput(
            f"{name}: an Arrow file cannot be read from a pipe or a compressed file; give the file "
            "itself, or an Arrow stream"
        )
    row = 1
    try:
        with pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file) as reader:
            names = tuple(reader.schema.names)  # one that is no UTF-8 shows only when asked for
            for batch in _batches(reader):
                batch.validate(full=True)
                for at in range(0, batch.num_rows, LIMITS.rows):
                    part = batch.slice(at, LIMITS.rows)
                    decoded = codecs.conform(columns.batch(part) if columns else part)
                    yield Block.of(decoded, name, row, names)
                    row += min(LIMITS.rows, batch.num_rows - at)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, MemoryError) as why:
        reason = " ".join(str(why).split())[:200] or "a length in it is wrong"
        kind = "file" if is_file else "stream"
        raise BadInput(f"{name}: corrupt Arrow {kind}: {reason}") from why


def _batches(
    reader: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return map(reader.get_batch, range(reader.num_record_batches))
    return iter(reader)


def parquet(file: BufferedReader, name: str, columns: ColumnMap | None) -> Iterator[Block]:
    """Batch by batch; raises BadInput for a corrupt file or one that has no end to seek to."""
    if not file.seekable():
        raise BadInput(
            f"{name}: Parquet cannot be read from a pipe or a compressed file; give the file itself"
        )
    row = 1
    try:
        for batch in ParquetFile(file).iter_batches(batch_size=LIMITS.rows):
            decoded = codecs.conform(columns.batch(batch) if columns else batch)
            yield Block.of(decoded, name, row, tuple(batch.schema.names))
            row += batch.num_rows
    except pa.ArrowException as why:
        raise BadInput(f"{name}: corrupt Parquet: {' '.join(str(why).split())[:200]}") from why
