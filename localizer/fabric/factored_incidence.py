"""Incidence as a sum of parts.

A million paths cross a hundred thousand components in hundreds of places each, but they do so in
few ways: the end of a path is that of all paths of its endpoint, and what lies between two pods is
the same for all of their ToRs. A row is therefore a handful of numbers of *parts*, each a short
list of (component, share); sums over paths, single columns and equal columns are found through the
parts at a hundredth of the cost of the matrix, which is only written out for those who want it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_ONE = 2**24  # shares are compared as multiples of 1 / _ONE
_BLOCK = 65_536  # rows that are written out at once


@dataclass(frozen=True)
class FactoredIncidence:
    """Rows over columns: row p is the sum over j of the part ``slots[j, p]``.

    slots  (W, P) numbers of parts, 0 for none
    parts  (Q, C) along + i against; row 0 is empty
    """

    slots: I32
    parts: sparse.csr_array

    @classmethod
    def of(
        cls, along: sparse.csr_array, against: sparse.csr_array | None = None
    ) -> FactoredIncidence:
        """Any matrix: each row a part of its own."""
        both = along + 1j * (along if against is None else against)
        empty = sparse.csr_array((1, along.shape[1]), dtype=complex)
        parts = sparse.vstack([empty, both]).tocsr()
        return cls(np.arange(1, along.shape[0] + 1, dtype=np.int32)[None], parts)

    @property
    def shape(self) -> tuple[int, int]:
        """(P, C)."""
        return self.slots.shape[1], self.parts.shape[1]

    @cached_property
    def _mean(self) -> sparse.csc_array:
        mean = (self.parts.real + self.parts.imag) / 2
        return sparse.csc_array(mean)

    @cached_property
    def _pooling(self) -> sparse.csr_array:
        """(C, Q) the same, the other way round."""
        return sparse.csr_array(self._mean.T)

    def select(self, columns: I64) -> FactoredIncidence:
        """Some of the columns."""
        some = FactoredIncidence(self.slots, self.parts[:, columns].tocsr())
        some.__dict__["holders"] = self.holders  # the same paths have the same parts
        return some

    @cached_property
    def holders(self) -> sparse.csr_array:
        """(Q, P) how often each path has each part; none has the empty one."""
        slot, path = np.nonzero(self.slots)
        part = self.slots[slot, path]
        shape = (self.parts.shape[0], self.slots.shape[1])
        return sparse.csr_array((np.ones(len(part)), (part, path.astype(np.int32))), shape)

    def pooled(self, values: F64 | I64 | Bool) -> F64:
        """(C,) sum over paths (P,), weighted by the mean share that crosses each column."""
        weights = values.astype(np.float64)
        if len(rows := np.flatnonzero(values)) < len(weights) // 16:
            slots = self.slots[:, rows]
            each = np.bincount(
                slots.ravel(), np.tile(weights[rows], len(slots)), self.parts.shape[0]
            )
        else:
            each = self.holders @ weights
        return np.asarray(self._pooling @ each)

    def split(self, values: F64, group: I64, columns: I64) -> F64:
        """(len(columns), G) what ``pooled`` says of some columns, by the group (P,) of the path."""
        parts = sparse.csr_array(self._mean[:, columns])
        some = np.diff(parts.indptr) > 0
        number = np.cumsum(some) - 1
        rows = np.flatnonzero(values)
        groups = int(group.max(initial=-1)) + 1
        each = np.zeros(int(some.sum()) * groups)
        for slot in self.slots[:, rows]:
            at = np.flatnonzero(some[slot])
            key = number[slot[at]] * groups + group[rows[at]]
            each += np.bincount(key, values[rows[at]], len(each))
        return np.asarray(parts[some].T @ each.reshape(-1, groups))

    def column(self, column: int) -> F64:
        """(P,) mean shares of one column."""
        here = slice(*self._mean.indptr[column : column + 2])
        held = self.holders[self._mean.indices[here]]
        share = np.repeat(self._mean.data[here], np.diff(held.indptr))
        crossed = np.bincount(held.indices, share * held.data, held.shape[1])
        return crossed.astype(np.float64, copy=False)

    @cached_property
    def _sorts(self) -> tuple[I64, F64, Bool, sparse.csr_array]:
        """(S,) column, share and way of all crossings that are alike, by column; (S, Q) which parts
        make them."""
        inner = np.repeat(np.arange(self.parts.shape[0]), np.diff(self.parts.indptr))
        ways = (self.parts.data.real, self.parts.data.imag)
        there = [np.flatnonzero(share > 0) for share in ways]
        at = np.concatenate(there)
        share = np.concatenate([s[i] for s, i in zip(ways, there, strict=True)])
        against = np.repeat([False, True], [len(i) for i in there])
        values, code = np.unique(np.round(share * _ONE), return_inverse=True)
        key = (self.parts.indices[at].astype(np.int64) * len(values) + code) * 2 + against
        _, first, sort = np.unique(key, return_index=True, return_inverse=True)
        makes = sparse.csr_array(
            (np.ones(len(at)), (sort, inner[at])), (len(first), self.parts.shape[0])
        )
        column = self.parts.indices[at[first]].astype(np.int64)
        return column, share[first], against[first], makes

    def tally(self, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """How often paths of each kind cross some columns, by the share of which they do so.

        kind     (P,) code of a path's kind, -1 for those that do not count; columns, rising
        returns  (S,) index into ``columns``, share, whether it is against rather than along;
                 (S, kinds) number of paths
        Paths are counted part by part, not one by one: parts of a path have no column in common
        that is crossed in the same direction.
        """
        kinds = max(int(kind.max(initial=-1)) + 1, 1)
        rows = np.flatnonzero(kind >= 0)
        count = np.zeros(self.parts.shape[0] * kinds, np.int64)
        for slot in self.slots:
            count += np.bincount(
                slot[rows].astype(np.int64) * kinds + kind[rows], minlength=len(count)
            )
        column, share, against, makes = self._sorts
        place = np.full(self.parts.shape[1], -1)
        place[columns] = np.arange(len(columns))
        mine = np.flatnonzero(place[column] >= 0)
        count_of = makes[mine] @ count.reshape(-1, kinds).astype(np.float64)
        return place[column[mine]], share[mine], against[mine], count_of

    def prints(self, live: Bool) -> U64:
        """(C, 2) fingerprints of the columns over the rows that are live; 0 where none crosses it.

        Rows are weighted by random numbers of 64 bits, and sums are taken modulo 2^64: they do not
        depend on any order, and unequal columns collide with a probability below 2^-70.
        """
        paths, width = self.slots.shape[1], self.parts.shape[1]
        rng = np.random.default_rng(0x5EED)
        shares = np.round(self.parts.data.real * _ONE) + np.round(self.parts.data.imag * _ONE)
        whole = sparse.csr_array(
            (shares.astype(np.uint64), self.parts.indices, self.parts.indptr), self.parts.shape
        )
        out = np.zeros((width, 2), np.uint64)
        for number in range(2):
            weights: U64 = np.where(live, rng.integers(2**63, size=paths, dtype=np.uint64), 0)
            each = np.zeros(self.parts.shape[0], np.uint64)
            for slot in self.slots:
                each += _counted(slot, weights, len(each))
            out[:, number] = whole.T @ each
        return out

    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """(P, C) mean, along and against; the three share one pattern, zeros of the latter two
        included, so that their ``data`` are aligned."""
        width = np.diff(self.parts.indptr)
        paths, columns = self.shape
        most = int(sum(int(width[slot].sum()) for slot in self.slots))
        indices = np.empty(most, np.int32)
        along, against = np.empty(most), np.empty(most)
        indptr: npt.NDArray[np.int32 | np.int64] = np.zeros(paths + 1, np.int64)
        for start in range(0, paths, _BLOCK):
            block = self.rows(slice(start, min(start + _BLOCK, paths)))
            low = int(indptr[start])
            high = low + block.nnz
            indptr[start + 1 : start + 1 + block.shape[0]] = low + block.indptr[1:]
            indices[low:high] = block.indices
            along[low:high], against[low:high] = block.data.real, block.data.imag
        size = int(indptr[-1])
        indices, along, against = indices[:size], along[:size], against[:size]
        if size < 2**31:
            indptr = indptr.astype(np.int32)  # as scipy has it
        mean, out, back = (
            sparse.csr_array((data, indices, indptr), (paths, columns), copy=False)
            for data in ((along + against) / 2, along, against)
        )
        return mean, out, back

    def rows(self, rows: I64 | slice, columns: I64 | None = None) -> sparse.csr_array:
        """(n, C) along + i against of some rows; only of some columns, if they are given."""
        slots = self.slots[:, rows]
        if columns is None:
            return _sums(slots, self.parts)
        parts = self.parts[:, columns]
        some = np.diff(parts.indptr) > 0
        at = np.flatnonzero(some[slots].any(axis=0))  # the others cross none of them
        block = _sums(slots[:, at], parts)
        indptr = np.zeros(slots.shape[1] + 1, block.indptr.dtype)
        indptr[at + 1] = np.diff(block.indptr)
        return sparse.csr_array(
            (block.data, block.indices, np.cumsum(indptr)), (slots.shape[1], len(columns))
        )


def _sums(slots: I32, parts: sparse.csr_array) -> sparse.csr_array:
    """(n, C) sum of each row's parts."""
    each = sparse.csr_array(
        (np.ones(slots.size, complex), slots.T.ravel(),
         np.arange(slots.shape[1] + 1) * slots.shape[0]),
        (slots.shape[1], parts.shape[0]),
    )  # fmt: skip
    block: sparse.csr_array = each @ parts
    return block


def _counted(slot: I32, weights: U64, parts: int) -> U64:
    """(Q,) sum of the weights (P,) of each part, modulo 2^64."""
    rows = len(slot)
    one = sparse.csc_array((np.ones(rows, np.uint64), slot, np.arange(rows + 1)), (parts, rows))
    total: U64 = one @ weights
    return total
