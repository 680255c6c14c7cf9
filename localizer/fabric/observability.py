"""Observability classes: components that probes cannot tell apart. No I/O.

Components whose columns of M are equal over all paths that are probed lose and delay the same
probes; no strategy can tell them apart. A class is a set of such components, and stands in one
column for all of them.

Example: with one rnic r1 behind it, ToR t1 is crossed by the same paths as r1: one class of r1,
t1 and the link between them. A second rnic behind t1 splits it into {t1} and {r1, link}.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.incidence.segments import PREFERENCE
from schemas.component_ids import kind_of

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

_LINK, _RNIC = PREFERENCE.index("link"), PREFERENCE.index("rnic")


class Classes:
    """K observability classes of the components that any probe crosses: ``Crossings``.

    members   component ids of each class, likeliest cause first
    directed  (K,) classes that hold nothing but links; their direction is that of the first member
    tunnels   (K,) classes that hold an rnic: it may fail tunnelled packets alone
    factored  (P, K) which path crosses which class
    """

    def __init__(
        self, members: list[list[str]], directed: Bool, tunnels: Bool, factored: FactoredIncidence
    ) -> None:
        self.members, self.directed, self.tunnels = members, directed, tunnels
        self.factored = factored

    @cached_property
    def names(self) -> list[str]:
        """First member of each class."""
        return [members[0] for members in self.members]

    @property
    def paths(self) -> int:
        """P."""
        return self.factored.shape[0]

    def pooled(self, values: F64 | I64 | U32 | Bool) -> F64:
        """(K,) sum over paths (P,), weighted by the share that crosses each class."""
        return self.factored.pooled(values)

    def pooled_by_direction(
        self, values: F64 | I64 | U32 | Bool, columns: I64 | None = None
    ) -> tuple[F64, F64, F64]:
        """(K,) ``pooled``, and sums over paths (P,) that cross each class for certain: a>b of a
        link's id, and b>a; of other classes by request, and by reply. Of some classes (n,) only, if
        they are given."""
        return self.factored.pooled_by_direction(values, columns)

    def crossed_by(self, rows: I64) -> I64:
        """(n,) classes that some paths (m,) cross or may cross, rising."""
        return self.factored.crossed_by(rows)

    def holding(self, names: set[str]) -> Bool:
        """(K,) classes that hold one of these components."""
        out = np.zeros(len(self.members), bool)
        out[self.of_components(names)] = True
        return out

    def of_components(self, names: set[str]) -> list[int]:
        """The classes that hold some of these components, rising."""
        return sorted({self._class_of[name] for name in names if name in self._class_of})

    @cached_property
    def _class_of(self) -> dict[str, int]:
        """Component id -> the class that holds it."""
        return {name: k for k, members in enumerate(self.members) for name in members}

    def share(self, column: int) -> F64:
        """(P,) mean share of one class."""
        return self.factored.column(column)

    def certain(self, column: int) -> tuple[Bool, Bool]:
        """(P,) (P,) paths that cross one class for certain; see ``pooled_by_direction``."""
        return self.factored.certain(column)

    def rows(self, rows: I64, columns: I64) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(n, len(columns)) twice: forward and reverse of some paths; see ``Crossings``."""
        return self.factored.rows(rows, columns)

    def crossing_counts(self, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """How many paths of each kind cross some classes; see ``FactoredIncidence``."""
        return self.factored.crossing_counts(kind, columns)

    @property
    def incidence(self) -> sparse.csr_array:
        """(P, K) mean share; written out when first asked for."""
        return self._matrices[0]

    @property
    def forward(self) -> sparse.csr_array:
        """(P, K) crossed in direction a>b, or by the request; the pattern is that of incidence."""
        return self._matrices[1]

    @property
    def reverse(self) -> sparse.csr_array:
        """(P, K) crossed in direction b>a, or by the reply; the pattern is that of incidence."""
        return self._matrices[2]

    def same(self, other: Classes | None) -> bool:
        """Whether the other has the same members."""
        return other is not None and self.members == other.members

    @cached_property
    def _matrices(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        return self.factored.matrices()


def preference(name: str) -> tuple[int, str]:
    """Sort key: likelier causes first, then by name."""
    return PREFERENCE.index(kind_of(name)), name


def classes(
    factored: FactoredIncidence,
    components: list[str],
    live: Bool,
    kinds: npt.NDArray[np.int8],
) -> Classes:
    """Group equal columns, over the paths that are probed now.

    factored    (P, C)
    components  (C,) ids of the columns
    live        (P,) rows that count
    kinds       (C,) rank of each component's kind in PREFERENCE

    Classes are sorted by how much crosses them, a switch before its links and rnics; the order in
    which paths were met does not matter. Columns are equal if the mean shares are, whatever the
    direction: an rnic and its link are one class. A class of links has the directions of its first
    member; any other class has those of its first member that is no link.
    """
    prints = factored.fingerprints(live)
    crossed = np.flatnonzero(prints.any(axis=1))  # no probe crosses the others
    if not len(crossed):
        return Classes([], np.zeros(0, bool), np.zeros(0, bool), factored.select(crossed))
    _, first, label = np.unique(
        prints[crossed].view("u8,u8").ravel(), return_index=True, return_inverse=True
    )
    rank = np.empty(len(first), np.int64)
    wide = np.round(factored.pooled(live), 6)[crossed]
    rank[np.lexsort((first, -wide[first]))] = np.arange(len(first))  # the most crossed first
    label = rank[label]
    order = np.lexsort((kinds[crossed], label))
    columns, label = crossed[order], label[order]
    edges = np.flatnonzero(np.diff(label, prepend=-1, append=len(first)))
    kind = kinds[columns]
    twice = (kind[1:] == kind[:-1]) & (label[1:] == label[:-1])
    for group in np.unique(label[1:][twice]).tolist():  # by name within a kind
        here = slice(edges[group], edges[group + 1])
        columns[here] = sorted(columns[here], key=lambda c: preference(components[c]))
    names = [components[c] for c in columns.tolist()]
    bounds = edges.tolist()
    members = [names[a:b] for a, b in pairwise(bounds)]
    links = kinds[columns] == _LINK
    directed = np.logical_and.reduceat(links, edges[:-1])
    tunnels = np.logical_or.reduceat(kinds[columns] == _RNIC, edges[:-1])
    # The column of a class is that of its first member, or of the first that is no link.
    first_column = edges[:-1] + np.where(
        ~directed & links[edges[:-1]], _first_other(links, edges), 0
    )
    return Classes(members, directed, tunnels, factored.select(columns[first_column]))


def _first_other(links: Bool, edges: I64) -> I64:
    """(K,) how many links each class begins with."""
    at = np.arange(len(links))
    other = np.where(links, len(links), at)
    return np.minimum.reduceat(other, edges[:-1]) - edges[:-1]
