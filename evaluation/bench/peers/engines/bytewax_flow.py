"""Bytewax: a sliding window per path, folded record by record in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
import numpy as np
import pyarrow as pa
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

from evaluation.bench.peers.engine import (
    COUNTS,
    FEATURES,
    HOP_S,
    QUANTILES,
    U64,
    WINDOW_S,
    Emit,
    Second,
    joined_keys,
)
from schemas.identity import text_hash

_ORIGIN_S = 0  # windows are numbered from 1970 on


class Bytewax:
    """fold_window over a list of each path's records; features when the window closes."""

    version = version("bytewax")

    def run(self, seconds: Iterable[Second], emit: Emit) -> None:
        """Emits a window row by row; those that are open at the end of input are not emitted."""
        flow = Dataflow("peers")
        newest = [0]
        pings = op.input("pings", flow, _Source(seconds, newest))
        clock = win.EventClock(_sent_at, wait_for_system_duration=timedelta(seconds=1))
        windower = win.SlidingWindower(
            length=timedelta(seconds=WINDOW_S),
            offset=timedelta(seconds=HOP_S),
            align_to=datetime.fromtimestamp(_ORIGIN_S, UTC),
        )
        windows = win.fold_window(
            "windows", pings, clock, windower, list, _with, lambda a, b: a + b, ordered=False
        )
        op.output("out", op.map("features", windows.down, _row), _Sink(emit, newest))
        run_main(flow)

    def table(self, parts: list[Any]) -> pa.Table:
        """Columns of the rows."""
        columns = dict(zip(("path", *COUNTS, *FEATURES), zip(*parts, strict=True), strict=True))
        path = np.array([text_hash(key.encode()) for key in columns.pop("path")], np.uint64)
        return pa.table({"path": path, **columns})

    def keys(self, pings: pa.RecordBatch) -> U64:
        """Hashes of the texts that are the keys."""
        return np.array([text_hash(key.encode()) for key in joined_keys(pings)], np.uint64)


class _Source(DynamicSource):  # type: ignore[misc]  # bytewax is not installed for the type check
    def __init__(self, seconds: Iterable[Second], newest: list[int]) -> None:
        self._seconds, self._newest = seconds, newest

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Reader:
        return _Reader(self._seconds, self._newest)


class _Reader(StatelessSourcePartition):  # type: ignore[misc]  # as above
    def __init__(self, seconds: Iterable[Second], newest: list[int]) -> None:
        self._seconds, self._newest = iter(seconds), newest

    def next_batch(self) -> list[tuple[str, Any]]:
        second = next(self._seconds)  # StopIteration ends the flow
        self._newest[0] = second.start_s
        rows = second.pings
        times = rows.column("ping_time").cast(pa.timestamp("ns", "UTC")).cast(
            pa.timestamp("us", "UTC"), safe=False
        )  # fmt: skip
        columns = [times, *(rows.column(name) for name in ("latency", "sent", "lost"))]
        values = zip(*(column.to_pylist() for column in columns), strict=True)
        return list(zip(joined_keys(rows), values, strict=True))


class _Sink(DynamicSink):  # type: ignore[misc]  # as above
    def __init__(self, emit: Emit, newest: list[int]) -> None:
        self._emit, self._newest = emit, newest

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Writer:
        return _Writer(self._emit, self._newest)


class _Writer(StatelessSinkPartition):  # type: ignore[misc]  # as above
    def __init__(self, emit: Emit, newest: list[int]) -> None:
        self._emit, self._newest = emit, newest

    def write_batch(self, items: list[tuple[int, Any]]) -> None:
        for end_s, row in items:
            if end_s <= self._newest[0]:
                self._emit(end_s, row)


def _sent_at(value: tuple[datetime, float | None, int, int]) -> datetime:
    return value[0]


def _with(state: list[Any], value: tuple[datetime, float | None, int, int]) -> list[Any]:
    state.append(value)
    return state


def _row(item: tuple[str, tuple[int, list[Any]]]) -> tuple[int, tuple[Any, ...]]:
    """(end_s, (key, counts, features)) of a closed window; quantiles of type 7, as ours."""
    key, (number, values) = item
    end_s = _ORIGIN_S + number * HOP_S + WINDOW_S
    rtt = sorted(value[1] for value in values if value[1] is not None)
    count = len(rtt)
    counts = (len(values), sum(v[2] for v in values), sum(v[3] for v in values), count)
    if not count:
        return end_s, (key, *counts, *([math.nan] * len(FEATURES)))
    mean = sum(rtt) / count
    std = math.sqrt(sum((x - mean) ** 2 for x in rtt) / max(count - 1, 1))
    quantiles = []
    for q in QUANTILES.values():
        below, part = divmod(q * (count - 1), 1)
        low = rtt[int(below)]
        quantiles.append(low + part * (rtt[min(int(below) + 1, count - 1)] - low))
    return end_s, (key, *counts, mean, *quantiles, rtt[0], std, rtt[-1])
