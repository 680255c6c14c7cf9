"""Latency baseline of sparse paths: their newest answers, and a few older ones to compare with.

A path that is probed each 10 s or 8 min has no windows; its answers are kept one by one. An answer
becomes a reference once it is older than the evidence, unless it was slow and so was the one after
it: a fault that lasts must not become the new normal, but a single answer in a burst of training
is part of what is usual. References that are an hour old are dropped, so that a change of level
that lasts is learnt again.

What a five-tuple lacks its endpoint pair lends: while five-tuples have been answered a few times
each, and when agents change source ports, they are compared with all references of their pair, at
a noise that includes how five-tuples differ.

Memory: 4 answers, 5 references and their times, 56 B a path, once the fabric has a sparse path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.baselines.robust import MAD_TO_SIGMA, median_and_deviation
from localizer.fabric.key_index import GrowableArray
from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

_NEVER: Final = -(10**9)


@dataclass(frozen=True, slots=True)
class SparseLatencyParameters:
    """How many answers are kept, and for how long they speak.

    newest       answers of a path that are kept with their times
    references   older answers that they are compared with
    least        references that must be known, of the path or else of its pair
    spread_from  references that must be known before a path's own spread is used
    rounds       probes of an endpoint pair that make up its evidence,
    shortest_s   which spans at least this,
    longest_s    and at most this
    old_s        references are dropped when the newest one is so old
    """

    newest: int = parameter(
        4, unit="answers", source="chosen: as many as rounds, for a pair of one five-tuple"
    )
    references: int = parameter(
        5, unit="answers", source="chosen: their median stands against two in bursts; 20 B a path"
    )
    least: int = parameter(
        3, unit="answers", source="chosen: the median stands against one in a burst"
    )
    spread_from: int = parameter(
        4, unit="answers", source="chosen: as for windows (baselines.latency)"
    )
    rounds: float = parameter(
        4.0, unit="rounds",
        source="chosen: most of the evidence is new after two rounds; a pair's five-tuples, up to "
        "four, have each had their turn",
    )  # fmt: skip
    shortest_s: float = parameter(
        15.0, unit="s", source="chosen: longer than two bursts of training traffic"
    )
    longest_s: float = parameter(900.0, unit="s", source="chosen: as long as paths are remembered")
    old_s: int = parameter(
        3600, unit="s", source="chosen: a change of level that lasts is learnt within an hour"
    )


DEFAULT: Final = SparseLatencyParameters()


class Reference(NamedTuple):
    """What the answers of n paths are compared with.

    usual_us   (n,) [us], NaN where unknown; spread_us (n,) of single answers about it [us]
    """

    usual_us: F64
    spread_us: F64


class SparseLatency:
    """Newest answers and references per path; 0 where there is none."""

    def __init__(self, parameters: SparseLatencyParameters = DEFAULT) -> None:
        self.parameters = parameters
        self.clear()

    def clear(self) -> None:
        """Drop everything: event time jumped."""
        p = self.parameters
        self._value = GrowableArray(np.float32, p.newest)  # newest first
        self._when = GrowableArray(np.int32, p.newest, _NEVER)
        self._past = GrowableArray(np.float32, p.references)  # newest first
        self._learnt = GrowableArray(np.int32, fill=_NEVER)  # time of the newest reference
        self._epoch_s: int | None = None  # times count from here

    @property
    def nbytes(self) -> int:
        """Memory in use [B]."""
        columns = (self._value, self._when, self._past, self._learnt)
        return sum(each.values.nbytes for each in columns)

    def window_s(self, round_s: F32) -> F64:
        """(n,) seconds that the evidence of pairs spans whose rounds are so long [s]."""
        p = self.parameters
        return np.clip(p.rounds * round_s.astype(np.float64), p.shortest_s, p.longest_s)

    @property
    def epoch_s(self) -> int:
        """Second from which the times of ``answers`` count."""
        return self._epoch_s or 0

    def answers(self, rows: I64) -> tuple[F32, I32]:
        """(n, newest) round trips [us], newest first, 0 where absent; (n, newest) seconds of them
        since ``epoch_s``."""
        self._grow(rows)
        return _taken(self._value.values, rows).T, _taken(self._when.values, rows).T

    def add(self, second: int, rows: I64, rtt_us: F32, window_s: F64, slow_us: F64) -> None:
        """Add one answer for each of n paths; what is older than the evidence becomes a reference.

        second    of the answers; rows (n,); rtt_us (n,)
        window_s  (n,) length of their evidence [s]
        slow_us   (n,) answers above this are slow [us]; NaN where that is unknown
        """
        if self._epoch_s is None:
            self._epoch_s = second
        self._grow(rows)
        now = second - self._epoch_s
        value, when = _taken(self._value.values, rows), _taken(self._when.values, rows)
        slow = np.vstack([rtt_us, value]) > slow_us  # never where the bound is unknown
        past, learnt = _taken(self._past.values, rows), self._learnt.values[rows]
        for at in reversed(range(len(value))):
            old = (value[at] > 0) & (when[at] <= now - window_s) & (when[at] > learnt)
            take = np.flatnonzero(old & ~(slow[at] & slow[at + 1]))
            past[1:, take] = past[:-1, take]
            past[0, take], learnt[take] = value[at, take], when[at, take]
        self._past.values[:, rows], self._learnt.values[rows] = past, learnt
        self._value.values[:, rows] = np.vstack([rtt_us, value[:-1]])
        self._when.values[:, rows] = np.vstack([np.full(len(rows), now), when[:-1]])

    def reference(self, second: int, rows: I64, pair: I64, windows_us: F32) -> Reference:
        """What n paths are compared with: their own references, else those of their pair.

        pair        (n,) code of the endpoint pair of each path
        windows_us  (n,) usual round trip of windows [us], NaN without: it serves paths that were
                    probed more often until now
        """
        self._grow(rows)
        now, p = second - (self._epoch_s or 0), self.parameters
        past, learnt = _taken(self._past.values, rows), self._learnt.values[rows]
        stale = (learnt > _NEVER) & (learnt < now - p.old_s)
        seeded = (past[0] == 0) & np.isfinite(windows_us)
        if (stale | seeded).any():
            past[:, stale], learnt[stale] = 0.0, _NEVER
            past[:, seeded], learnt[seeded] = windows_us[seeded], now
            self._past.values[:, rows], self._learnt.values[rows] = past, learnt
        known = np.where(past > 0, past, np.float32(np.nan))
        count = (past > 0).sum(axis=0, dtype=np.int8)
        usual, apart = median_and_deviation(known)
        own = count >= p.least
        usual = np.where(own, usual, np.nan)
        spread = np.where(count >= p.spread_from, MAD_TO_SIGMA * apart, 0.0)
        if own.all():
            return Reference(usual, spread)
        lent = _of_pairs(known, ~own, pair, p.least)
        return Reference(np.where(own, usual, lent.usual_us), np.where(own, spread, lent.spread_us))

    def retain(self, rows: Bool) -> None:
        """Drop all other paths (P,)."""
        for column in (self._value, self._when, self._past, self._learnt):
            column.retain(rows[: len(column)])

    def _grow(self, rows: I64) -> None:
        paths = int(rows.max(initial=-1)) + 1
        for column in (self._value, self._when, self._past, self._learnt):
            column.grow(paths)


def _taken(lines: npt.NDArray[Any], rows: I64) -> npt.NDArray[Any]:
    """(m, n) some columns, line by line, of (m, P): half the time of ``lines[:, rows]``."""
    if len(rows) == lines.shape[1] and np.array_equal(rows, np.arange(len(rows))):
        return lines.copy()
    return lines.take(rows, axis=1)


def _of_pairs(known: F32, borrowers: Bool, pair: I64, least: int) -> Reference:
    """What the references of all five-tuples of each path's pair say, where they are enough.

    known  (R, n) references > 0, NaN where absent; borrowers (n,) paths of whose pairs it is asked
    """
    usual, spread = np.full(len(pair), np.nan), np.zeros(len(pair))
    asked = np.zeros(int(pair.max(initial=-1)) + 1, bool)
    asked[pair[borrowers]] = True
    code = np.where(asked[pair], pair, 0).astype(np.uint64) << np.uint64(32)
    there = np.isfinite(known) & asked[pair]
    # Positive numbers are in the order of their bits, so one sort serves pair and value.
    keys = np.concatenate([
        code[here] | line[here].view(np.uint32) for line, here in zip(known, there, strict=True)
    ])  # fmt: skip
    if not len(keys):
        return Reference(usual, spread)
    keys.sort()
    of = (keys >> np.uint64(32)).astype(np.int64)
    value = keys.astype(np.uint32).view(np.float32).astype(np.float64)
    start = np.flatnonzero(np.diff(of, prepend=-1))
    count = np.diff(start, append=len(of))
    middle = np.full(len(asked), np.nan)
    middle[of[start]] = (value[start + (count - 1) // 2] + value[start + count // 2]) / 2
    # How far one answer of one five-tuple is from the pair's: both differ.
    apart = MAD_TO_SIGMA * float(np.median(np.abs(value / middle[of] - 1.0)))
    middle[of[start[count < least]]] = np.nan
    usual = middle[pair]
    spread = np.where(np.isfinite(usual), apart * usual, 0.0)
    return Reference(usual, spread)
