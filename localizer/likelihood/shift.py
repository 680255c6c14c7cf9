"""How likely a path's added latency is.

A path is later than its own past by the sum of what the culprits on it add, once or twice, plus
noise of its own spread; the residual is Gaussian with tails cut off, so that a wild path does not
outvote the others. Damage is the added latency in microseconds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from localizer.evidence import F64, I64, Evidence
from localizer.likelihood.candidates import Candidates
from localizer.likelihood.rows import Grid, Rows

#: Residuals count for no more than so many times the path's noise.
CUT: Final = 5.0
#: A shift of a crossing below this is healthy, in units of the paths' median noise.
STILL: Final = 0.5
#: Share of five-tuples at which a candidate is tried beside "all of them".
SOME: Final = 0.4
_STEPS: Final = 11


class ShiftRows(Rows):
    """All paths that were compared with their past."""

    def __init__(self, evidence: Evidence, choices: Candidates) -> None:
        paths = np.flatnonzero(evidence.sent > 0)
        entries = choices.of_paths(evidence, paths)
        super().__init__(choices, entries, len(paths))
        self._excess = evidence.excess_us[paths]
        self._noise = evidence.noise_us[paths]
        self._largest = float(np.max(np.abs(self._excess), initial=1.0))

    def grid(self) -> Grid:
        healthy = STILL * float(np.median(self._noise)) if len(self._noise) else 1.0
        most = max(self._largest, 4 * healthy)
        sizes = np.concatenate([[healthy], np.geomspace(1.3 * healthy, most, _STEPS - 1)])
        some = sizes[_STEPS // 2 :: 2]
        fine = np.meshgrid(sizes[_STEPS // 3 :: 2], [0.75, 0.5, 0.35, 0.2])
        return Grid(
            np.concatenate([sizes, some]),
            np.concatenate([np.ones(_STEPS), np.full(len(some), SOME)]),
            (fine[0].ravel(), fine[1].ravel()),
        )

    def damage(self, sizes: F64) -> F64:
        return sizes

    def log_f(self, rows: I64, damage: F64) -> F64:
        off = (self._excess[rows, None] - damage) / self._noise[rows, None]
        return -0.5 * np.minimum(off**2, CUT**2)

    def bulk(self, sizes: F64, shares: F64) -> F64:
        return np.zeros((len(self.choices), len(sizes)))

    def bulk_of(self, which: int, sizes: F64, shares: F64) -> F64:
        return np.zeros(len(sizes))
