"""How likely a path's added latency is.

A path is later than its own past by the sum of what the culprits on it add, once or twice, plus
noise of its own spread and a spread in proportion to what is added: a queue is not equally long
for all. The residual is Gaussian with tails cut off, so that a wild path does not outvote the
others. Damage is the added latency in microseconds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from localizer.evidence import F64, I32, I64, Evidence
from localizer.strategies.hypothesis.candidates import Candidates
from localizer.strategies.hypothesis.rows import Grid, Rows

#: Residuals count for no more than so many times the path's noise.
CUT: Final = 5.0
#: Degrees of freedom of the residual's Student t: rushes of single hosts are common.
TAIL: Final = 4.0
#: Standard deviation of what a culprit adds to a path, as a share of what it adds on average. Were
#: it 0, the differences between the paths of one congested switch would be laid at other doors.
VARIES: Final = 0.25
#: A shift of a crossing below this is healthy, in units of the paths' median noise; a round trip
#: crosses most of what it crosses twice.
STILL: Final = 0.25
#: Share of five-tuples at which a candidate is tried beside "all of them".
SOME: Final = 0.4
#: So many times what the third source host reports at most is tried as a size.
ABSURD: Final = 16.0
WITNESSES: Final = 3
#: Sizes are tried in steps of this factor, as many as it takes, but no more than so many.
_FACTOR: Final = 1.8
_MOST_STEPS: Final = 20


class ShiftRows(Rows):
    """All paths that were compared with their past."""

    def __init__(self, evidence: Evidence, choices: Candidates) -> None:
        paths = np.flatnonzero(evidence.sent > 0)
        entries = choices.of_paths(evidence, paths)
        super().__init__(choices, entries, len(paths))
        self._excess = evidence.excess_us[paths]
        self._noise = evidence.noise_us[paths]
        self._largest = _largest(np.abs(self._excess), evidence.source[paths])

    def grid(self) -> Grid:
        healthy = STILL * float(np.median(self._noise)) if len(self._noise) else 1.0
        most = max(self._largest, 4 * healthy)
        steps = min(_MOST_STEPS, 2 + int(np.log(most / healthy) / np.log(_FACTOR)))
        sizes = np.concatenate([[healthy], np.geomspace(1.3 * healthy, most, steps)])
        some = sizes[len(sizes) // 2 :: 2]
        fine = np.meshgrid(sizes[len(sizes) // 3 :: 2], [0.75, 0.5, 0.35, 0.2])
        return Grid(
            np.concatenate([sizes, some]),
            np.concatenate([np.ones(len(sizes)), np.full(len(some), SOME)]),
            (fine[0].ravel(), fine[1].ravel()),
        )

    def damage(self, sizes: F64) -> F64:
        return sizes

    def log_f(self, rows: I64, damage: F64) -> F64:
        noise = self._noise[rows, None]
        spread = 1.0 + (VARIES * damage / noise) ** 2  # of the variance, over the noise alone
        off = ((self._excess[rows, None] - damage) / noise) ** 2 / spread
        tailed = (TAIL + 1.0) * np.log1p(off / TAIL)
        out: F64 = -0.5 * (np.minimum(tailed, CUT**2) + np.log(spread))
        return out

    def bulk(self, sizes: F64, shares: F64) -> F64:
        return np.zeros((len(self.choices), len(sizes)))

    def bulk_of(self, which: int, sizes: F64, shares: F64) -> F64:
        return np.zeros(len(sizes))


def _largest(excess_us: F64, source: I32) -> float:
    """The largest excess that sizes are tried up to [us], 1 at least.

    One host that reports absurd times must not stretch the grid until nothing real is left on it:
    what it says counts up to so many times what the third largest source host says.
    """
    hosts = np.zeros(int(source.max(initial=-1)) + 1)
    np.maximum.at(hosts, source, excess_us)
    top = np.sort(hosts)[::-1]
    largest = float(np.max(top, initial=1.0))
    return largest if len(top) < WITNESSES else min(largest, max(1.0, ABSURD * top[WITNESSES - 1]))
