"""The chosen culprits, and the gain of every candidate given them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from localizer.evidence import F64, I64
from localizer.strategies.hypothesis.fitting import Fitting
from localizer.strategies.hypothesis.parameters import DEFAULT, SearchParameters
from localizer.strategies.hypothesis.rows import Culprit, Rows

_BLOCK: Final = 1 << 16  # sorts whose gains are held at once

_Fit = tuple[int, float, float]  # number, size and share of a culprit


class _Snapshot(NamedTuple):
    """Culprits, the atoms that they make, and what they are worth at a price."""

    culprits: list[Culprit]
    atoms: tuple[F64, F64]
    worth: tuple[float, float] | None


class Without(NamedTuple):
    """One culprit seen from the others: as if it were not chosen.

    score  (K,) nats of every candidate above what a healthy component could gain
    worth  nats that the culprit adds, above a healthy component's; with a bonus if its other
           direction is chosen too
    """

    score: F64
    worth: float


class Selection:
    """Culprits and gains of one search.

    Gains are sums over paths. Paths whose atoms are being changed are taken out of the sums first
    (``_open``) and come back once, when the gains are read (``_settle``); None: they are
    all out.
    """

    _gains: F64 | None

    def __init__(
        self, rows: Rows, prior: F64, parameters: SearchParameters = DEFAULT.search
    ) -> None:
        self.rows = rows
        self.prior = prior
        self._parameters = parameters
        self.culprits: list[Culprit] = []
        self._bulks: dict[tuple[int, float, float], float] = {}
        self._worth: tuple[float, float] | None = None
        self._without: dict[int, tuple[frozenset[_Fit], Without]] = {}
        self.start_again()

    def score(self) -> F64:
        """(K,) nats above what a healthy component could gain."""
        return self._score(self._settle())

    def _score(self, gains: F64) -> F64:
        healthy = np.maximum(gains[:, 0], 0.0)
        best: F64 = (gains[:, 1:] - self._handicap[1:]).max(axis=1) - healthy
        return best

    def best(self) -> tuple[int, float] | None:
        """The candidate to add next, and its nats; None when nothing would help.

        A link that is bad one way is often bad the other way too, at another rate.
        """
        return self._best(self.score(), self.culprits)

    def best_instead(self, culprit: Culprit) -> tuple[int, float] | None:
        """The candidate to add if a culprit were not chosen, and its nats."""
        others = [other for other in self.culprits if other is not culprit]
        return self._best(self.without(culprit).score.copy(), others)

    def _best(self, score: F64, culprits: list[Culprit]) -> tuple[int, float] | None:
        chosen = np.array([culprit.which for culprit in culprits], np.int64)
        twin = self.rows.choices.twin[chosen]
        score[twin[twin >= 0]] += self._parameters.companion
        worth = np.where(score > 0, score + self.prior, -np.inf)
        worth[chosen] = -np.inf
        if not len(worth) or not np.isfinite(worth.max()):
            return None
        which = int(np.argmax(worth))
        return which, float(score[which])

    def worth_of(self, culprit: Culprit) -> float:
        """Nats that a chosen culprit adds to the others (see ``Without``)."""
        known = self._without.get(culprit.which)
        if known is not None and known[0] == self._fits():
            return known[1].worth
        with self._left_out(culprit) as others:
            return self._worth_among(culprit, others)

    def without(self, culprit: Culprit) -> Without:
        """What the paths of a chosen culprit say if it is not chosen; nothing is changed."""
        known, fits = self._without.get(culprit.which), self._fits()
        if known is not None and known[0] == fits:
            return known[1]
        touched, gains = self.rows.touched(culprit.which), self._settle().copy()
        self._sum(gains, touched, -1.0)
        with self._left_out(culprit) as others:
            self._sum(gains, touched, 1.0)
            out = Without(self._score(gains), self._worth_among(culprit, others))
        self._without[culprit.which] = fits, out
        return out

    def score_without(self, culprits: Sequence[Culprit]) -> F64:
        """(K,) ``Without.score`` if none of some culprits is chosen; nothing is changed."""
        if len(culprits) == 1:
            return self.without(culprits[0]).score
        touched, gains = self._touched(culprits), self._settle().copy()
        self._sum(gains, touched, -1.0)
        with self._left_out(*culprits):
            self._sum(gains, touched, 1.0)
        return self._score(gains)

    def worth_instead(self, culprits: Sequence[Culprit], candidates: Sequence[int]) -> list[float]:
        """Nats that each of some candidates adds if it is chosen in place of some culprits, fitted
        as finely as they are; nothing is changed."""
        with self._left_out(*culprits) as others:
            worth = []
            for which in candidates:
                self._fitting.fit(candidate := Culprit(which, 0.5))
                worth.append(self._worth_among(candidate, others))
        return worth

    def _touched(self, culprits: Sequence[Culprit]) -> I64:
        """Paths that any of some culprits may be on, sorted."""
        if len(culprits) == 1:  # nearly always; a search asks for it all the time
            return self.rows.touched(culprits[0].which)
        return np.unique(np.concatenate([self.rows.touched(each.which) for each in culprits]))

    @contextmanager
    def _left_out(self, *culprits: Culprit) -> Iterator[list[Culprit]]:
        """The other culprits, whose atoms alone the paths of these have meanwhile."""
        touched = self._touched(culprits)
        others = [other for other in self.culprits if other not in culprits]
        atoms = self.rows.atoms.saved(touched)
        self.rows.rebuild(touched, others)
        yield others
        self.rows.atoms.load(touched, atoms)

    def _fits(self) -> frozenset[_Fit]:
        return frozenset((each.which, each.size, each.share) for each in self.culprits)

    def _worth_among(self, culprit: Culprit, others: list[Culprit]) -> float:
        """Nats that a culprit adds, whose paths have atoms of the others only."""
        twin = int(self.rows.choices.twin[culprit.which])
        known = twin >= 0 and any(other.which == twin for other in others)
        bonus = self._parameters.companion if known else 0.0
        return self._fitting.above_healthy(culprit) + bonus

    def backed(self, culprit: Culprit, worth: list[tuple[Culprit, float]], price: float) -> bool:
        """Whether a culprit and its twin, without their bonus, pay the price of one: two directions
        that explain nothing must not support each other."""
        twin = int(self.rows.choices.twin[culprit.which])
        pair = [gain for other, gain in worth if other.which in (culprit.which, twin)]
        return (
            len(pair) < 2
            or sum(max(gain - self._parameters.companion, 0.0) for gain in pair) >= price
        )

    def challengers(self) -> list[int]:
        """Candidates that would still explain something, most first."""
        score = self.score()
        score[[culprit.which for culprit in self.culprits]] = 0.0
        self._gains = None  # they are not read any more
        order = np.argsort(-score)[: self._parameters.challengers]
        return [int(which) for which in order if score[which] > self._parameters.noticed]

    def objective(self, price: float) -> float:
        """Log-likelihood less the price of every culprit."""
        if self._worth is not None and self._worth[0] == price:
            return self._worth[1]
        chosen = {culprit.which for culprit in self.culprits}
        twins = sum(int(self.rows.choices.twin[which]) in chosen for which in chosen)
        bonus = self._parameters.companion * twins / 2 + float(self.prior[list(chosen)].sum())
        bulk = sum(self._bulk_of(culprit) for culprit in self.culprits)
        worth = self.rows.total() + bulk + bonus - price * len(chosen)
        self._worth = (price, worth)
        return worth

    def _bulk_of(self, culprit: Culprit) -> float:
        known = self._bulks.get((culprit.which, culprit.size, culprit.share))
        if known is None:
            each = self.rows.bulk_of(
                culprit.which, np.array([culprit.size]), np.array([culprit.share])
            )
            known = self._bulks[culprit.which, culprit.size, culprit.share] = float(each[0])
        return known

    def snapshot(self) -> _Snapshot:
        """The culprits as they are."""
        culprits = [replace(culprit) for culprit in self.culprits]
        return _Snapshot(culprits, self.rows.atoms.saved(np.arange(self.rows.paths)), self._worth)

    def restore(self, known: _Snapshot) -> None:
        """Back to a snapshot."""
        self.culprits, self._gains, self._worth = known.culprits, None, known.worth
        self.rows.atoms.load(np.arange(self.rows.paths), known.atoms)

    def add(self, which: int) -> Culprit:
        """Choose a candidate and fit everything that it shares paths with again."""
        culprit = Culprit(which, 0.5)
        self._fitting.fit(culprit)
        self.put_back(culprit)
        if neighbours := self.neighbours(culprit):
            for other in [*neighbours, culprit]:
                self.refit(other)
        return culprit

    def refit_all(self) -> None:
        """Fit the rate of each culprit again, one after another."""
        for culprit in list(self.culprits):
            self.refit(culprit)

    def refit(self, culprit: Culprit) -> None:
        """Fit the rate of a culprit again, given all others."""
        self.remove(culprit)
        self._fitting.adjust(culprit)
        self.put_back(culprit)

    def remove(self, culprit: Culprit) -> None:
        """Take a culprit back."""
        touched = self.rows.touched(culprit.which)
        self._open(touched)
        self.culprits = [other for other in self.culprits if other is not culprit]
        self.rows.rebuild(touched, self.culprits)

    def put_back(self, culprit: Culprit) -> None:
        """Choose a culprit as it is."""
        self._open(self.rows.touched(culprit.which))
        self.culprits.append(culprit)
        self.rows.split(culprit)

    def start_again(self) -> None:
        """Compute everything anew: what is healthy has changed, or the culprits have."""
        self._grid = self.rows.grid()
        self._handicap = np.where(self._grid.shares < 1, self._parameters.partial, 0.0)
        every = np.arange(self.rows.paths)
        self.rows.rebuild(every, self.culprits)
        self._bulk = self.rows.bulk(self._grid.sizes, self._grid.shares)
        self._impossible = self.rows.impossible()
        self._fitting = Fitting(self.rows, self._grid, self._impossible, self._parameters.partial)
        self._gains = None
        self._without.clear()

    def _open(self, rows: I64) -> None:
        self._worth = None
        if self._gains is None:
            return
        fresh = rows[~self._taken_out[rows]]
        if 2 * (len(fresh) + int(self._taken_out.sum())) > self.rows.paths:
            self._gains = None  # cheaper than to take most of them out
        else:
            self._sum(self._gains, fresh, -1.0)
            self._taken_out[fresh] = True

    def _settle(self) -> F64:
        if self._gains is None:
            self._gains = self._bulk.copy()
            self._taken_out = np.ones(self.rows.paths, bool)
        self._sum(self._gains, np.flatnonzero(self._taken_out), 1.0)
        self._taken_out[:] = False
        return self._gains

    def _sum(self, gains: F64, rows: I64, sign: float) -> None:
        sorts = self.rows.sorts_of(rows)
        for start in range(0, len(sorts), _BLOCK):
            part = sorts[start : start + _BLOCK]
            gain = self.rows.gain(part, self._grid.sizes, self._grid.shares)
            gain[self._impossible[self.rows.rows_of(part)], 0] = 0.0
            gains += self.rows.members(part).T @ (sign * gain)

    def neighbours(self, culprit: Culprit) -> list[Culprit]:
        """Culprits that share so much of their paths' trouble with this one that their rates may
        change."""
        mine = np.zeros(self.rows.paths, bool)
        mine[self.rows.touched(culprit.which)] = True
        weights = self.rows.weights()
        out = []
        for other in self.culprits:
            entries = self.rows.of(other.which)
            touched = self.rows.touched(other.which)
            crossing = self.rows.entries.once[entries] + self.rows.entries.twice[entries]
            crossing *= weights[touched]
            shared = float(crossing[mine[touched]].sum())
            if other is not culprit and shared > self._parameters.shared * float(crossing.sum()):
                out.append(other)
        return out
