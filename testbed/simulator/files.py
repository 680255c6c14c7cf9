"""Writes a simulation to a directory: records, heartbeats, documents, and the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import pyarrow.parquet as parquet

from schemas.documents import heartbeat
from testbed.scoring.truth import encode as encode_truths
from testbed.simulator.simulator import Simulation
from testbed.simulator.sinks import SINKS, Sink
from testbed.workload import layout_truth
from testbed.workload.throughput import Throughput

FORMATS: Final = tuple(SINKS)


class Written(NamedTuple):
    """The files of a directory, and the numbers of ping records and heartbeats in them."""

    pings: Path
    heartbeats: Path
    topology: Path
    truth: Path
    layout: Path
    placement: Path
    records: int
    beats: int


def write(simulation: Simulation, out: Path, duration_s: int, format: str = "parquet") -> Written:
    """Write ``duration_s`` seconds to ``out``; at most a second or a million rows are in memory.

    Raises ValueError for an unknown format and OSError when the directory cannot be written.
    """
    if format not in FORMATS:
        raise ValueError(f"no format named {format!r}; choose one of {', '.join(FORMATS)}")
    out.mkdir(parents=True, exist_ok=True)
    pings, beats_path = out / f"pings.{format}", out / "heartbeats.ndjson"
    topology, truth = out / "topology.json", out / "truth.json"
    layout, placement = out / "layout.json", out / "placement.ndjson"
    topology.write_bytes(msgspec.json.encode(simulation.topology) + b"\n")
    truth.write_bytes(encode_truths(simulation.truths(duration_s)) + b"\n")
    with layout.open("wb") as layout_file:
        layout_file.writelines(layout_truth.encode(simulation))
    placement.write_bytes(msgspec.json.Encoder().encode_lines(simulation.placements()))
    records = beats = 0
    sink: Sink | None = None
    with beats_path.open("wb") as beats_file:
        for second in simulation.seconds(duration_s):
            records += second.pings.num_rows
            beats += len(second.heartbeats)
            beats_file.writelines(heartbeat.encode(beat) + b"\n" for beat in second.heartbeats)
            sink = sink or SINKS[format](pings, second.pings.schema)
            sink.write_batch(second.pings)
    if sink is not None:
        sink.close()
    return Written(pings, beats_path, topology, truth, layout, placement, records, beats)


def write_throughput(simulation: Simulation, out: Path, duration_s: int) -> Path:
    """Write throughput.parquet: a row per rnic and second, columns of ``documents.throughput``."""
    made = Throughput(simulation)
    file = out / "throughput.parquet"
    first = made.second(0)
    with parquet.ParquetWriter(file, first.schema, compression="zstd") as writer:
        for index in range(duration_s):
            writer.write_batch(made.second(index))
    return file
