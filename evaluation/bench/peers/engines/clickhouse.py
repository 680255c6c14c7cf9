"""ClickHouse's SQL, in the embedded engine: a table in memory that keeps the newest rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import chdb
import numpy as np
import pyarrow as pa

from evaluation.bench.peers.engine import (
    KEY,
    PORTS,
    SECOND,
    TEXTS,
    U64,
    VALUES,
    WINDOW_S,
    Emit,
    Second,
    each_hop,
)

#: Arrow columns are nullable here, and a hash of a null is null: an empty text stands for it.
_PATH: Final = "cityHash64({})".format(
    ", ".join([f"ifNull({name}, '')" for name in TEXTS] + [f"ifNull({name}, 0)" for name in PORTS])
)
_TABLE: Final = """
CREATE OR REPLACE TABLE pings
(path UInt64, ping_time Int64, latency Nullable(Float64), sent Int32, lost Int32)
ENGINE = Memory SETTINGS min_rows_to_keep = {rows}, max_rows_to_keep = {rows}
"""
_INSERT: Final = f"INSERT INTO pings SELECT {_PATH}, {', '.join(VALUES)} FROM Python(batch)"  # noqa: S608 — constants
_WINDOW: Final = """
SELECT path, count() AS records, sum(sent) AS sent, sum(lost) AS lost, count(latency) AS rtt_count,
  avg(latency) AS mean, {quantiles}(0.25, 0.5, 0.75)(latency) AS q, min(latency) AS min,
  stddevSamp(latency) AS std, max(latency) AS max
FROM pings WHERE ping_time >= {start_ns} AND ping_time < {end_ns} GROUP BY path
"""


class ClickHouse:
    """Inserts each second with the path's hash as key, and groups the last seconds by it.

    quantiles  ClickHouse's function; quantilesExactInclusive interpolates linearly, as ours does
    """

    def __init__(self, quantiles: str = "quantilesExactInclusive") -> None:
        self._quantiles = quantiles
        connect: Any = chdb.connect  # typed or not, depending on which of its packages comes last
        self._connection = connect(":memory:")
        self._connection.query("SET max_threads = 1")
        found = self._connection.query("SELECT version()", "CSV").bytes().decode()
        self.version = f"{found.strip().strip(chr(34))} (chdb {chdb.__version__})"

    def run(self, seconds: Iterable[Second], emit: Emit) -> None:
        """Emits a window as an Arrow table."""
        empty = True

        def add(pings: pa.RecordBatch) -> None:
            nonlocal empty
            if empty:  # one second more than a window, and a half, since seconds differ a little
                rows = int(pings.num_rows * (WINDOW_S + 1.5))
                self._connection.query(_TABLE.format(rows=rows))
                empty = False
            batch = pa.table(pings.select([*KEY, *VALUES]))  # noqa: F841 — the statement names it
            self._connection.query(_INSERT)

        def window(start_s: int, end_s: int) -> pa.Table:
            times = {"start_ns": start_s * SECOND, "end_ns": end_s * SECOND}
            statement = _WINDOW.format(quantiles=self._quantiles, **times)
            return self._connection.query(statement, "ArrowTable")

        each_hop(seconds, add, window, emit)

    def table(self, parts: list[Any]) -> pa.Table:
        """The three quantiles in columns of their own."""
        (rows,) = parts
        q = np.array(rows["q"].to_pylist(), np.float64)
        for at, name in enumerate(("p25", "p50", "p75")):
            rows = rows.append_column(name, pa.array(q[:, at]))
        return rows.drop_columns(["q"])

    def keys(self, pings: pa.RecordBatch) -> U64:
        """Hashes of the paths."""
        batch = pa.table(pings.select(list(KEY)))  # noqa: F841 — the statement names it
        statement = f"SELECT {_PATH} AS path FROM Python(batch)"  # noqa: S608 — constants
        found: U64 = self._connection.query(statement, "ArrowTable")["path"].to_numpy()
        return found
