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
TUNNELLED: Final = 3  # only packets of the overlay, in both directions
DIRECTION: Final = ("both", "a>b", "b>a", "both")


@dataclass(frozen=True, slots=True)
class Entries:
    """Crossings of candidates: (n,) path, candidate, probabilities that probe and answer cross it
    once and twice."""

    row: I64
    which: I64
    once: F64
    twice: F64


@dataclass(frozen=True, slots=True)
class Candidates:
    """K candidates: a class of components, in one direction, in both, or for the overlay alone.

    column, mode   (K,) column of the incidence; BOTH, ALONG, AGAINST or TUNNELLED
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
        forward, reverse = evidence.crossings.rows(paths, self.column[: self.classes])
        row = np.repeat(np.arange(len(paths)), np.diff(forward.indptr))
        which, a, b = forward.indices.astype(np.int64), forward.data, reverse.data
        links, one_way = self._one_way()
        parts = [(row, which, a * (1 - b) + b * (1 - a), a * b)]
        for share, offset in ((a, 0), (b, links)):
            here = (one_way[which] >= 0) & (share > 0)
            parts.append((row[here], one_way[which[here]] + offset, share[here],
                          np.zeros(int(here.sum()))))  # fmt: skip
        tunnelled = self._of_class(TUNNELLED)
        here = (tunnelled[which] >= 0) & evidence.overlay[paths[row]]
        parts.append((row[here], tunnelled[which[here]],
                      *(part[here] for part in parts[0][2:])))  # fmt: skip
        columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        return Entries(*(column[order] for column in columns))

    def of_kinds(self, evidence: Evidence, kind: I64) -> tuple[sparse.csr_array, F64, I64]:
        """How often paths of each kind (P,; -1: they do not count) cross each candidate.

        returns  (K, T) counts; (T,) the share of which it is crossed, and the kind
        No candidate is TUNNELLED here. Probe and answer count one by one: their five-tuples choose
        their ways independently, so that a round trip which is crossed twice is as likely to
        survive as two crossed once.
        """
        columns = self.column[: self.classes]
        column, share, against, count = evidence.crossings.crossing_counts(kind, columns)
        links, one_way = self._one_way()
        also = np.flatnonzero(one_way[column] >= 0)
        values, code = np.unique(share, return_inverse=True)
        sort = code[:, None] * count.shape[1] + np.arange(count.shape[1])
        counts = sparse.csr_array(
            (np.concatenate([count, count[also]]).ravel(),
             (np.repeat(np.concatenate([column, one_way[column[also]] + links * against[also]]),
                        count.shape[1]),
              np.concatenate([sort, sort[also]]).ravel())),
            shape=(len(self), len(values) * count.shape[1]),
        )  # fmt: skip
        counts.eliminate_zeros()
        return (
            counts, np.repeat(values, count.shape[1]),
            np.tile(np.arange(count.shape[1]), len(values)),
        )  # fmt: skip

    def _one_way(self) -> tuple[int, I64]:
        """How many links there are; per class the candidate that is its direction ALONG, or -1."""
        return int((self.mode == ALONG).sum()), self._of_class(ALONG)

    def _of_class(self, mode: int) -> I64:
        """(classes,) the candidate of each class in some mode, or -1."""
        out = np.full(self.classes, -1)
        those = np.flatnonzero(self.mode == mode)
        out[np.searchsorted(self.column[: self.classes], self.column[those])] = those
        return out


def candidates(evidence: Evidence, least: float = 0.0, *, tunnels: bool = False) -> Candidates:
    """Classes that bad paths cross; nothing else can gain by being blamed.

    least    share of what crosses a class that must be bad, 0 for any
    tunnels  whether what tunnels may fail the overlay alone
    """
    bad = evidence.crossings.pooled(evidence.bad)
    columns = np.flatnonzero(bad > 0)
    if least > 0:
        every = evidence.crossings.pooled(evidence.sent > 0)
        columns = columns[bad[columns] >= least * every[columns]]
    directed = evidence.directed
    link = np.zeros(len(columns), bool) if directed is None else directed[columns]
    ends = np.zeros(len(columns), bool)
    if tunnels and evidence.tunnels is not None:
        ends = evidence.tunnels[columns]
    tried = len(columns) + 2 * int(link.sum()) + int(ends.sum())
    if evidence.plausible is not None:
        plausible = evidence.plausible[columns]
        columns, link, ends = columns[plausible], link[plausible], ends[plausible]
    links, tunnelled = int(link.sum()), int(ends.sum())
    one = np.arange(links) + len(columns)
    return Candidates(
        column=np.concatenate([columns, columns[link], columns[link], columns[ends]]),
        mode=np.repeat([BOTH, ALONG, AGAINST, TUNNELLED], [len(columns), links, links, tunnelled]),
        twin=np.concatenate([np.full(len(columns), -1), one + links, one,
                             np.full(tunnelled, -1)]),
        tried=tried,
    )  # fmt: skip


def by_candidate(entries: Entries, candidates: int) -> tuple[I64, I64]:
    """Order of the entries by candidate, and (K + 1,) where each one's begin."""
    return by_code(entries.which, candidates)


def by_code(codes: I64, count: int) -> tuple[I64, I64]:
    """(n,) stable order of codes 0, 1, ... below ``count``, and (count + 1,) where each begins.

    A counting sort, by the change of a sparse matrix from columns to rows: linear in n.
    """
    at = np.arange(len(codes) + 1)
    columns = sparse.csc_array((at[:-1], codes, at), (count, len(codes)))
    rows = sparse.csr_array(columns.tocsr())
    return rows.data.astype(np.int64, copy=False), rows.indptr.astype(np.int64)
