"""How often each five-tuple is probed, learnt from the seconds in which it was.

Agents choose their own cadence, and may change it at any time. A path is *sparse* when a window of
30 s holds too few of its probes to be compared by itself.

Memory: one float32 a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import GrowableArray
from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

_SCRAMBLE: Final = 2_654_435_761  # Knuth's multiplicative hash: no cadence follows its low bits


@dataclass(frozen=True, slots=True)
class CadenceParameters:
    """How intervals are learnt.

    newest      weight of the newest interval in the mean
    most_grown  an interval counts up to so many times the mean: an outage is no cadence
    probes      a window must hold so many probes of a path, or else the path is sparse
    few         so many paths of a second are all learnt from; of more, where most paths are probed
                every few seconds, one
    of          in so many
    live        a path that has not been probed for so many intervals is not probed any more
    """

    newest: float = parameter(
        0.5, unit="1", source="chosen: a new cadence is known after three probes"
    )
    most_grown: float = parameter(
        4.0, unit="1", source="chosen: pytest tests/localizer/baselines/test_probe_cadence.py"
    )
    probes: float = parameter(
        4.0, unit="probes", source="chosen: three must be answered, and one may be lost"
    )
    few: int = parameter(4096, unit="paths", source="chosen: make bench (1,000,000 paths)")
    of: int = parameter(4, unit="paths", source="chosen: make bench (1,000,000 paths)")
    live: float = parameter(
        2.5, unit="1", source="chosen: one probe may be missing, and the next one late"
    )


DEFAULT: Final = CadenceParameters()


class Cadence:
    """Mean interval between the seconds in which each path is probed."""

    def __init__(self, window_s: int = 30, parameters: CadenceParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._interval = GrowableArray(np.float32)
        self._sparse_s = window_s / parameters.probes
        self.any_known = False  # as of the newest call of ``sparse``

    @property
    def interval_s(self) -> F32:
        """(P,) mean interval between probes [s]; 0 until a path has been probed twice."""
        interval: F32 = self._interval.values
        return interval

    @property
    def windowed(self) -> Bool:
        """(P,) paths that are known to be probed so often that windows of them can be compared."""
        known: Bool = (self.interval_s > 0) & (self.interval_s <= self._sparse_s)
        return known

    def grow(self, paths: int) -> None:
        """Make room for new paths."""
        self._interval.grow(paths)

    def retain(self, rows: Bool) -> None:
        """Drop all other paths (P,)."""
        self._interval.retain(rows)

    def observe(self, second: int, rows: I64, last_seen: I64) -> None:
        """Learn from the paths that are probed in a second.

        rows       (n,) paths; last_seen (P,) second of their probe before this one, -1 for none
        """
        known = self.interval_s
        parts = self._parameters.of
        if len(rows) > max(self._parameters.few, len(known) / self._sparse_s):
            rows = rows[rows % parts == (second * _SCRAMBLE >> 16) % parts]
        before = last_seen[rows]
        rows, gap = rows[before >= 0], (second - before[before >= 0]).astype(np.float32)
        mean, weight = known[rows], np.float32(self._parameters.newest)
        capped = np.minimum(gap, np.float32(self._parameters.most_grown) * mean)
        known[rows] = np.where(mean > 0, mean + weight * (capped - mean), gap)

    def sparse(self, pair: I64, last_seen: I64, now_s: int) -> tuple[I64, F32]:
        """Rows (n,) of the sparse paths, and the rounds (n,) of their pairs: the time between two
        probes of any of a pair's five-tuples [s].

        pair       (P,) code of the endpoint pair; last_seen (P,) [s]; now_s [s]
        A path that was probed once has the cadence of its pair's other paths, or else that of the
        median path.
        """
        interval = self.interval_s
        known = interval > 0
        self.any_known = bool(known.any())
        if not (interval > self._sparse_s).any():
            return np.empty(0, np.int64), np.empty(0, np.float32)
        pairs = int(pair.max()) + 1
        filled = interval.astype(np.float64)
        if not known.all():  # else the most costly part of it is for nothing
            total = np.bincount(pair[known], interval[known], pairs)
            count = np.bincount(pair[known], minlength=pairs)
            usual = np.where(count > 0, total / np.maximum(count, 1), np.median(interval[known]))
            filled = np.where(known, interval, usual[pair])
        rows = np.flatnonzero(filled > self._sparse_s)
        live = now_s - last_seen <= self._parameters.live * filled
        some = slice(None) if live.all() else live
        rate = np.bincount(pair[some], 1.0 / filled[some], pairs)[pair[rows]]
        return rows, np.minimum(1.0 / np.maximum(rate, 1e-9), filled[rows]).astype(np.float32)

    def live(self, last_seen: I64, now_s: int, least_s: float, most_s: float) -> Bool:
        """(P,) paths that are still probed: the newest probe is no older than a few intervals.

        last_seen  (P,) [s]; least_s, most_s bound how old [s]
        """
        age, interval = now_s - last_seen, self.interval_s
        if not (self._parameters.live * interval > least_s).any():
            return age <= least_s
        known = interval > 0
        filled = interval
        if not known.all():
            filled = np.where(known, interval, np.median(interval[known]))
        out: Bool = age <= np.clip(self._parameters.live * filled, least_s, most_s)
        return out
