"""Entries of S that differ in component, share or direction, and paths counted by them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

_UNIT = 2**24  # shares are equal if they are as multiples of 1 / _UNIT


@dataclass(frozen=True, slots=True)
class Shares:
    """D entries of S, by component.

    column, share  (D,) component, and its share of a traversal [0..1]
    reverse        (D,) direction
    holders        (D, Q) 1 where a segment has such an entry
    components     C
    """

    column: I64
    share: F64
    reverse: Bool
    holders: sparse.csr_array
    components: int

    @classmethod
    def of(cls, forward: sparse.csr_array, reverse: sparse.csr_array) -> Shares:
        """Of S by direction, (Q, C) with one pattern."""
        segment = np.repeat(np.arange(forward.shape[0]), np.diff(forward.indptr))
        shares = (forward.data, reverse.data)
        entries = [np.flatnonzero(share > 0) for share in shares]
        entry = np.concatenate(entries)
        share = np.concatenate([s[e] for s, e in zip(shares, entries, strict=True)])
        back = np.repeat([False, True], [len(e) for e in entries])
        values, code = np.unique(np.round(share * _UNIT), return_inverse=True)
        key = (forward.indices[entry].astype(np.int64) * len(values) + code) * 2 + back
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        holders = sparse.csr_array(
            (np.ones(len(entry)), (which, segment[entry])), (len(first), forward.shape[0])
        )
        column = forward.indices[entry[first]].astype(np.int64)
        return cls(column, share[first], back[first], holders, forward.shape[1])

    def crossing_counts(self, slots: I32, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """How many paths of each kind cross some components, by share and direction.

        slots    (W, P) segments of each path
        kind     (P,) code of a path's kind, -1 for paths that do not count
        columns  rising
        returns  (D,) index into ``columns``, share, whether the direction is reverse;
                 (D, kinds) number of paths
        Paths are counted by segment: each has a component in one direction in one segment at most.
        """
        kinds = max(int(kind.max(initial=-1)) + 1, 1)
        rows = np.flatnonzero(kind >= 0)
        count = np.zeros(self.holders.shape[1] * kinds, np.int64)
        for slot in slots:
            count += np.bincount(
                slot[rows].astype(np.int64) * kinds + kind[rows], minlength=len(count)
            )
        place = np.full(self.components, -1)
        place[columns] = np.arange(len(columns))
        mine = np.flatnonzero(place[self.column] >= 0)
        paths = self.holders[mine] @ count.reshape(-1, kinds).astype(np.float64)
        return place[self.column[mine]], self.share[mine], self.reverse[mine], paths
