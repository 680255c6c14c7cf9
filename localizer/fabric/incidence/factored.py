"""M = H S: the incidence of paths and components as a product of two sparse matrices.

A million paths cross a hundred thousand components in hundreds of places each, but they do so in
few ways: what lies at an endpoint is the same for all paths of that endpoint, and what lies between
two pods is the same for all pairs of their ToRs. Such a list of (component, share) is a segment.

    H   (P, Q)  how often path p is made of segment q [0, 1, ...]
    S   (Q, C)  share of the traversals of segment q that cross component c [0..1]
    M   (P, C)  share of the traversals of path p that cross component c: M = H S

There is one S, and so one M, for each direction: ``forward`` and ``reverse``. Of a link they are
the directions a>b and b>a of its id, of any other component the request and the reply. The mean of
the two is the share of a round trip, so that the logarithm of its survival is linear in it.

Example: two paths from rnic r1 to r2 and r3, below ToR t1 and t2, over the ECMP alternatives of
spine s1 and s2. Segments: 1 = endpoint (r1, t1), 2 = (r2, t2), 3 = (r3, t2), 4 = between the ToRs.

    slots       path 0  path 1        S       r1  t1  r2  r3  t2  s1   s2
    first          1       1          1       1   1   .   .   .   .    .
    second         2       3          2       .   .   1   .   1   .    .
    third          4       4          3       .   .   .   1   1   .    .
                                      4       .   .   .   .   .   0.5  0.5

    M[0] = S[1] + S[2] + S[4] = r1 1, t1 1, r2 1, t2 1, s1 0.5, s2 0.5

H is held by columns of ``slots`` (the ELLPACK format). Sums over paths (M^T v), single columns and
equal columns go through the segments, at a hundredth of the cost of M; M itself is written out only
on request, or for some rows.
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

_UNIT = 2**24  # shares are compared as multiples of 1 / _UNIT
_BLOCK = 65_536  # rows of M that are written out at once
_LARGE = 200_000  # entries of S; to pick rows of fewer costs more than to multiply all of them


@dataclass(frozen=True)
class FactoredIncidence:
    """P paths, Q segments, C components.

    slots             (W, P) segments of each path, 0 for none: H in ELLPACK format
    forward, reverse  (Q, C) S by direction. They share one pattern (the same indices in the same
                      order, zeros included), so that their ``data`` are aligned. Row 0 is empty;
                      segments of one path have no component in common that is crossed in the same
                      direction.
    """

    slots: I32
    forward: sparse.csr_array
    reverse: sparse.csr_array

    @classmethod
    def unfactored(
        cls, forward: sparse.csr_array, reverse: sparse.csr_array | None = None
    ) -> FactoredIncidence:
        """Any M, (P, C) by direction: each path is a segment of its own.

        reverse  None: as forward
        """
        empty = sparse.csr_array((1, forward.shape[1]))
        directions = (forward, forward if reverse is None else reverse)
        segments = _aligned(*(sparse.csr_array(sparse.vstack([empty, m])) for m in directions))
        return cls(np.arange(1, forward.shape[0] + 1, dtype=np.int32)[None], *segments)

    @property
    def shape(self) -> tuple[int, int]:
        """(P, C)."""
        return self.slots.shape[1], self.forward.shape[1]

    def select(self, columns: I64) -> FactoredIncidence:
        """Some of the components."""
        some = FactoredIncidence(
            self.slots, self.forward[:, columns].tocsr(), self.reverse[:, columns].tocsr()
        )
        some.__dict__["transposed"] = self.transposed  # H is the same
        return some

    @cached_property
    def transposed(self) -> sparse.csr_array:
        """(Q, P) the transpose of H, without the empty segment."""
        of_path = np.ascontiguousarray(self.slots.T)  # row by row: H without a sort
        there = of_path > 0
        ends = np.zeros(len(of_path) + 1, np.int64)
        np.cumsum(np.count_nonzero(there, axis=1), out=ends[1:])
        segment = of_path[there]
        shape = (len(of_path), self.forward.shape[0])
        return sparse.csr_array(
            sparse.csr_array((np.ones(len(segment)), segment, ends), shape).tocsc().T
        )

    @cached_property
    def _mean(self) -> sparse.csc_array:
        """(Q, C) mean of both directions."""
        both = self.forward.data + self.reverse.data
        return sparse.csc_array(
            sparse.csr_array(
                (both / 2, self.forward.indices, self.forward.indptr), self.forward.shape
            )
        )

    @cached_property
    def _mean_transposed(self) -> sparse.csr_array:
        """(C, Q) the same, row by row."""
        return sparse.csr_array(self._mean.T)

    def pooled(self, values: F64 | I64 | Bool) -> F64:
        """(C,) M^T v of the mean: sum over paths, weighted by the share that crosses a component.

        values  (P,)
        """
        return np.asarray(self._mean_transposed @ self._of_segments(values))

    def pooled_by_direction(
        self, values: F64 | I64 | Bool, columns: I64 | None = None
    ) -> tuple[F64, F64, F64]:
        """(C,) ``pooled``, and the sums over the paths that cross a component for certain: forward,
        and reverse. Of some components (n,) only, if they are given.

        values  (P,)
        """
        of_segment = self._of_segments(values)
        every = (self._mean_transposed, *self._certain)
        if columns is None or self.forward.nnz < _LARGE:
            rows = slice(None) if columns is None else columns
            mean, forward, reverse = (np.asarray(m @ of_segment)[rows] for m in every)
        else:
            mean, forward, reverse = (np.asarray(m[columns] @ of_segment) for m in every)
        return mean, forward, reverse

    def crossed_by(self, rows: I64) -> I64:
        """(n,) components that some paths (m,) cross or may cross, rising."""
        segments = np.unique(self.slots[:, rows])
        return np.unique(self.forward[segments].indices).astype(np.int64)

    @cached_property
    def _certain(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(C, Q) twice: which segments cross each component for certain, forward and reverse."""
        out = []
        for segments in (self.forward, self.reverse):
            certain = segments.copy()  # zeros are eliminated in place
            certain.data = (certain.data == 1.0).astype(np.float64)
            certain.eliminate_zeros()
            out.append(sparse.csr_array(certain.T))
        return out[0], out[1]

    @cached_property
    def _certain_data(self) -> F64:
        """1 for each entry of S that is certain in some direction, else 0."""
        certain: Bool = (self.forward.data == 1.0) | (self.reverse.data == 1.0)
        return certain.astype(np.float64)

    @cached_property
    def _in_any_direction(self) -> sparse.csc_array:
        """(Q, C) 1 where a segment crosses a component for certain, in some direction."""
        certain = sparse.csc_array(
            sparse.csr_array(
                (self._certain_data, self.forward.indices, self.forward.indptr), self.forward.shape
            )
        )
        certain.eliminate_zeros()
        return certain

    @cached_property
    def partly_certain(self) -> Bool:
        """(C,) components that some paths cross for certain, and some of their traversals not."""
        certain, components = self._certain_data, self.forward.shape[1]
        mean = (self.forward.data + self.reverse.data) / 2
        known, unknown = (
            np.bincount(self.forward.indices, each, components) > 0
            for each in (certain, mean != certain)
        )
        partly: Bool = known & unknown
        return partly

    def _of_segments(self, values: F64 | I64 | Bool) -> F64:
        """(Q,) H^T v; values (P,)."""
        weights = values.astype(np.float64)
        if np.count_nonzero(values) < len(weights) // 16:
            rows = np.flatnonzero(values)
            slots = self.slots[:, rows]
            of_segment = np.bincount(
                slots.ravel(), np.tile(weights[rows], len(slots)), self.forward.shape[0]
            )
            return of_segment.astype(np.float64, copy=False)
        return np.asarray(self.transposed @ weights)

    def pooled_by_group(
        self, values: F64, group: I64, columns: I64, *, certain: bool = False
    ) -> F64:
        """(len(columns), G) ``pooled`` of some components, by the group (P,) of the path.

        values   (P,)
        certain  of the paths that cross a component for certain in some direction, with weight 1
        """
        matrix = self._in_any_direction if certain else self._mean
        segments = sparse.csr_array(matrix[:, columns])
        some = np.diff(segments.indptr) > 0
        number = np.cumsum(some) - 1
        rows = np.flatnonzero(values)
        groups = int(group.max(initial=-1)) + 1
        of_segment = np.zeros(int(some.sum()) * groups)
        for slot in self.slots[:, rows]:
            at = np.flatnonzero(some[slot])
            key = number[slot[at]] * groups + group[rows[at]]
            of_segment += np.bincount(key, values[rows[at]], len(of_segment))
        return np.asarray(segments[some].T @ of_segment.reshape(-1, groups))

    def column(self, column: int) -> F64:
        """(P,) mean shares of one component."""
        here = slice(*self._mean.indptr[column : column + 2])
        paths = self.transposed[self._mean.indices[here]]
        share = np.repeat(self._mean.data[here], np.diff(paths.indptr))
        crossed = np.bincount(paths.indices, share * paths.data, paths.shape[1])
        return crossed.astype(np.float64, copy=False)

    def certain(self, column: int) -> tuple[Bool, Bool]:
        """(P,) (P,) paths that cross a component for certain, forward and reverse."""
        out = []
        for segments in self._certain:
            here = slice(*segments.indptr[column : column + 2])
            paths = np.zeros(self.shape[0], bool)
            paths[self.transposed[segments.indices[here]].indices] = True
            out.append(paths)
        return out[0], out[1]

    @cached_property
    def _distinct(self) -> tuple[I64, F64, Bool, sparse.csr_array]:
        """(D,) component, share and direction (True: reverse) of the entries of S that differ in
        any of these, by component; (D, Q) which segments have each."""
        segment = np.repeat(np.arange(self.forward.shape[0]), np.diff(self.forward.indptr))
        shares = (self.forward.data, self.reverse.data)
        entries = [np.flatnonzero(share > 0) for share in shares]
        entry = np.concatenate(entries)
        share = np.concatenate([s[e] for s, e in zip(shares, entries, strict=True)])
        reverse = np.repeat([False, True], [len(e) for e in entries])
        values, code = np.unique(np.round(share * _UNIT), return_inverse=True)
        key = (self.forward.indices[entry].astype(np.int64) * len(values) + code) * 2 + reverse
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        holders = sparse.csr_array(
            (np.ones(len(entry)), (which, segment[entry])), (len(first), self.forward.shape[0])
        )
        column = self.forward.indices[entry[first]].astype(np.int64)
        return column, share[first], reverse[first], holders

    def crossing_counts(self, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """How many paths of each kind cross some components, by share and direction.

        kind     (P,) code of a path's kind, -1 for paths that do not count
        columns  rising
        returns  (D,) index into ``columns``, share, whether the direction is reverse;
                 (D, kinds) number of paths
        Paths are counted by segment: each has a component in one direction in one segment at most.
        """
        kinds = max(int(kind.max(initial=-1)) + 1, 1)
        rows = np.flatnonzero(kind >= 0)
        count = np.zeros(self.forward.shape[0] * kinds, np.int64)
        for slot in self.slots:
            count += np.bincount(
                slot[rows].astype(np.int64) * kinds + kind[rows], minlength=len(count)
            )
        column, share, reverse, holders = self._distinct
        place = np.full(self.forward.shape[1], -1)
        place[columns] = np.arange(len(columns))
        mine = np.flatnonzero(place[column] >= 0)
        paths = holders[mine] @ count.reshape(-1, kinds).astype(np.float64)
        return place[column[mine]], share[mine], reverse[mine], paths

    def fingerprints(self, live: Bool) -> U64:
        """(C, 2) equal for components whose mean columns are equal over the live paths (P,); 0
        where no live path crosses the component.

        M^T w of random weights w of 64 bits, modulo 2^64: sums do not depend on any order, and
        unequal columns collide with a probability below 2^-70.
        """
        rng = np.random.default_rng(0x5EED)
        shares = np.round(self.forward.data * _UNIT) + np.round(self.reverse.data * _UNIT)
        whole, crossed = self.forward, self.transposed
        columns, paths = whole.shape[1], len(live)
        weights = np.empty((paths, 2), np.uint64)
        for number in range(2):
            draws = rng.integers(2**63, size=paths, dtype=np.uint64)
            weights[:, number] = np.where(live, draws, 0)
        if not paths:
            return np.zeros((columns, 2), np.uint64)
        ones = np.ones(crossed.nnz, np.uint64)
        of_segment = (
            sparse.csr_array((ones, crossed.indices, crossed.indptr), crossed.shape) @ weights
        )
        share = sparse.csr_array(
            (shares.astype(np.uint64), whole.indices, whole.indptr), whole.shape
        )
        return np.asarray(share.T @ of_segment)

    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """(P, C) M written out: mean, forward and reverse, with one pattern."""
        starts = range(0, max(self.shape[0], 1), _BLOCK)
        blocks = [self.rows(slice(start, start + _BLOCK)) for start in starts]
        forward, reverse = (sparse.csr_array(sparse.vstack(b)) for b in zip(*blocks, strict=True))
        mean = (forward.data + reverse.data) / 2
        return (
            sparse.csr_array((mean, forward.indices, forward.indptr), self.shape),
            forward,
            sparse.csr_array((reverse.data, forward.indices, forward.indptr), self.shape),
        )

    def rows(
        self, rows: I64 | slice, columns: I64 | None = None
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(n, C) (n, C) some rows of M, forward and reverse, with one pattern; only some columns,
        if they are given: (n, len(columns))."""
        slots = self.slots[:, rows]
        if columns is None:
            return _aligned(_product(slots, self.forward), _product(slots, self.reverse))
        forward, reverse = self.forward[:, columns], self.reverse[:, columns]
        some = np.diff(forward.indptr) > 0
        crossed = np.flatnonzero(some[slots].any(axis=0))  # the other rows are empty
        shape = (slots.shape[1], len(columns))
        return _aligned(
            *(_spread(_product(slots[:, crossed], m), crossed, shape) for m in (forward, reverse))
        )


def _product(slots: I32, segments: sparse.csr_array) -> sparse.csr_array:
    """(n, C) H S for the paths of some slots (W, n)."""
    width, paths = slots.shape
    h = sparse.csr_array(
        (np.ones(slots.size), slots.T.ravel(), np.arange(paths + 1) * width),
        (paths, segments.shape[0]),
    )
    return sparse.csr_array(h @ segments)


def _spread(matrix: sparse.csr_array, rows: I64, shape: tuple[int, int]) -> sparse.csr_array:
    """The rows of a matrix at other places, between empty ones."""
    length = np.zeros(shape[0] + 1, matrix.indptr.dtype)
    length[rows + 1] = np.diff(matrix.indptr)
    return sparse.csr_array((matrix.data, matrix.indices, np.cumsum(length)), shape)


def _aligned(
    forward: sparse.csr_array, reverse: sparse.csr_array
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both with the union of their patterns, zeros included."""
    marks = []
    for matrix, mark in ((forward, 1), (reverse, 2)):
        matrix.sum_duplicates()  # sorts too
        data = np.full(matrix.nnz, mark, np.int8)
        marks.append(sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape))
    union = sparse.csr_array(marks[0] + marks[1])  # 1: forward only, 2: reverse only, 3: both
    out = []
    for matrix, mark in ((forward, 1), (reverse, 2)):
        data = np.zeros(union.nnz)
        data[(union.data & mark) > 0] = matrix.data
        out.append(sparse.csr_array((data, union.indices, union.indptr), union.shape))
    return out[0], out[1]
