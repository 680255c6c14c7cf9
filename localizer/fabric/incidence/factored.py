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

from localizer.fabric.incidence.fingerprints import fingerprints
from localizer.fabric.incidence.segment_paths import SegmentPaths, within
from localizer.fabric.incidence.shares import Shares
from localizer.fabric.incidence.written_out import aligned, product, written_out

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

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
        segments = aligned(*(sparse.csr_array(sparse.vstack([empty, m])) for m in directions))
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
        some.__dict__["segment_paths"] = self.segment_paths  # H is the same
        return some

    @cached_property
    def segment_paths(self) -> SegmentPaths:
        """The transpose of H."""
        return SegmentPaths(self.slots, self.forward.shape[0])

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

    def pooled(self, values: F64 | I64 | U32 | Bool) -> F64:
        """(C,) M^T v of the mean: sum over paths, weighted by the share that crosses a component.

        values  (P,)
        """
        return np.asarray(self._mean_transposed @ self.segment_paths.sums(values))

    def pooled_by_direction(
        self, values: F64 | I64 | U32 | Bool, columns: I64 | None = None
    ) -> tuple[F64, F64, F64]:
        """(C,) ``pooled``, and the sums over the paths that cross a component for certain: forward,
        and reverse. Of some components (n,) only, if they are given.

        values  (P,)
        """
        of_segment = self.segment_paths.sums(values)
        if columns is None or self.forward.nnz < _LARGE:
            rows = slice(None) if columns is None else columns
            every = (self._mean_transposed, *self._certain)
            mean, forward, reverse = (np.asarray(m @ of_segment)[rows] for m in every)
        else:
            some = self._components(columns)
            mean, forward, reverse = (np.asarray(m @ of_segment) for m in some)
        return mean, forward, reverse

    def _components(self, columns: I64) -> list[sparse.csr_array]:
        """(n, Q) three times: mean, and what is certain forward and reverse, of some components.
        Those of the newest call are kept: losses are asked for after what was sent."""
        newest = self._newest_components
        if not newest or not np.array_equal(newest[0][0], columns):
            some = [m[columns] for m in (self._mean_transposed, *self._certain)]
            newest[:] = [(columns.copy(), some)]
        return newest[0][1]

    @cached_property
    def _newest_components(self) -> list[tuple[I64, list[sparse.csr_array]]]:
        """None or one: components, and their matrices."""
        return []

    def crossed_by(self, rows: I64) -> I64:
        """(n,) components that some paths (m,) cross or may cross, rising."""
        segments = np.zeros(self.forward.shape[0], bool)
        segments[self.slots[:, rows]] = True
        components = np.zeros(self.forward.shape[1], bool)
        edges, of = self.forward.indptr, np.flatnonzero(segments)
        components[self.forward.indices[within(edges[of], edges[of + 1])]] = True
        return np.flatnonzero(components)

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
        paths, count = self.segment_paths.of(self._mean.indices[here])
        share = np.repeat(self._mean.data[here], count)
        crossed = np.bincount(paths, share, self.shape[0])
        return crossed.astype(np.float64, copy=False)

    def certain(self, column: int) -> tuple[Bool, Bool]:
        """(P,) (P,) paths that cross a component for certain, forward and reverse."""
        out = []
        for segments in self._certain:
            here = slice(*segments.indptr[column : column + 2])
            paths = np.zeros(self.shape[0], bool)
            paths[self.segment_paths.of(segments.indices[here])[0]] = True
            out.append(paths)
        return out[0], out[1]

    def crossing_counts(self, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """How many paths of each kind cross some components, by share and direction; see
        ``Shares.crossing_counts``.

        kind     (P,) code of a path's kind, -1 for paths that do not count
        columns  rising
        """
        return self._shares.crossing_counts(self.slots, kind, columns)

    @cached_property
    def _shares(self) -> Shares:
        return Shares.of(self.forward, self.reverse)

    def fingerprints(self, live: Bool) -> U64:
        """(C, 2) equal for components whose mean columns are equal over the live paths (P,); 0
        where no live path crosses the component. Those of the newest paths are kept.
        """
        newest = self._newest_fingerprints
        if not newest or not np.array_equal(newest[0][0], live):
            found = fingerprints(self.forward, self.reverse, self.segment_paths, live)
            newest[:] = [(live.copy(), found)]
        return newest[0][1]

    @cached_property
    def _newest_fingerprints(self) -> list[tuple[Bool, U64]]:
        """None or one: the paths that were live, and what they gave."""
        return []

    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """(P, C) M written out: mean, forward and reverse, with one pattern."""
        return written_out(self.slots, self.forward, self.reverse)

    def rows(
        self, rows: I64 | slice, columns: I64 | None = None
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(n, C) (n, C) some rows of M, forward and reverse, with one pattern; only some columns,
        if they are given: (n, len(columns))."""
        return product(self.slots[:, rows], self.forward, self.reverse, columns)
