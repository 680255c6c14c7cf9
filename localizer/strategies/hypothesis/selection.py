"""The chosen hits, and the gain of every candidate given them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from localizer.evidence import F64, I64
from localizer.strategies.hypothesis.rows import Culprit, Rows

#: Nats by which a share of five-tuples must beat the simpler "all of them".
PARTIAL = 4.0
#: Nats that a link's other direction is likelier to be bad once one is known to be.
COMPANION = 5.0
#: So many candidates that were left over, if each would bring so many nats, may challenge those
#: that were chosen.
CHALLENGERS = 16
NOTICED = 2.0
_BLOCK = 1 << 16  # sorts whose gains are held at once
#: Share of its paths in common from which on a culprit's rate is fitted again.
SHARED = 0.2


class _Snapshot(NamedTuple):
    """Hits, the atoms that they make, and what they are worth at a price."""

    hits: list[Culprit]
    atoms: tuple[F64, F64]
    worth: tuple[float, float] | None


class Selection:
    """Hits and gains of one search.

    Gains are sums over paths. Paths whose atoms are being changed are taken out of the sums first
    (``_open``) and come back once, when somebody asks for the gains (``_settle``); None: they are
    all out.
    """

    _gains: F64 | None

    def __init__(self, rows: Rows, prior: F64) -> None:
        self.rows = rows
        self.prior = prior
        self.hits: list[Culprit] = []
        self._bulks: dict[tuple[int, float, float], float] = {}
        self._worth: tuple[float, float] | None = None
        self.start_again()

    def score(self) -> F64:
        """(K,) nats above what a healthy component could gain."""
        gains = self._settle()
        healthy = np.maximum(gains[:, 0], 0.0)
        best: F64 = (gains[:, 1:] - self._handicap[1:]).max(axis=1) - healthy
        return best

    def best(self) -> tuple[int, float] | None:
        """The candidate to add next, and its nats; None when nothing would help.

        A link that is bad one way is often bad the other way too, at another rate.
        """
        score = self.score()
        chosen = np.array([hit.which for hit in self.hits], np.int64)
        twin = self.rows.choices.twin[chosen]
        score[twin[twin >= 0]] += COMPANION
        worth = np.where(score > 0, score + self.prior, -np.inf)
        worth[chosen] = -np.inf
        if not len(worth) or not np.isfinite(worth.max()):
            return None
        which = int(np.argmax(worth))
        return which, float(score[which])

    def worth_of(self, hit: Culprit) -> float:
        """Nats that a chosen hit adds to the others, above what a healthy component could; with a
        bonus if its other direction is chosen too."""
        touched = self.rows.touched(hit.which)
        others = [other for other in self.hits if other is not hit]
        atoms = self.rows.saved(touched)
        self.rows.rebuild(touched, others)
        sizes, shares = np.array([self._grid.sizes[0], hit.size]), np.array([1.0, hit.share])
        healthy, gain = self._gain(hit, sizes, shares).tolist()
        self.rows.load(touched, atoms)
        twin = int(self.rows.choices.twin[hit.which])
        known = twin >= 0 and any(other.which == twin for other in others)
        handicap = PARTIAL if hit.share < 1 else 0.0
        return float(gain - max(healthy, 0.0) - handicap + COMPANION * known)

    def backed(self, hit: Culprit, worth: list[tuple[Culprit, float]], price: float) -> bool:
        """Whether a hit and its twin, without the bonus that each lends the other, pay the price
        of one: two directions that explain nothing must not vouch for each other."""
        twin = int(self.rows.choices.twin[hit.which])
        pair = [gain for other, gain in worth if other.which in (hit.which, twin)]
        return len(pair) < 2 or sum(max(gain - COMPANION, 0.0) for gain in pair) >= price

    def challengers(self) -> list[int]:
        """Candidates that would still explain something, most first."""
        score = self.score()
        score[[hit.which for hit in self.hits]] = 0.0
        self._gains = None  # nobody asks for them any more
        order = np.argsort(-score)[:CHALLENGERS]
        return [int(which) for which in order if score[which] > NOTICED]

    def objective(self, price: float) -> float:
        """Log-likelihood less the price of every culprit."""
        if self._worth is not None and self._worth[0] == price:
            return self._worth[1]
        chosen = {hit.which for hit in self.hits}
        twins = sum(int(self.rows.choices.twin[which]) in chosen for which in chosen)
        bonus = COMPANION * twins / 2 + float(self.prior[list(chosen)].sum())
        bulk = sum(self._bulk_of(hit) for hit in self.hits)
        worth = self.rows.total() + bulk + bonus - price * len(chosen)
        self._worth = (price, worth)
        return worth

    def _bulk_of(self, hit: Culprit) -> float:
        known = self._bulks.get((hit.which, hit.size, hit.share))
        if known is None:
            each = self.rows.bulk_of(hit.which, np.array([hit.size]), np.array([hit.share]))
            known = self._bulks[hit.which, hit.size, hit.share] = float(each[0])
        return known

    def snapshot(self) -> _Snapshot:
        """The hits as they are."""
        hits = [replace(hit) for hit in self.hits]
        return _Snapshot(hits, self.rows.saved(np.arange(self.rows.paths)), self._worth)

    def restore(self, known: _Snapshot) -> None:
        """Back to a snapshot."""
        self.hits, self._gains, self._worth = known.hits, None, known.worth
        self.rows.load(np.arange(self.rows.paths), known.atoms)

    def add(self, which: int) -> Culprit:
        """Choose a candidate and fit everything that it shares paths with again."""
        hit = Culprit(which, 0.5)
        self._insert(hit)
        if neighbours := self.neighbours(hit):
            for other in [*neighbours, hit]:
                self.refit(other)
        return hit

    def refit(self, hit: Culprit) -> None:
        """Fit the rate of a hit again, given all others."""
        self.remove(hit)
        self._adjust(hit)
        self.put_back(hit)

    def remove(self, hit: Culprit) -> None:
        """Take a hit back."""
        touched = self.rows.touched(hit.which)
        self._open(touched)
        self.hits = [other for other in self.hits if other is not hit]
        self.rows.rebuild(touched, self.hits)

    def put_back(self, hit: Culprit) -> None:
        """Choose a hit as it is."""
        self._open(self.rows.touched(hit.which))
        self.hits.append(hit)
        self.rows.split(hit)

    def _insert(self, hit: Culprit) -> None:
        self._fit(hit)
        self.put_back(hit)

    def start_again(self) -> None:
        """Compute everything anew: what is healthy has changed, or the hits have."""
        self._grid = self.rows.grid()
        self._handicap = np.where(self._grid.shares < 1, PARTIAL, 0.0)
        every = np.arange(self.rows.paths)
        self.rows.rebuild(every, self.hits)
        self._bulk = self.rows.bulk(self._grid.sizes, self._grid.shares)
        self._gains = None

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
            gains += self.rows.members(part).T @ (sign * gain)

    def neighbours(self, hit: Culprit) -> list[Culprit]:
        """Hits that share so many of their paths with this one that their rates may change."""
        mine = np.zeros(self.rows.paths, bool)
        mine[self.rows.touched(hit.which)] = True
        out = []
        for other in self.hits:
            entries = self.rows.of(other.which)
            crossing = self.rows.entries.once[entries] + self.rows.entries.twice[entries]
            shared = float(crossing[mine[self.rows.touched(other.which)]].sum())
            if other is not hit and shared > SHARED * float(crossing.sum()):
                out.append(other)
        return out

    def _fit(self, hit: Culprit) -> None:
        """The likeliest size and share of a hit that is not among the chosen now."""
        sizes = self._grid.sizes[self._grid.shares == 1]
        whole = self._gain(hit, sizes, np.ones(len(sizes)))
        at = int(np.argmax(whole))
        finer = np.linspace(sizes[max(at - 1, 0)], sizes[min(at + 1, len(sizes) - 1)], 9)
        fine = self._gain(hit, finer, np.ones(9))
        hit.size, hit.share = float(finer[int(np.argmax(fine))]), 1.0
        partial = self._gain(hit, *self._grid.partial)
        if partial.max() > fine.max() + PARTIAL:
            best = int(np.argmax(partial))
            hit.size, hit.share = (float(values[best]) for values in self._grid.partial)

    def _adjust(self, hit: Culprit) -> None:
        """Fit the size of a hit again, near where it is."""
        near = self.rows.near(hit.size)
        fits = self._gain(hit, near, np.full(len(near), hit.share))
        hit.size = float(near[int(np.argmax(fits))])

    def _gain(self, hit: Culprit, sizes: F64, shares: F64) -> F64:
        """(G,) nats of one candidate at any sizes and shares."""
        sorts = self.rows.sorts(self.rows.of(hit.which))
        own = self.rows.gain(sorts, sizes, shares).sum(axis=0)
        total: F64 = self.rows.bulk_of(hit.which, sizes, shares) + own
        return total
