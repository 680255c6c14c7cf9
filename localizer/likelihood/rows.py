"""Paths as mixtures over the routes that they may take: what loss and latency have in common.

Where a path's route is known, how often it crosses a culprit is a number. Where it is not, that
number is random but the same for all probes of the five-tuple, so the path is a mixture of a few
*atoms*: (weight, damage), damage being what all culprits together do to it if the route is so. A
fault that hits only a share of the five-tuples is a mixture of the same kind.

Source  Flock (CoNEXT 2023) for the mixture over ECMP paths; atoms, so that several faults on one
        unknown route fit together, are ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from localizer.evidence import F64, I64
from localizer.likelihood.candidates import Candidates, Entries, by_candidate

#: Atoms kept per path: those with the highest posterior weight.
MOST_ATOMS: Final = 12
_NEVER: Final = -1e30  # logarithm of no weight


@dataclass(slots=True)
class Hit:
    """A chosen culprit: what a crossing of it does, and the share of five-tuples that it hits."""

    which: int
    size: float
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes and shares of five-tuples (G,) at which a candidate is tried.

    sizes, shares    the first is what still counts as healthy; shares below 1 come last
    partial          sizes and shares that a chosen one is tried at as well
    """

    sizes: F64
    shares: F64
    partial: tuple[F64, F64]


