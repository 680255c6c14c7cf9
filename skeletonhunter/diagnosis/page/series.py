"""Ping records -> loss and round trips of some paths over time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas import identity
from schemas.wire.ping_columns import column
from streams.windowing.records import probes

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
Bool = npt.NDArray[np.bool_]

_SECOND: Final = 1_000_000_000
#: Points of a series at most, and its finest step [s]: a round of probes takes some seconds.
_POINTS: Final = 120
_LEAST_STEP_S: Final = 5


@dataclass(frozen=True, slots=True)
class PathSeries:
    """What some paths had, by time.

    times_s  (T,) begin of each step [s since the epoch]
    sent     (T,) probes [count]
    loss     (T,) share of them that were lost [1]; NaN where nothing was sent
    rtt_us   (T,) median round trip [us]; NaN without answers
    """

    times_s: I64
    sent: I64
    loss: F64
    rtt_us: F64


class ProbeTable:
    """Probes of all paths, traceroutes left out, ready to be added up.

    path  (rows,) path_id of each record
    """

    def __init__(self, records: pa.RecordBatch) -> None:
        traced = pc.equal(records.column("task_type"), "TRACEROUTE")
        batch = records.filter(pc.invert(traced))
        self.path: U64 = identity.path_ids(batch) if batch.num_rows else np.empty(0, np.uint64)
        self._second = batch.column("ping_time").to_numpy() // _SECOND
        sent, lost, _ = probes(batch)
        self._sent, self._lost = sent.astype(np.int64), lost.astype(np.int64)
        self._rtt_us: F64 = np.full(batch.num_rows, np.nan)
        if batch.schema.get_field_index("latency") >= 0:
            self._rtt_us = column(batch, "latency", np.nan).to_numpy(zero_copy_only=False)
        first, last = (
            (int(self._second.min()), int(self._second.max())) if len(self._second) else (0, 0)
        )
        self.step_s = max(_LEAST_STEP_S, -(-(last - first + 1) // _POINTS))
        self._first_s = first - first % self.step_s
        self._steps = (last - self._first_s) // self.step_s + 1

    def series(self, mask: Bool) -> PathSeries:
        """mask  (rows,) records that are added up"""
        at = (self._second[mask] - self._first_s) // self.step_s
        sent = np.bincount(at, self._sent[mask], self._steps)
        lost = np.bincount(at, self._lost[mask], self._steps)
        with np.errstate(invalid="ignore"):
            loss = lost / np.where(sent > 0, sent, np.nan)
        rtt = self._rtt_us[mask]
        rtt_us = np.full(self._steps, np.nan)
        answered = ~np.isnan(rtt)
        order = np.argsort(at[answered], kind="stable")
        steps, starts = np.unique(at[answered][order], return_index=True)
        for step, values in zip(steps, np.split(rtt[answered][order], starts[1:]), strict=False):
            rtt_us[step] = np.median(values)
        times = self._first_s + self.step_s * np.arange(self._steps)
        return PathSeries(times.astype(np.int64), sent.astype(np.int64), loss, rtt_us)
