"""What probes cannot tell apart: components whose columns of the incidence are the same."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.fabric.factored_incidence import FactoredIncidence
from localizer.fabric.segments import PREFERENCE, preference
from schemas.component_ids import kind_of

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

_LINK, _RNIC = PREFERENCE.index("link"), PREFERENCE.index("rnic")


class Classes:
    """Observability classes of the components that any probe crosses.

    members   component ids of each of the K classes, likeliest cause first
    directed  (K,) classes that hold nothing but links; their direction is that of the first member
    tunnels   (K,) classes that hold an rnic: it may fail tunnelled packets alone
    woven     (P, K) which path crosses which class
    """

    def __init__(
        self, members: list[list[str]], directed: Bool, tunnels: Bool, woven: FactoredIncidence
    ) -> None:
        self.members, self.directed, self.tunnels, self.woven = members, directed, tunnels, woven

    @property
    def paths(self) -> int:
        """P."""
        return self.woven.shape[0]

    def pooled(self, values: F64 | I64 | Bool) -> F64:
        """(K,) sum over paths (P,), weighted by the share that crosses each class."""
        return self.woven.pooled(values)

    def share(self, column: int) -> F64:
        """(P,) one column of the incidence."""
        return self.woven.column(column)

    def rows(self, rows: I64, columns: I64) -> sparse.csr_array:
        """(n, len(columns)) along + i against of some paths; see ``Crossings``."""
        return self.woven.rows(rows, columns)

    def tally(self, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """How often paths of each kind cross some classes; see ``FactoredIncidence.tally``."""
        return self.woven.tally(kind, columns)

    @property
    def incidence(self) -> sparse.csr_array:
        """(P, K) mean share, one column a class; written out when first asked for."""
        return self._matrices[0]

    @property
    def along(self) -> sparse.csr_array:
        """(P, K) crossed in direction a>b, or on the way out; the pattern is that of incidence."""
        return self._matrices[1]

    @property
    def against(self) -> sparse.csr_array:
        """(P, K) crossed in direction b>a, or on the way back; the pattern is that of incidence."""
        return self._matrices[2]

    def same(self, other: Classes | None) -> bool:
        """Whether the other has the same members."""
        return other is not None and self.members == other.members

    @cached_property
    def _matrices(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        return self.woven.matrices()


def classes(
    woven: FactoredIncidence,
    components: list[str],
    live: Bool,
    kinds: npt.NDArray[np.int8] | None = None,
) -> Classes:
    """Group equal columns, over the paths that are probed now.

    woven (P, C); live (P,) rows that count
    kinds  (C,) place of each component's kind in PREFERENCE, if the caller has it at hand

    Classes come in the order of how much crosses them, so a switch before its links and rnics, and
    it does not matter in which order the paths were met. Equal is what is crossed by the same
    shares, whichever way: an rnic and its link are one class. A class of links has the directions
    of its first member; any other goes out and back as its first member that is no link does.
    """
    if kinds is None:
        kinds = np.array([PREFERENCE.index(kind_of(name)) for name in components], np.int8)
    prints = woven.prints(live)
    crossed = np.flatnonzero(prints.any(axis=1))  # else no probe crosses it now
    if not len(crossed):
        return Classes([], np.zeros(0, bool), np.zeros(0, bool), woven.select(crossed))
    _, first, label = np.unique(
        prints[crossed].view("u8,u8").ravel(), return_index=True, return_inverse=True
    )
    rank = np.empty(len(first), np.int64)
    wide = np.round(woven.pooled(live), 6)[crossed]
    rank[np.lexsort((first, -wide[first]))] = np.arange(len(first))  # what most paths cross first
    label = rank[label]
    order = np.lexsort((kinds[crossed], label))
    columns, label = crossed[order], label[order]
    edges = np.flatnonzero(np.diff(label, prepend=-1, append=len(first)))
    kind = kinds[columns]
    twice = (kind[1:] == kind[:-1]) & (label[1:] == label[:-1])
    for group in np.unique(label[1:][twice]).tolist():  # names decide within a kind
        here = slice(edges[group], edges[group + 1])
        columns[here] = sorted(columns[here], key=lambda c: preference(components[c]))
    names = [components[c] for c in columns.tolist()]
    bounds = edges.tolist()
    members = [names[a:b] for a, b in pairwise(bounds)]
    links = kinds[columns] == _LINK
    directed = np.logical_and.reduceat(links, edges[:-1])
    tunnels = np.logical_or.reduceat(kinds[columns] == _RNIC, edges[:-1])
    # The first that is no link speaks for a mixed class; links come late among the kinds.
    speaks = edges[:-1] + np.where(~directed & links[edges[:-1]], _first_other(links, edges), 0)
    return Classes(members, directed, tunnels, woven.select(columns[speaks]))


def _first_other(links: Bool, edges: I64) -> I64:
    """(K,) how many links each class begins with."""
    at = np.arange(len(links))
    other = np.where(links, len(links), at)
    return np.minimum.reduceat(other, edges[:-1]) - edges[:-1]
