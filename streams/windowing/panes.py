"""Panes: counts of one second per five-tuple path; and windows, which are sums of panes. Pure.

A sample is one 64-bit key, path index in the high and round-trip time [ns] in the low 32
bits, so that one integer sort groups by path and orders each path's times at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Final

import numpy as np
import numpy.typing as npt

from schemas.compiled import native
from streams.windowing.source_clocks import SECOND

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]

NO_RTT = np.uint32(0xFFFFFFFF)
_COUNTS: Final = ("records", "sent", "lost", "refused", "rtt_count")
_FEATURES: Final = ("mean", "p25", "p50", "p75", "min", "std", "max")
_SHIFT = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Pings:
    """The columns of ping records that are judged, one row a record.

    path (n,) index in the PathTable; time_ns (n,); rtt_ns (n,), NO_RTT where nothing answered;
    sent, lost, refused (n,) probes; source (n,) code of the source host; offset (n,) Kafka offset
    """

    path: I32
    time_ns: I64
    rtt_ns: U32
    sent: U32
    lost: U32
    refused: U32
    source: I32
    offset: I64

    def __len__(self) -> int:
        return len(self.path)

    def select(self, rows: npt.NDArray[np.bool_] | I64 | slice) -> Pings:
        """Some rows, by mask, index or slice."""
        return Pings(
            self.path[rows], self.time_ns[rows], self.rtt_ns[rows], self.sent[rows],
            self.lost[rows], self.refused[rows], self.source[rows], self.offset[rows],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pane:
    """One closed second.

    path (p,) sorted, unique; records, sent, lost, refused, rtt_count (p,); rtt_mean_us (p,)
    samples (m,) sorted path/rtt keys of the answered probes
    """

    start_s: int
    path: I32
    records: U32
    sent: U32
    lost: U32
    refused: U32
    rtt_count: U32
    rtt_mean_us: F32
    samples: U64


@dataclass(frozen=True, slots=True)
class Window:
    """Counts and the seven latency features of [end_s - length, end_s), path (p,) sorted."""

    start_s: int
    end_s: int
    path: I32
    records: U32
    sent: U32
    lost: U32
    refused: U32
    rtt_count: U32
    features_us: dict[str, F32]  # mean p25 p50 p75 min std max; NaN where nothing answered


def close_pane(start_s: int, parts: list[Pings]) -> tuple[Pane, int]:
    """Sum the records of one second; returns the pane and the number of duplicates left out.

    A duplicate has the same path and ping_time. Which copy is kept does not depend on the order of
    arrival: the one with the fewest lost probes, then the shortest time.
    """
    helper = native.used()
    if helper is not None:
        return _compiled_pane(helper, start_s, parts)
    path = np.concatenate([part.path for part in parts])
    time_ns = np.concatenate([part.time_ns for part in parts])
    rtt = np.concatenate([part.rtt_ns for part in parts])
    sent = np.concatenate([part.sent for part in parts])
    lost = np.concatenate([part.lost for part in parts])
    refused = np.concatenate([part.refused for part in parts])
    key = (path.astype(np.uint64) << _SHIFT) | (time_ns - start_s * SECOND).astype(np.uint64)
    order = np.argsort(key)
    repeats = key[order[1:]] == key[order[:-1]]
    duplicates = int(repeats.sum())
    if duplicates:
        order = np.lexsort((sent, refused, rtt, lost, key))
        order = order[np.concatenate([[True], key[order[1:]] != key[order[:-1]]])]
    path, rtt = path[order], rtt[order]
    answered = rtt != NO_RTT
    starts = _starts(path)
    pane = Pane(
        start_s,
        path[starts],
        np.diff(starts, append=len(path)).astype(np.uint32),
        _sum(sent[order], starts),
        _sum(lost[order], starts),
        _sum(refused[order], starts),
        _sum(answered.astype(np.uint32), starts),
        np.zeros(len(starts), np.float32),
        # By path already, and most paths have one: a stable sort takes sorted runs as they are.
        np.sort((path[answered].astype(np.uint64) << _SHIFT) | rtt[answered], kind="stable"),
    )
    total_ns = np.add.reduceat(np.where(answered, rtt, 0).astype(np.float64), starts)
    np.divide(total_ns, 1e3 * np.maximum(pane.rtt_count, 1), out=pane.rtt_mean_us, casting="unsafe")
    return pane, duplicates


def _compiled_pane(helper: ModuleType, start_s: int, parts: list[Pings]) -> tuple[Pane, int]:
    most = sum(map(len, parts))
    path, samples = np.empty(most, np.int32), np.empty(most, np.uint64)
    counts, mean = np.empty((len(_COUNTS), most), np.uint32), np.empty(most, np.float32)
    columns = [
        (part.path, part.time_ns, part.rtt_ns, part.sent, part.lost, part.refused) for part in parts
    ]
    rows, answered = helper.sum_pings(columns, start_s * SECOND, path, counts, mean, samples)
    if rows < most:  # a pane is kept for half a minute, without what lies behind
        path, counts, mean = path[:rows].copy(), counts[:, :rows].copy(), mean[:rows].copy()
    if answered < most:
        samples = samples[:answered].copy()
    records, sent, lost, refused, rtt_count = counts
    pane = Pane(start_s, path, records, sent, lost, refused, rtt_count, mean, samples)
    return pane, most - int(records.sum())


def close_window(start_s: int, end_s: int, panes: list[Pane]) -> Window:
    """Sum of the panes of [start_s, end_s), with the features of their samples."""
    panes = [pane for pane in panes if len(pane.path)]
    if not panes:
        none = np.empty(0, np.uint32)
        path = np.empty(0, np.int32)
        return Window(start_s, end_s, path, none, none, none, none, none, features(none, path))
    helper = native.used()
    if helper is not None:
        return _compiled_window(helper, start_s, end_s, panes)
    path = np.concatenate([pane.path for pane in panes])
    order = np.argsort(path, kind="stable")
    starts = _starts(path[order])

    def total(name: str) -> U32:
        values = np.concatenate([getattr(pane, name) for pane in panes])
        return _sum(values[order], starts)

    records, sent, lost, refused, rtt_count = map(total, _COUNTS)
    samples = np.sort(np.concatenate([pane.samples for pane in panes]))
    path = path[order][starts]
    return Window(
        start_s, end_s, path, records, sent, lost, refused, rtt_count, features(samples, path)
    )


def _compiled_window(helper: ModuleType, start_s: int, end_s: int, panes: list[Pane]) -> Window:
    bound = max(int(pane.path[-1]) for pane in panes) + 1
    path, counts = np.empty(bound, np.int32), np.empty((len(_COUNTS), bound), np.uint32)
    out = np.empty((len(_FEATURES), bound), np.float32)
    parts = [
        (pane.path, *(getattr(pane, name) for name in _COUNTS), pane.samples) for pane in panes
    ]
    rows = helper.sum_panes(parts, path, counts, out)
    records, sent, lost, refused, rtt_count = counts[:, :rows].copy()
    found = {name: each[:rows].copy() for name, each in zip(_FEATURES, out, strict=True)}
    return Window(
        start_s, end_s, path[:rows].copy(), records, sent, lost, refused, rtt_count, found
    )


def features(samples: npt.NDArray[np.unsignedinteger], path: I32) -> dict[str, F32]:
    """The seven features of each path's round-trip times [us]; NaN where a path has none.

    samples  (m,) sorted path/rtt keys; path (p,) sorted unique indices, a superset of the samples'
    Source   SkeletonHunter (SIGCOMM 2025): P25, P50, P75, min, mean, std, max of a 30 s window.
             Quantiles are interpolated linearly (Hyndman & Fan 1996, type 7), std is of the sample.
    """
    out = {name: np.full(len(path), np.nan, np.float32) for name in _FEATURES}
    if not len(samples):
        return out
    of = (samples >> _SHIFT).astype(np.int32)
    us = (samples & _LOW).astype(np.float64) / 1e3
    starts = _starts(of)
    count = np.diff(starts, append=len(of))
    row = np.searchsorted(path, of[starts])
    mean = np.add.reduceat(us, starts) / count
    deviation = us - np.repeat(mean, count)
    variance = np.add.reduceat(deviation * deviation, starts) / np.maximum(count - 1, 1)
    out["mean"][row], out["std"][row] = mean, np.sqrt(variance)
    out["min"][row], out["max"][row] = us[starts], us[starts + count - 1]
    for name, q in (("p25", 0.25), ("p50", 0.5), ("p75", 0.75)):
        position = q * (count - 1)
        below = np.floor(position).astype(np.int64)
        above = np.minimum(below + 1, count - 1)
        low, high = us[starts + below], us[starts + above]
        out[name][row] = low + (high - low) * (position - below)
    return out


def _starts(values: npt.NDArray[np.signedinteger]) -> I64:
    """First position of each run in a sorted array."""
    if not len(values):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))


def _sum(values: npt.NDArray[np.unsignedinteger], starts: I64) -> U32:
    return (
        np.add.reduceat(values, starts, dtype=np.uint32)
        if len(starts)
        else values[:0].astype(np.uint32)
    )
