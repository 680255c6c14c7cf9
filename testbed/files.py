"""A simulation as a directory: pings, heartbeats, topology and truth, written as it is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from schemas import heartbeat
from testbed.records import plain
from testbed.simulator import Simulation
from testbed.truth import encode as encode_truths

FORMATS: Final = ("parquet", "arrow", "csv", "ndjson")
_BLOCK_ROWS: Final = 1 << 18


class Written(NamedTuple):
    """What a directory holds: paths of the files, ping records and heartbeats in them."""

    pings: Path
    heartbeats: Path
    topology: Path
    truth: Path
    records: int
    beats: int


class _Sink(Protocol):
    def write_table(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class _CsvSink:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = pa.schema(
            [pa.field(f.name, pa.string()) if pa.types.is_dictionary(f.type) else f for f in schema]
        )
        self._writer = arrow_csv.CSVWriter(str(path), self._schema)

    def write_table(self, table: pa.Table) -> None:
        for batch in table.to_batches():
            self._writer.write_batch(plain(batch))

    def close(self) -> None:
        self._writer.close()


class _JsonSink:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = path.open("wb")
        self._encoder = msgspec.json.Encoder()

    def write_table(self, table: pa.Table) -> None:
        rows = (
            {name: value for name, value in row.items() if value is not None}
            for row in table.to_pylist()
        )
        self._file.write(self._encoder.encode_lines(rows))

    def close(self) -> None:
        self._file.close()


_SINKS: Final[dict[str, Callable[[Path, pa.Schema], _Sink]]] = {
    "parquet": lambda path, schema: parquet.ParquetWriter(path, schema, compression="zstd"),
    "arrow": lambda path, schema: pa.ipc.new_stream(str(path), schema),
    "csv": _CsvSink,
    "ndjson": _JsonSink,
}


def write(simulation: Simulation, out: Path, duration_s: int, format: str = "parquet") -> Written:
    """Stream ``duration_s`` seconds into ``out``, holding a few hundred thousand rows at most.

    Raises ValueError for an unknown format and OSError when the directory cannot be written.
    """
    if format not in FORMATS:
        raise ValueError(f"no format named {format!r}; choose one of {', '.join(FORMATS)}")
    out.mkdir(parents=True, exist_ok=True)
    pings, beats_path = out / f"pings.{format}", out / "heartbeats.ndjson"
    topology, truth = out / "topology.json", out / "truth.json"
    topology.write_bytes(msgspec.json.encode(simulation.topology) + b"\n")
    truth.write_bytes(encode_truths(simulation.truths(duration_s)) + b"\n")
    records = beats = 0
    sink: _Sink | None = None
    waiting: list[pa.RecordBatch] = []
    with beats_path.open("wb") as beats_file:
        for second in simulation.seconds(duration_s):
            waiting.append(second.pings)
            records += second.pings.num_rows
            beats += len(second.heartbeats)
            beats_file.writelines(heartbeat.encode(beat) + b"\n" for beat in second.heartbeats)
            sink = sink or _SINKS[format](pings, second.pings.schema)
            if sum(batch.num_rows for batch in waiting) >= _BLOCK_ROWS:
                sink.write_table(pa.Table.from_batches(waiting))
                waiting = []
    if sink is not None:
        if waiting:
            sink.write_table(pa.Table.from_batches(waiting))
        sink.close()
    return Written(pings, beats_path, topology, truth, records, beats)
