"""DuckDB's SQL over Arrow: each second is reduced to five columns, a window groups 31 of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from evaluation.bench.peers.engine import (
    KEY,
    SECOND,
    U64,
    VALUES,
    WINDOW_S,
    Emit,
    Second,
    each_hop,
)

_PATH: Final = f"hash({', '.join(KEY)}) AS path"
_REDUCE: Final = f"SELECT {_PATH}, {', '.join(VALUES)} FROM batch"  # noqa: S608 — constants
_WINDOW: Final = """
SELECT path, count(*) AS records, sum(sent) AS sent, sum(lost) AS lost,
  count(latency) AS rtt_count, avg(latency) AS mean,
  quantile_cont(latency, [0.25, 0.5, 0.75]) AS q, min(latency) AS min,
  stddev_samp(latency) AS std, max(latency) AS max
FROM pings WHERE ping_time >= {start_ns} AND ping_time < {end_ns} GROUP BY path
"""


class DuckDB:
    """Arrow in, Arrow out, no table of DuckDB's own: with one it needs a seventh more."""

    version = str(duckdb.__version__)

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1")

    def run(self, seconds: Iterable[Second], emit: Emit) -> None:
        """Emits a window as an Arrow table."""
        kept: deque[pa.Table] = deque(maxlen=WINDOW_S + 1)

        def add(batch: pa.RecordBatch) -> None:
            self._connection.register("batch", batch)
            kept.append(self._connection.sql(_REDUCE).to_arrow_table())

        def window(start_s: int, end_s: int) -> pa.Table:
            self._connection.register("pings", pa.concat_tables(kept))
            times = {"start_ns": start_s * SECOND, "end_ns": end_s * SECOND}
            return self._connection.sql(_WINDOW.format(**times)).to_arrow_table()

        each_hop(seconds, add, window, emit)

    def table(self, parts: list[Any]) -> pa.Table:
        """The three quantiles in columns of their own."""
        (rows,) = parts
        none = [np.nan] * 3
        q = np.array([each or none for each in rows["q"].to_pylist()], np.float64)
        for at, name in enumerate(("p25", "p50", "p75")):
            rows = rows.append_column(name, pa.array(q[:, at]))
        return rows.drop_columns(["q"])

    def keys(self, pings: pa.RecordBatch) -> U64:
        """Hashes of the paths."""
        self._connection.register("batch", pings)
        found: U64 = self._connection.sql(_REDUCE).to_arrow_table()["path"].to_numpy()
        return found
