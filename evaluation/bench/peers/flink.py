"""Apache Flink's SQL, in an environment of its own: PyFlink 2.3 pins pyarrow 16, we need 26."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import csv

from evaluation.bench.peers.engine import (
    COUNTS,
    FEATURES,
    KEY,
    VALUES,
    WINDOW_S,
    Second,
    joined_keys,
)
from schemas import identity
from schemas.identity import text_hash

PYTHON: Final = Path(__file__).parents[3] / "var/peers-flink-venv/bin/python"
_JOB: Final = Path(__file__).parent / "engines" / "flink_job.py"


def installed() -> bool:
    """Whether ``scripts/peers-environment.sh`` could install it, and there is Java."""
    return PYTHON.exists() and shutil.which("java") is not None


def run(ready: Sequence[Second]) -> tuple[dict[str, Any], pa.Table, dict[int, int]]:
    """The job's JSON; the first full window; its keys -> our path ids.

    The job reads a file, in the order of the seconds; raises RuntimeError when it fails.
    """
    with TemporaryDirectory(prefix="peers-") as folder:
        records, window = Path(folder) / "records.csv", Path(folder) / "window.arrow"
        _write(ready, records)
        command = [str(PYTHON), str(_JOB), str(records), str(ready[0].start_s + WINDOW_S)]
        done = subprocess.run(  # noqa: S603 — our own program
            [*command, str(window)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"Flink's job failed: {done.stderr[-2000:]}")
        with pa.OSFile(str(window)) as file:
            rows = pa.ipc.open_file(file).read_all()
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    path = pa.array(_hashes(rows), pa.uint64())
    columns = [path, *(rows[name] for name in (*COUNTS, *FEATURES))]
    ids: dict[int, int] = {}
    for second in ready:
        ours = identity.path_ids(second.pings).tolist()
        ids |= dict(zip(_hashes(second.pings).tolist(), ours, strict=True))
    return result, pa.table(columns, ["path", *COUNTS, *FEATURES]), ids


def _write(ready: Sequence[Second], to: Path) -> None:
    names = [*KEY, *VALUES]
    schema = ready[0].pings.select(names).schema
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with csv.CSVWriter(str(to), schema, write_options=options) as writer:
        for second in ready:
            writer.write_batch(second.pings.select(names))


def _hashes(rows: pa.RecordBatch | pa.Table) -> np.ndarray:
    return np.array([text_hash(key.encode()) for key in joined_keys(rows)], np.uint64)