class Rows(ABC):
    """R paths with their own atoms; others may be counted by sorts (see ``bulk``)."""

    def __init__(self, choices: Candidates, entries: Entries, paths: int) -> None:
        self.choices = choices
        self.entries = entries
        self.paths = paths
        self._order, self._first = by_candidate(entries, len(choices))
        self._at = entries.row[self._order]
        self._sort, first = _sorts(entries)
        self._sorts = Entries(*(getattr(entries, name)[first] for name in Entries.__slots__))
        self._start = np.searchsorted(self._sorts.row, np.arange(paths + 1))
        self._members = sparse.csr_array(
            (np.ones(len(entries.row)), entries.which[order := np.argsort(self._sort)],
             np.searchsorted(self._sort[order], np.arange(len(first) + 1))),
            shape=(len(first), len(choices)),
        )  # fmt: skip
        self._weight = np.zeros((paths, 1))  # logarithms
        self._damage = np.zeros((paths, 1))

    @abstractmethod
    def grid(self) -> Grid:
        """Where candidates are tried, now."""

    @abstractmethod
    def log_f(self, rows: I64, damage: F64) -> F64:
        """(n, m) ln likelihood of some paths, were their damage so (n, m)."""

    @abstractmethod
    def damage(self, sizes: F64) -> F64:
        """(G,) damage of one crossing, for each size."""

    @abstractmethod
    def bulk(self, sizes: F64, shares: F64) -> F64:
        """(K, G) log-likelihood ratio of each candidate from paths that are only counted."""

    @abstractmethod
    def bulk_of(self, which: int, sizes: F64, shares: F64) -> F64:
        """(G,) the same for one candidate."""

    def learn(self) -> bool:
        """Adapt what is believed of the healthy network; whether that changed anything."""
        return False

    def near(self, size: float) -> F64:
        """Sizes to try when a chosen one is fitted again."""
        return size * np.array([0.0, 0.3, 0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.6])

    def of(self, which: int) -> I64:
        """Entries of a candidate."""
        return self._order[self._first[which] : self._first[which + 1]]

    def touched(self, which: int) -> I64:
        """Paths that a candidate may be on."""
        return self._at[self._first[which] : self._first[which + 1]]

    def sorts(self, entries: I64) -> I64:
        """(n,) of which sort each entry is; what is alike in a path is of one sort."""
        sort: I64 = self._sort[entries]
        return sort

    def members(self, sorts: I64) -> sparse.csr_array:
        """(n, K) which candidates are of each sort."""
        members: sparse.csr_array = self._members[sorts]
        return members

    def sorts_of(self, rows: I64) -> I64:
        """Sorts of some paths: ECMP alternatives by the hundred make a handful of them."""
        count = self._start[rows + 1] - self._start[rows]
        first = np.repeat(self._start[rows] - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        return first + np.arange(int(count.sum()))

    def gain(self, sorts: I64, sizes: F64, shares: F64) -> F64:
        """(n, G) log-likelihood ratio of each sort's path, were a candidate of that sort bad."""
        rows, back = np.unique(self._sorts.row[sorts], return_inverse=True)
        now = self._log(rows, np.zeros(1))[:, 0]
        crossed = self.damage(sizes)
        one = self._log(rows, crossed) - now[:, None]
        two = self._log(rows, 2 * crossed) - now[:, None]
        return mixed(self._sorts.once[sorts], self._sorts.twice[sorts], one, two, shares, back)

    def total(self) -> float:
        """ln likelihood of all paths that have atoms."""
        return float(self._log(np.arange(self.paths), np.zeros(1)).sum())

    def rebuild(self, rows: I64, hits: list[Hit]) -> None:
        """Set the atoms of some paths to what ``hits`` make them."""
        self._weight[rows], self._damage[rows] = _NEVER, 0.0
        self._weight[rows, 0] = 0.0
        wanted = np.zeros(self.paths, bool)
        wanted[rows] = True
        for hit in hits:
            place = self.touched(hit.which)
            mine = wanted[place]
            if mine.any():
                self._split(place[mine], self.of(hit.which)[mine], hit)

    def posterior(self) -> tuple[F64, F64]:
        """(R, M) weight of each atom given what was measured, and its damage."""
        likely = self._weight + self.log_f(np.arange(self.paths), self._damage)
        return np.exp(likely - log_sum(likely)[:, None]), self._damage

    def _split(self, place: I64, entries: I64, hit: Hit) -> None:
        once, twice = _thinned(self.entries.once[entries], self.entries.twice[entries], hit.share)
        crossed = float(self.damage(np.array([hit.size]))[0])
        weight, damage = self._weight[place], self._damage[place]
        if (once + twice == 1).all() and ((once == 0) | (once == 1)).all():
            self._damage[place] = damage + crossed * (once + 2 * twice)[:, None]
            return
        chances = np.maximum(np.stack([1 - once - twice, once, twice], axis=1), 0.0)
        with np.errstate(divide="ignore"):
            chances = np.maximum(np.log(chances), _NEVER)
        ways = 3 if twice.any() else 2
        weight = (weight[:, None, :] + chances[:, :ways, None]).reshape(len(place), -1)
        damage = (damage[:, None, :] + crossed * np.arange(ways)[:, None]).reshape(len(place), -1)
        weight = np.maximum(weight, _NEVER)
        likely = weight + self.log_f(place, damage)
        size = min(MOST_ATOMS, weight.shape[1])
        best = np.argpartition(-likely, size - 1, axis=1)[:, :size]
        if size > self._weight.shape[1]:
            more = size - self._weight.shape[1]
            self._weight = np.pad(self._weight, ((0, 0), (0, more)), constant_values=_NEVER)
            self._damage = np.pad(self._damage, ((0, 0), (0, more)))
        self._weight[place], self._damage[place] = _NEVER, 0.0
        self._weight[place[:, None], np.arange(size)] = np.take_along_axis(weight, best, 1)
        self._damage[place[:, None], np.arange(size)] = np.take_along_axis(damage, best, 1)

    def _log(self, rows: I64, more: F64) -> F64:
        """(n, G) ln likelihood of paths if their damage grows by ``more`` (G,)."""
        weight, damage = self._weight[rows], self._damage[rows]
        used = int((weight > _NEVER / 2).sum(axis=1).max(initial=1))
        if used == 1:
            return self.log_f(rows, damage[:, :1] + more) + weight[:, :1]
        atoms = damage[:, :used, None] + more
        likely = self.log_f(rows, atoms.reshape(len(rows), -1)).reshape(atoms.shape)
        return log_sum(weight[:, :used, None] + likely)


def _sorts(entries: Entries) -> tuple[I64, I64]:
    """Sort of each entry, and an entry of each sort: those of a path that it crosses alike.

    Sorts are numbered by path, as entries are."""
    _, once = np.unique(entries.once, return_inverse=True)
    values, twice = np.unique(entries.twice, return_inverse=True)
    alike = (entries.row * (once.max(initial=0) + 1) + once) * max(len(values), 1) + twice
    _, first, sort = np.unique(alike, return_index=True, return_inverse=True)
    return sort, first


def log_sum(terms: F64) -> F64:
    """ln of the sum of exponentials over the second axis."""
    top = terms.max(axis=1)
    out: F64 = top + np.log(np.exp(terms - np.expand_dims(top, 1)).sum(axis=1))
    return out


def mixed(once: F64, twice: F64, one: F64, two: F64, shares: F64, back: I64 | None = None) -> F64:
    """(n, G) ln of the likelihood ratio when crossings are uncertain.

    once, twice  (n,) probabilities of crossing it once, twice
    one, two     (R, G) ln ratio of a path were it crossed once, twice
    shares       (G,) of five-tuples that are hit
    back         (n,) path of each entry; None: they are the paths
    """
    back = np.arange(len(once)) if back is None else back
    out = np.empty((len(once), len(shares)))
    top = np.maximum(np.maximum(one, two), 0.0)
    ratios = np.stack([np.exp(-top), np.exp(one - top), np.exp(two - top)])
    for share in np.unique(shares):
        at = np.flatnonzero(shares == share)
        a, b = _thinned(once, twice, float(share))
        for sure, ratio in ((a == 1.0, one), (b == 1.0, two)):
            which = np.flatnonzero(sure)
            out[np.ix_(which, at)] = ratio[np.ix_(back[which], at)]
        rest = np.flatnonzero((a < 1.0) & (b < 1.0))
        if len(rest):
            where = np.ix_(back[rest], at)
            none = np.maximum(1 - a[rest] - b[rest], 0.0)
            likely = none[:, None] * ratios[0][where] + a[rest, None] * ratios[1][where]
            if b[rest].any():
                likely += b[rest, None] * ratios[2][where]
            out[np.ix_(rest, at)] = np.log(np.maximum(likely, 1e-300)) + top[where]
    return out


def _thinned(once: F64, twice: F64, share: float) -> tuple[F64, F64]:
    """Crossings that hurt if each direction's five-tuple is hit with this probability."""
    return once * share + twice * 2 * share * (1 - share), twice * share**2
