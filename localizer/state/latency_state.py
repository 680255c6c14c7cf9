"""Latency of the paths of one fabric: what is usual, and how the newest window deviates. No I/O.

Most paths are compared by windows of their answers; *sparse* ones, which are probed too rarely for
that, by their newest answers one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.baselines.latency import LatencyBaseline
from localizer.baselines.sparse_latency import SparseLatency
from localizer.detectors.latency.deviation import LatencyDeviation, deviation, lasting
from localizer.detectors.latency.sparse_deviation import with_persistent, with_sparse
from localizer.detectors.latency.sparse_evidence import SparseEvidence
from localizer.options import Options

Bool = npt.NDArray[np.bool_]
F32 = npt.NDArray[np.float32]
I8 = npt.NDArray[np.int8]
I64 = npt.NDArray[np.int64]


class SparsePaths(NamedTuple):
    """Paths without windows: rows (n,), code of the pair of each (n,), and the pair's round [s]
    (n,)."""

    rows: I64
    pair: I64
    round_s: F32


class LatencyState:
    """What is usual, and the deviation of the newest window.

    baseline    windows of each path
    answers     answers of the paths that are sparse, or may be
    deviation   of the window that ends with the newest second; None without one
    lasting     the same of paths that were slow in each of several windows; None without
    persistent  the same of sparse paths that are slow in each of several answers; None without any
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self.baseline = LatencyBaseline(options.timing.window_s, options.baselines.latency)
        self.answers = SparseLatency(options.baselines.sparse_latency)
        self.deviation: LatencyDeviation | None = None
        self.persistent: LatencyDeviation | None = None
        self.lasting: LatencyDeviation | None = None
        self._sparse: SparseEvidence | None = None  # of the newest window, without answers

    def clear(self) -> None:
        """Forget all windows and answers: event time jumped."""
        self.baseline.clear()
        self.answers.clear()
        self._sparse = None

    def drop_deviations(self) -> None:
        """Forget the newest window's deviations, not what is usual."""
        self.deviation = self.persistent = self.lasting = None

    def learn_answers(self, second: int, rows: I64, rtt_us: F32, *, every_path: bool) -> None:
        """Learn answers (n,) [us] of some paths (n,), 0 where absent.

        every_path  keep those of every path: before cadences are known any path may be sparse
        """
        if self._sparse is None and not every_path:
            return
        rows, rtt_us = rows[rtt_us > 0], rtt_us[rtt_us > 0]
        # The first answers of a new path are kept, whatever its cadence will turn out to be.
        window_s = np.full(len(rows), self._options.baselines.sparse_latency.longest_s)
        slow_us = np.full(len(rows), np.nan)
        if self._sparse is not None:
            known = np.flatnonzero(rows < len(self._sparse.slow_us))
            window_s[known] = self._sparse.window_s[rows[known]]
            slow_us[known] = self._sparse.slow_us[rows[known]]
        kept = window_s > 0
        self.answers.add(second, rows[kept], rtt_us[kept], window_s[kept], slow_us[kept])

    def compare(
        self, end_s: int, rows: I64, features: F32, layer: I8, sparse: SparsePaths, *,
        any_known: bool,
    ) -> None:  # fmt: skip
        """Compare a window that ends there with what is usual, then learn it.

        rows       (n,) paths that are not sparse, rising
        features   (n, F) as in FEATURES [us]; NaN where a window holds too little
        layer      (P,) code of the layer
        any_known  whether the cadence of any path is known
        """
        detectors = self._options.detectors
        found = deviation(
            self.baseline, end_s, features, layer, detectors.latency, detectors.lof, rows
        )
        self.lasting = lasting(found, self.baseline, sparse.rows, detectors.latency)
        self.baseline.learn(
            end_s, features, found.flagged, rows if len(rows) < len(layer) else None
        )
        if len(sparse.rows):
            found = self._with_sparse(found, end_s, layer, sparse)
        elif any_known:
            self.answers.clear()
        self._sparse = None if found.sparse is None else found.sparse.bounds()
        self.deviation = found

    def _with_sparse(
        self, dense: LatencyDeviation, end_s: int, layer: I8, sparse: SparsePaths
    ) -> LatencyDeviation:
        """Add the deviation of the sparse paths."""
        rows, answers = sparse.rows, self.answers
        reference = answers.reference(end_s, rows, sparse.pair, self.baseline.middle[rows])
        self.baseline.adopt(rows, reference.usual_us)
        evidence = (
            end_s, rows, answers.window_s(sparse.round_s), answers.answers(rows), reference, layer,
            self._options.detectors.latency, answers.epoch_s,
        )  # fmt: skip
        self.persistent = with_persistent(dense, *evidence)
        return with_sparse(dense, *evidence)

    def sparse_rows(self, rows: I64) -> I64:
        """Which of these paths (n,) have no windows: indices into them."""
        if self._sparse is None:
            return np.empty(0, np.int64)
        return np.flatnonzero(self._sparse.window_s[rows] > 0)

    def retain(self, rows: Bool) -> None:
        """Drop all paths but those of a mask (P,)."""
        self.baseline.retain(rows)
        self.answers.retain(rows)
        if self._sparse is not None:
            self._sparse = self._sparse.bounds(rows)
        self.drop_deviations()
