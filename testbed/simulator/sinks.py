"""Writes ping records to a file as they are generated, in each format that readers accept.

The encodings of Parquet are chosen by measurement (benchmarks/README.md): repeated values are
dictionary-encoded, times are split by byte, and only ``ping_time``, by which readers select, has
statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import msgspec
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from schemas.limits import LIMITS
from testbed.simulator.records import plain

#: Rows of a Parquet row group, and of an Arrow batch: as many as a reader of messages accepts.
_GROUP_ROWS: Final = 1 << 20
_BATCH_ROWS: Final = LIMITS.rows


class Sink(Protocol):
    """Writes batches of one schema, in order, until it is closed."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


class _ParquetSink:
    """Row groups of a million rows: each group stores its dictionaries again."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._writer = parquet.ParquetWriter(
            path,
            schema,
            compression="lz4",
            use_dictionary=[name for name in schema.names if name not in ("ping_time", "route")],
            column_encoding={"ping_time": "BYTE_STREAM_SPLIT"},
            write_statistics=["ping_time"],
        )

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._writer.write_table(table, row_group_size=_GROUP_ROWS)
            self._waiting, self._rows = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


class _ArrowSink:
    """An Arrow stream; a dictionary is written once, and again only when it changes."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pa.ipc.new_stream(str(path), schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        for at in range(0, batch.num_rows, _BATCH_ROWS):
            self._writer.write_batch(batch.slice(at, _BATCH_ROWS))

    def close(self) -> None:
        self._writer.close()


class _CsvSink:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = pa.schema(
            [pa.field(f.name, pa.string()) if pa.types.is_dictionary(f.type) else f for f in schema]
        )
        self._writer = arrow_csv.CSVWriter(str(path), self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(plain(batch))

    def close(self) -> None:
        self._writer.close()


class _JsonSink:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = path.open("wb")
        self._encoder = msgspec.json.Encoder()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        rows = (
            {name: value for name, value in row.items() if value is not None}
            for row in batch.to_pylist()
        )
        self._file.write(self._encoder.encode_lines(rows))

    def close(self) -> None:
        self._file.close()


SINKS: Final[dict[str, Callable[[Path, pa.Schema], Sink]]] = {
    "parquet": _ParquetSink,
    "arrow": _ArrowSink,
    "csv": _CsvSink,
    "ndjson": _JsonSink,
}
