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
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.evidence import F64, I64
from localizer.strategies.hypothesis.atoms import NEVER, Atoms, Crossing
from localizer.strategies.hypothesis.candidates import Candidates, Entries, by_candidate, by_code
from localizer.strategies.hypothesis.likelihood import Likelihood, thinned

Bool = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Culprit:
    """A chosen candidate and what is known of it.

    which    number of the candidate
    size     what a crossing of it does: loss probability [1] or added latency [us]
    share    of the five-tuples that it hits [1]
    gain     nats by which it raises the log-likelihood above a healthy component's
    classes  probability of each class (column -> probability, sum 1) to be what explains the paths
             of this culprit, all other culprits being as they are; empty before the search is over
    """

    which: int
    size: float
    share: float = 1.0
    gain: float = 0.0
    classes: dict[int, float] = field(default_factory=dict)


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

    def __init__(
        self,
        choices: Candidates,
        entries: Entries,
        likelihood: Likelihood,
        paths: int,
        most_atoms: int,
    ) -> None:
        self.choices = choices
        self.entries = entries
        self.paths = paths
        self.likelihood = likelihood
        self.atoms = Atoms(paths, most_atoms, likelihood)
        self._order, self._first = by_candidate(entries, len(choices))
        self._at = entries.row[self._order]
        self._sort, first = _sorts(entries)
        self._sorts = Entries(*(getattr(entries, name)[first] for name in Entries.__slots__))
        self._start = np.searchsorted(self._sorts.row, np.arange(paths + 1))
        order, start = by_code(self._sort, len(first))
        self._members = sparse.csr_array(
            (np.ones(len(order)), entries.which[order], start), (len(first), len(choices))
        )
        self._crossings: dict[tuple[int, float], Crossing] = {}

    @abstractmethod
    def grid(self) -> Grid:
        """Where candidates are tried, now."""

    @abstractmethod
    def damage(self, sizes: F64) -> F64:
        """(G,) damage of one crossing, for each size."""

    @abstractmethod
    def bulk(self, sizes: F64, shares: F64) -> F64:
        """(K, G) log-likelihood ratio of each candidate from paths that are only counted."""

    @abstractmethod
    def bulk_of(self, which: int, sizes: F64, shares: F64) -> F64:
        """(G,) the same for one candidate."""

    @abstractmethod
    def weights(self) -> F64:
        """(R,) how much of the trouble each path shows."""

    def impossible(self) -> Bool:
        """(R,) paths whose trouble no healthy component causes, however uneven the network is."""
        return np.zeros(self.paths, bool)

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

    def rows_of(self, sorts: I64) -> I64:
        """(n,) path of each sort."""
        row: I64 = self._sorts.row[sorts]
        return row

    def sorts_of(self, rows: I64) -> I64:
        """Sorts of some paths: ECMP alternatives by the hundred make a handful of them."""
        count = self._start[rows + 1] - self._start[rows]
        first = np.repeat(self._start[rows] - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        return first + np.arange(int(count.sum()))

    def gain(self, sorts: I64, sizes: F64, shares: F64) -> F64:
        """(n, G) log-likelihood ratio of each sort's path, were a candidate of that sort bad."""
        once, twice = self._sorts.once[sorts], self._sorts.twice[sorts]
        return self.atoms.gain(self._sorts.row[sorts], once, twice, self.damage(sizes), shares)

    def total(self) -> float:
        """ln likelihood of all paths that have atoms."""
        return float(self.atoms.likely(np.arange(self.paths), np.zeros(1)).sum())

    def rebuild(self, rows: I64, culprits: list[Culprit]) -> None:
        """Set the atoms of some paths to what ``culprits`` make them."""
        crossed = self.damage(np.array([culprit.size for culprit in culprits]))
        crossings = [self._crossing(culprit) for culprit in culprits]
        self.atoms.rebuild(rows, list(zip(crossings, crossed.tolist(), strict=True)))

    def split(self, culprit: Culprit) -> None:
        """Let one more culprit change the atoms of its paths."""
        damage = float(self.damage(np.array([culprit.size]))[0])
        self.atoms.split(self._crossing(culprit), damage)

    def _crossing(self, culprit: Culprit) -> Crossing:
        known = self._crossings.get((culprit.which, culprit.share))
        if known is None:
            entries, place = self.of(culprit.which), self.touched(culprit.which)
            once, twice = thinned(self.entries.once[entries], self.entries.twice[entries],
                                   culprit.share)  # fmt: skip
            chances = np.stack([1 - once - twice, once, twice], axis=1)
            sure = (chances == 1).any(axis=1)
            with np.errstate(divide="ignore"):
                logs = np.maximum(np.log(np.maximum(chances[~sure], 0.0)), NEVER)
            known = Crossing(place[sure], (once + 2 * twice)[sure], place[~sure], logs)
            self._crossings[culprit.which, culprit.share] = known
        return known


def _sorts(entries: Entries) -> tuple[I64, I64]:
    """Sort of each entry, and an entry of each sort: those of a path that it crosses alike.

    Sorts are numbered by path, as entries are."""
    # Few values of many: to look them up is faster than the sort that return_inverse takes.
    once, twice = np.unique(entries.once), np.unique(entries.twice)
    alike = entries.row * max(len(once), 1) + np.searchsorted(once, entries.once)
    alike = alike * max(len(twice), 1) + np.searchsorted(twice, entries.twice)
    _, first, sort = np.unique(alike, return_index=True, return_inverse=True)
    return sort, first
