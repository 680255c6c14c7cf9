"""The size and share of one candidate that fit its paths best, beside the chosen culprits."""

from __future__ import annotations

import numpy as np

from localizer.evidence import F64
from localizer.strategies.hypothesis.rows import Bool, Culprit, Grid, Rows


class Fitting:
    """Fits candidates to the atoms that paths have at the moment.

    impossible  (R,) paths whose trouble no healthy component causes
    partial     nats by which a share of five-tuples must beat all of them
    """

    def __init__(self, rows: Rows, grid: Grid, impossible: Bool, partial: float) -> None:
        self._rows = rows
        self._grid = grid
        self._impossible = impossible
        self._partial = partial

    def fit(self, culprit: Culprit) -> None:
        """The likeliest size and share of a culprit that is not among the chosen now."""
        sizes = self._grid.sizes[self._grid.shares == 1]
        whole = self.gain(culprit, sizes, np.ones(len(sizes)))
        at = int(np.argmax(whole))
        finer = np.linspace(sizes[max(at - 1, 0)], sizes[min(at + 1, len(sizes) - 1)], 9)
        fine = self.gain(culprit, finer, np.ones(9))
        culprit.size, culprit.share = float(finer[int(np.argmax(fine))]), 1.0
        partial = self.gain(culprit, *self._grid.partial)
        if partial.max() > fine.max() + self._partial:
            best = int(np.argmax(partial))
            culprit.size, culprit.share = (float(values[best]) for values in self._grid.partial)

    def adjust(self, culprit: Culprit) -> None:
        """Fit the size of a culprit again, near where it is."""
        near = self._rows.near(culprit.size)
        fits = self.gain(culprit, near, np.full(len(near), culprit.share))
        culprit.size = float(near[int(np.argmax(fits))])

    def gain(self, culprit: Culprit, sizes: F64, shares: F64) -> F64:
        """(G,) nats of one candidate at any sizes and shares."""
        return self._total(culprit, sizes, shares, healthy_first=False)

    def above_healthy(self, culprit: Culprit) -> float:
        """Nats of a culprit as it is above what a healthy component could gain."""
        sizes = np.array([self._grid.sizes[0], culprit.size])
        shares = np.array([1.0, culprit.share])
        healthy, gain = self._total(culprit, sizes, shares, healthy_first=True).tolist()
        handicap = self._partial if culprit.share < 1 else 0.0
        return float(gain - max(healthy, 0.0) - handicap)

    def _total(self, culprit: Culprit, sizes: F64, shares: F64, *, healthy_first: bool) -> F64:
        """As ``gain``.

        healthy_first  the first size is what a healthy component may have: paths whose trouble none
                       of them causes say nothing for it
        """
        sorts = self._rows.sorts(self._rows.of(culprit.which))
        gain = self._rows.gain(sorts, sizes, shares)
        if healthy_first:
            gain[self._impossible[self._rows.rows_of(sorts)], 0] = 0.0
        total: F64 = self._rows.bulk_of(culprit.which, sizes, shares) + gain.sum(axis=0)
        return total
