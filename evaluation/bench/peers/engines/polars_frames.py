"""Polars: each second is reduced to five columns, a lazy query groups 31 of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import polars as pl
import pyarrow as pa

from evaluation.bench.peers.engine import (
    KEY,
    QUANTILES,
    SECOND,
    U64,
    VALUES,
    WINDOW_S,
    Emit,
    Second,
    each_hop,
)


class Polars:
    """Groups by the path's hash with the streaming engine; grouping by nine columns costs twice."""

    version = str(pl.__version__)

    def run(self, seconds: Iterable[Second], emit: Emit) -> None:
        """Emits a window as a frame."""
        kept: deque[Any] = deque(maxlen=WINDOW_S + 1)
        rtt = pl.col("latency")
        features = [
            pl.len().alias("records"),
            pl.col("sent").sum(),
            pl.col("lost").sum(),
            rtt.count().alias("rtt_count"),
            rtt.mean().alias("mean"),
            *(rtt.quantile(q, "linear").alias(name) for name, q in QUANTILES.items()),
            rtt.min().alias("min"),
            rtt.std().alias("std"),
            rtt.max().alias("max"),
        ]

        def window(start_s: int, end_s: int) -> Any:
            time = pl.col("ping_time")
            inside = (time >= start_s * SECOND) & (time < end_s * SECOND)
            rows = pl.concat(kept).lazy().filter(inside)
            return rows.group_by("path").agg(features).collect(engine="streaming")

        each_hop(seconds, lambda pings: kept.append(_reduced(pings)), window, emit)

    def table(self, parts: list[Any]) -> pa.Table:
        """The frame's columns."""
        (frame,) = parts
        return frame.to_arrow()

    def keys(self, pings: pa.RecordBatch) -> U64:
        """Hashes of the paths."""
        found: U64 = _reduced(pings)["path"].to_numpy()
        return found


def _reduced(pings: pa.RecordBatch) -> Any:
    frame: Any = pl.from_arrow(pings.select([*KEY, *VALUES]))
    return frame.select(pl.struct(KEY).hash().alias("path"), *VALUES)
