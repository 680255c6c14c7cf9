"""Atoms of the paths: (weight, damage) of the routes that each path may take.

All culprits together damage a path by some amount, which depends on the route where that is not
known. Each culprit on an unknown route splits every atom of the path: it is crossed never, once or
twice. The likeliest atoms are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.evidence import F64, I64
from localizer.strategies.hypothesis.likelihood import Likelihood, log_sum, mixed
from schemas.compiled import native

Bool = npt.NDArray[np.bool_]

NEVER: Final = -1e30  # logarithm of no weight
_FEW: Final = (1, 4)  # atoms; of many paths, those with no more are computed apart
_MANY: Final = 128


class Crossing(NamedTuple):
    """How the paths of a culprit cross it.

    Paths (m,) that cross it so often for sure, and so often; paths (n,) that may cross it, and the
    logarithms (n, 3) of the probabilities that they cross it never, once, twice.
    """

    sure: I64
    times: F64
    maybe: I64
    chances: F64


class Atoms:
    """Up to ``most`` atoms of each of R paths.

    They are split and summed by the compiled helper, or without it by whole arrays.
    """

    def __init__(self, paths: int, most: int, likelihood: Likelihood) -> None:
        self._likelihood, self._most = likelihood, most
        self._weight = np.zeros((paths, 1))  # logarithms
        self._damage = np.zeros((paths, 1))

    def rebuild(self, rows: I64, culprits: Sequence[tuple[Crossing, float]]) -> None:
        """Set the atoms of some paths to what culprits make of them, given the crossings and the
        damage of one crossing of each."""
        self._weight[rows], self._damage[rows] = NEVER, 0.0
        self._weight[rows, 0] = 0.0
        if not culprits:
            return
        wanted = np.zeros(len(self._weight), bool)
        wanted[rows] = True
        crossings = [crossing for crossing, _ in culprits]
        damage = np.array([damage for _, damage in culprits])
        sure = np.concatenate([each.sure for each in crossings])
        added = np.concatenate([each.times for each in crossings])
        added *= np.repeat(damage, [len(each.sure) for each in crossings])
        here = wanted[sure]
        np.add.at(self._damage[:, 0], sure[here], added[here])
        maybe = np.concatenate([each.maybe for each in crossings])
        here = np.flatnonzero(wanted[maybe])
        maybe, chances = maybe[here], np.concatenate([each.chances for each in crossings])[here]
        damage = np.repeat(damage, [len(each.maybe) for each in crossings])[here]
        self._split(maybe, chances, damage)

    def split(self, crossing: Crossing, damage: float) -> None:
        """Let one more culprit change the atoms of its paths."""
        self._damage[crossing.sure] += damage * crossing.times[:, None]
        self._split(crossing.maybe, crossing.chances, np.full(len(crossing.maybe), damage))

    def saved(self, rows: I64) -> tuple[F64, F64]:
        """The atoms of some paths, for ``load``."""
        return self._weight[rows], self._damage[rows]

    def load(self, rows: I64, atoms: tuple[F64, F64]) -> None:
        """Set the atoms of some paths to what they were."""
        width = atoms[0].shape[1]
        self._weight[rows, width:] = NEVER
        self._weight[rows, :width], self._damage[rows, :width] = atoms

    def live(self, rows: I64) -> tuple[F64, F64]:
        """(n, m) weights and damages of the atoms that some paths have; the likeliest come first,
        those without weight last."""
        weight = self._weight[rows]
        used = max(int((weight > NEVER / 2).sum(axis=1).max(initial=1)), 1)
        return weight[:, :used], self._damage[rows, :used]

    def alike(self, rows: I64) -> Iterator[tuple[I64, F64, F64]]:
        """Parts of some paths that have about as many atoms: indices (n,) into ``rows``, and as
        ``live`` their weights and damages. Most paths cross no culprit and have a single one.
        """
        if len(rows) < _MANY:
            yield np.arange(len(rows)), *self.live(rows)
            return
        weight = self._weight[rows]
        count = (weight > NEVER / 2).sum(axis=1)
        least = 0
        for most in (*_FEW, weight.shape[1]):
            at = np.flatnonzero((count > least) & (count <= most))
            if len(at):
                yield at, weight[at, :most], self._damage[rows[at], :most]
            least = max(least, most)

    def posterior(self) -> tuple[F64, F64]:
        """(R, m) weight of each atom given what was measured, and its damage."""
        likely = self._weight + self._likelihood.log_f(np.arange(len(self._weight)), self._damage)
        return np.exp(likely - log_sum(likely.copy())[:, None]), self._damage

    def likely(self, rows: I64, more: F64) -> F64:
        """(n, G) ln likelihood of some paths if their damage grows by ``more`` (G,)."""
        out = np.empty((len(rows), len(more)))
        if (helper := native.used()) is not None:
            helper.mix_atoms(
                self._likelihood.described(), self._weight, self._damage,
                np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(more), out,
            )  # fmt: skip
            return out
        for at, weight, damage in self.alike(rows):
            likely = self._likelihood.log_more(rows[at], damage, more)
            likely += weight[:, :, None]
            out[at] = likely[:, 0] if weight.shape[1] == 1 else log_sum(likely)
        return out

    def gain(self, rows: I64, once: F64, twice: F64, crossed: F64, shares: F64) -> F64:
        """(n, G) log-likelihood ratio of paths if a candidate were bad.

        rows         (n,) paths, equal ones beside each other
        once, twice  (n,) probabilities that they cross it once, twice
        crossed      (G,) damage of a crossing
        shares       (G,) of five-tuples that are hit
        """
        if (helper := native.used()) is not None:
            out = np.empty((len(rows), len(crossed)))
            helper.atoms_gain(
                self._likelihood.described(), self._weight, self._damage, (rows, once, twice),
                np.ascontiguousarray(crossed), np.ascontiguousarray(shares), out,
            )  # fmt: skip
            return out
        paths, back = np.unique(rows, return_inverse=True)
        likely = self.likely(paths, np.concatenate([[0.0], crossed, 2 * crossed]))
        one, two = np.split(likely[:, 1:] - likely[:, :1], 2, axis=1)
        return mixed(once, twice, one, two, shares, back)

    def _split(self, place: I64, chances: F64, damage: F64) -> None:
        """Split the atoms of some paths (n,), one after another: by the logarithms (n, 3) of their
        chances to cross a culprit, which damages them by so much (n,) at each crossing."""
        if not len(place):
            return
        if (helper := native.used()) is None:
            for part in _one_each(place):
                self._split_each(place[part], chances[part], damage[part])
            return
        self._widen(self._most)
        helper.split_atoms(
            self._likelihood.described(), self._weight, self._damage,
            np.ascontiguousarray(place, np.int64), np.ascontiguousarray(chances), damage,
        )  # fmt: skip

    def _split_each(self, place: I64, chances: F64, damage: F64) -> None:
        """As ``_split``, of paths that differ."""
        ways = 3 if (chances[:, 2] > NEVER / 2).any() else 2
        weight, before = self.live(place)
        weight = (weight[:, None, :] + chances[:, :ways, None]).reshape(len(place), -1)
        added = damage[:, None] * np.arange(ways)
        before = (before[:, None, :] + added[:, :, None]).reshape(len(place), -1)
        weight = np.maximum(weight, NEVER)
        likely = weight + self._likelihood.log_f(place, before)
        best = np.argsort(-likely, axis=1)[:, : self._most]
        self._widen(best.shape[1])
        rows = np.arange(len(place))[:, None]
        self.load(place, (weight[rows, best], before[rows, best]))

    def _widen(self, size: int) -> None:
        """Make room for so many atoms of each path."""
        if (more := size - self._weight.shape[1]) > 0:
            self._weight = np.pad(self._weight, ((0, 0), (0, more)), constant_values=NEVER)
            self._damage = np.pad(self._damage, ((0, 0), (0, more)))


def _one_each(place: I64) -> list[I64]:
    """Indices (n,) into ``place`` in parts that hold every value once at most, in order."""
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    count = np.diff(starts, append=len(place))
    turn = np.arange(len(place)) - np.repeat(starts, count)
    return [order[turn == each] for each in range(int(count.max(initial=0)))]
