"""What may be to blame, and how often each path crosses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from localizer.evidence import F64, I64, Evidence

BOTH: Final = 0  # the way out and the way back alike
ALONG: Final = 1  # only packets that travel a>b
AGAINST: Final = 2  # only packets that travel b>a
DIRECTION: Final = ("both", "a>b", "b>a")


@dataclass(frozen=True, slots=True)
class Entries:
    """Crossings of candidates: (n,) path or kind of path, candidate, probabilities that probe and
    answer cross it once and twice, and how many such paths there are."""

    row: I64
    which: I64
    once: F64
    twice: F64
    count: F64


@dataclass(frozen=True, slots=True)
class Candidates:
    """K candidates: a class of components, in one direction or in both.

    column, mode   (K,) column of the incidence; BOTH, ALONG or AGAINST
    twin           (K,) the same link in the other direction only; -1 for none
    tried          of how many they are what is left: for the correction of multiple tests
    """

    column: I64
    mode: I64
    twin: I64
    tried: int

    def __len__(self) -> int:
        return len(self.column)

    @property
    def classes(self) -> int:
        """How many classes they are of; the two-way candidates come first."""
        return int((self.mode == BOTH).sum())

    def of_paths(self, evidence: Evidence, paths: I64) -> Entries:
        """Entries of some paths, sorted by row: an index into ``paths``."""
        both = evidence.crossings.rows(paths).tocoo()
        place = self._place(evidence)
        column = place[both.col]
        mine = (column >= 0) & (both.data != 0)
        row, data = both.row[mine].astype(np.int64), both.data[mine]
        ones = np.ones(len(row))
        entries = self._spread(row, column[mine], data.real, data.imag, ones)
        order = np.argsort(entries.row, kind="stable")
        return Entries(*(getattr(entries, name)[order] for name in Entries.__slots__))

    def of_kinds(self, evidence: Evidence, kind: I64) -> Entries:
        """Entries of kinds of paths: kind (P,), -1 for paths that do not count."""
        column, along, against, of_kind, count = evidence.crossings.tally(kind)
        place = self._place(evidence)[column]
        mine = (place >= 0) & ((along != 0) | (against != 0))
        return self._spread(of_kind[mine], place[mine], along[mine], against[mine], count[mine])

    def _place(self, evidence: Evidence) -> I64:
        place = np.full(len(evidence.crossings.pooled(np.zeros(len(evidence.sent)))), -1)
        place[self.column[: self.classes]] = np.arange(self.classes)
        return place

    def _spread(self, row: I64, which: I64, a: F64, b: F64, count: F64) -> Entries:
        """Entries of the two-way candidates, and of their directions where they have any."""
        one_way = np.full(self.classes, -1)
        links = np.flatnonzero(self.mode == ALONG)
        one_way[np.searchsorted(self.column[: self.classes], self.column[links])] = links
        parts = [Entries(row, which, a * (1 - b) + b * (1 - a), a * b, count)]
        for share, offset in ((a, 0), (b, len(links))):
            here = (one_way[which] >= 0) & (share > 0)
            parts.append(
                Entries(row[here], one_way[which[here]] + offset, share[here],
                        np.zeros(int(here.sum())), count[here])
            )  # fmt: skip
        return Entries(*(np.concatenate([getattr(part, name) for part in parts])
                         for name in Entries.__slots__))  # fmt: skip


def candidates(evidence: Evidence, least: float = 0.0) -> Candidates:
    """Classes that bad paths cross; nothing else can gain by being blamed.

    least  share of what crosses a class that must be bad, 0 for any
    """
    bad = evidence.crossings.pooled(evidence.bad)
    columns = np.flatnonzero(bad > 0)
    if least > 0:
        every = evidence.crossings.pooled(evidence.sent > 0)
        columns = columns[bad[columns] >= least * every[columns]]
    directed = evidence.directed
    link = np.zeros(len(columns), bool) if directed is None else directed[columns]
    tried = len(columns) + 2 * int(link.sum())
    if evidence.plausible is not None:
        plausible = evidence.plausible[columns]
        columns, link = columns[plausible], link[plausible]
    links = int(link.sum())
    one = np.arange(links) + len(columns)
    return Candidates(
        column=np.concatenate([columns, columns[link], columns[link]]),
        mode=np.repeat([BOTH, ALONG, AGAINST], [len(columns), links, links]),
        twin=np.concatenate([np.full(len(columns), -1), one + links, one]),
        tried=tried,
    )


def by_candidate(entries: Entries, candidates: int) -> tuple[I64, I64]:
    """Order of the entries by candidate, and (K + 1,) where each one's begin."""
    order = np.argsort(entries.which, kind="stable")
    return order, np.searchsorted(entries.which[order], np.arange(candidates + 1))


def counted(entries: Entries, candidates: int) -> tuple[sparse.csr_array, F64, F64, I64]:
    """How often each candidate has entries that are alike.

    returns  (K, T) counts, and the T sorts: once, twice, row
    """
    # Shares are told apart to 1e-5: they are products of ECMP fan-outs.
    key = np.round(entries.once * 1e5) + np.round(entries.twice * 1e5) * 2e5 + entries.row * 4e10
    sorts, first, sort = np.unique(key, return_index=True, return_inverse=True)
    counts = sparse.csr_array(
        (entries.count, (entries.which, sort)), shape=(candidates, len(sorts))
    )
    counts.sum_duplicates()
    return counts, entries.once[first], entries.twice[first], entries.row[first]
