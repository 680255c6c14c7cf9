"""Histograms of p-values on clean input, and their distance from a uniform distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

BINS_A_DECADE: Final = 10
DECADES: Final = 12
#: Seconds between two counted tests of a family: overlapping windows are not independent.
APART_S: Final = 30


class PValueRecord(Protocol):
    """What the localizer passes to ``Options.on_p``; see localizer.state.PValues."""

    @property
    def family(self) -> str: ...
    @property
    def second(self) -> int: ...
    @property
    def p(self) -> F64: ...
    @property
    def above(self) -> F64: ...


class Collector:
    """Counts -log10 p of each family in bins of a tenth, the last one open.

    Counts are discrete, so p is drawn evenly between P(more) and P(as much or more), which is
    uniform under the null hypothesis. ``add`` is the callback for ``Options.on_p``.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 0xCA1])
        self._last: dict[str, int] = {}
        self._counts: dict[str, npt.NDArray[np.int64]] = {}

    def add(self, record: PValueRecord) -> None:
        """Count one second's tests of a family, unless it was counted less than APART_S ago."""
        if record.second - self._last.get(record.family, -APART_S) < APART_S:
            return
        self._last[record.family] = record.second
        drawn = record.above + self._rng.random(len(record.p)) * (record.p - record.above)
        depth = -np.log10(np.clip(drawn, 10.0 ** -(DECADES + 1), 1.0))
        last = BINS_A_DECADE * DECADES
        bins = np.minimum((depth * BINS_A_DECADE).astype(np.int64), last)
        counts = self._counts.setdefault(record.family, np.zeros(last + 1, np.int64))
        counts += np.bincount(bins, minlength=last + 1)

    @property
    def histograms(self) -> dict[str, list[int]]:
        """Family -> counts per bin, without the empty bins at the end."""
        return {
            family: np.trim_zeros(counts, "b").tolist() for family, counts in self._counts.items()
        }


def added(histograms: Iterable[dict[str, list[int]]]) -> dict[str, list[int]]:
    """The sum of the histograms of several trials."""
    out: dict[str, list[int]] = {}
    for each in histograms:
        for family, counts in each.items():
            known = out.get(family, [])
            longest = max(len(known), len(counts))
            out[family] = [
                sum(c[place] for c in (known, counts) if place < len(c))
                for place in range(longest)
            ]  # fmt: skip
    return out


def quantiles(counts: Sequence[int]) -> tuple[F64, F64]:
    """QQ plot: expected and observed -log10 p at the lower ends of the non-empty bins."""
    every = np.asarray(counts, float)
    at_least = every[::-1].cumsum()[::-1]
    kept = np.flatnonzero(every > 0)
    return -np.log10(at_least[kept] / at_least[0]), kept / BINS_A_DECADE


def ratio(counts: Sequence[int], decade: int) -> float:
    """Observed over expected number of p <= 10^-decade; 1 is exact, less is conservative."""
    deep = sum(counts[decade * BINS_A_DECADE :])
    return deep / sum(counts) * 10.0**decade
