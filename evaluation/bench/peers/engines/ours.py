"""This project's windower: checks, event time, late records, panes, windows and their chunks."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from evaluation.bench.peers.engine import COUNTS, FEATURES, SECOND, U64, Emit, Second
from schemas import identity
from schemas.compiled import native
from schemas.wire import window_chunks
from streams.windowing.partition import PartitionWorker


class Ours:
    """One partition of skh.pings: ``PartitionWorker.feed``."""

    def __init__(self) -> None:
        self.version = "with compiled code" if native.used() else "without compiled code"

    def run(self, seconds: Iterable[Second], emit: Emit) -> None:
        """Emits the values of messages of skh.windows, a chunk each."""
        worker = PartitionWorker(0, 0)
        for offset, second in enumerate(seconds):
            for message in worker.feed(second.pings, offset, (second.start_s + 1) * SECOND):
                headers = dict(message.headers)
                if headers["kind"] == b"window":
                    emit(int(headers["end_s"]), message.value)

    def table(self, parts: list[bytes]) -> pa.Table:
        """Columns of the decoded chunks."""
        batches = [window_chunks.decode("window", part) for part in parts]
        rows = pa.Table.from_batches(batches)
        names = ["path_id", *COUNTS, *(f"rtt_{name}_us" for name in FEATURES)]
        return rows.select(names).rename_columns(["path", *COUNTS, *FEATURES])

    def keys(self, pings: pa.RecordBatch) -> U64:
        """The path ids."""
        return identity.path_ids(pings)
