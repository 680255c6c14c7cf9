"""H^T, segments x paths: sums over the paths of each segment. Pure but for what it remembers.

Counts of a window differ from those of a second ago on few paths: each second adds the probes of
its own and drops those of the second that leaves. Sums of whole numbers are exact, so H^T v is the
sum of a former v and H^T of the difference, to the last bit, in whatever order they are added.

Example: two paths of segments 1 and 2, and 1 and 3, so that H^T v of v = [5, 5] is [10, 5, 5]. Of
v = [6, 5] it is that and H^T [1, 0] = [1, 1, 0].
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from schemas.compiled import native

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

_FEW: Final = 4  # to add paths one by one pays up to this share of all of them, 1 / _FEW
_FEW_REALS: Final = 16  # the same where the order in which they are added shows in the sum
_REMEMBERED: Final = 3  # a second asks for two windows of probes sent, and for itself
_LEAST_PATHS: Final = 1024  # of fewer, nothing is remembered: there is nothing to gain


class _Known(NamedTuple):
    """Counts (P,), their total, and their sums (Q,) by segment."""

    counts: I32
    total: int
    sums: F64


class SegmentPaths:
    """H^T of P paths and Q segments.

    slots    (W, P) segments of each path, 0 for none
    edges    (Q + 1,) where the paths of each segment begin and end
    paths    (edges[-1],) paths of the segments, rising in each; twice where one is made of it twice
    """

    def __init__(self, slots: I32, segments: int) -> None:
        adjacent = slots.strides[1] == slots.itemsize
        self.slots = slots if adjacent else np.ascontiguousarray(slots)
        self.edges, self.paths = _transposed(self.slots, segments)
        self._known: list[_Known] = []  # newest last

    @property
    def segments(self) -> int:
        """Q."""
        return len(self.edges) - 1

    @cached_property
    def _ones(self) -> sparse.csr_array:
        """(Q, P) written out; the compiled helper does without."""
        shape = (self.segments, self.slots.shape[1])
        return sparse.csr_array((np.ones(len(self.paths)), self.paths, self.edges), shape)

    def of(self, segments: I64) -> tuple[I32, I64]:
        """The paths of some segments (n,), one segment after the other, and how many each has."""
        first, end = self.edges[segments], self.edges[segments + 1]
        return self.paths[within(first, end)], end - first

    def sums(self, values: F64 | I64 | U32 | Bool) -> F64:
        """(Q,) H^T v; values (P,), which are not to be written later where they are unsigned. What
        it gives for segment 0 means nothing."""
        if values.dtype.kind not in "iu":
            return self._direct(values, _FEW if values.dtype == np.bool_ else _FEW_REALS)
        there = np.count_nonzero(values)
        if len(values) < _LEAST_PATHS or there <= len(values) // _FEW:
            return self._direct(values, _FEW)
        signed = values.dtype.kind == "i"
        if (signed and values.min() < 0) or values.max() > np.iinfo(np.int32).max:
            return self._direct(values, _FEW)
        total, known = int(values.sum()), self._known
        counts: I32 = (
            values.view(np.int32) if values.dtype == np.uint32 else values.astype(np.int32)
        )
        if known:
            nearest = min(range(len(known)), key=lambda at: abs(known[at].total - total))
            before = known[nearest]
            rows = np.flatnonzero(counts != before.counts)
            if len(rows) <= len(values) // _FEW:
                change = counts[rows].astype(np.float64) - before.counts[rows]
                sums = before.sums.copy()
                self._add(rows, change, sums)
                del known[nearest]
                known.append(_Known(counts, total, sums))
                return sums
        sums = self._direct(values, _FEW)
        known.append(_Known(counts, total, sums))
        del known[:-_REMEMBERED]
        return sums

    def _direct(self, values: F64 | I64 | U32 | Bool, few: int) -> F64:
        if np.count_nonzero(values) < len(values) // few:
            rows = np.flatnonzero(values != 0)  # three times as fast as of numbers
            sums = np.zeros(self.segments)
            self._add(rows, values[rows].astype(np.float64), sums)
            return sums
        weights = values.astype(np.float64)
        helper = native.used()
        if helper is None:
            return np.asarray(self._ones @ weights)
        sums = np.empty(self.segments)
        helper.sum_segments(self.edges, self.paths, weights, sums)
        return sums

    def _add(self, rows: I64, values: F64, sums: F64) -> None:
        """Add the values (n,) of some paths to the sums of all their segments."""
        helper = native.used()
        if helper is not None:
            helper.add_segments(self.slots, rows, values, sums)
            return
        slots = self.slots[:, rows]
        sums += np.bincount(slots.ravel(), np.tile(values, len(slots)), len(sums))

    def sums_of_codes(self, codes: U64) -> U64:
        """(Q, n) the same of numbers (P, n), modulo 2^64."""
        ones = np.ones(len(self.paths), np.uint64)
        shape = (self.segments, self.slots.shape[1])
        return np.asarray(sparse.csr_array((ones, self.paths, self.edges), shape) @ codes)


def within(first: I32 | I64, end: I32 | I64) -> I64:
    """The numbers from each ``first`` (n,) up to but without each ``end``, one after the other."""
    count = (end - first).astype(np.int64)
    before = np.cumsum(count) - count
    numbers: I64 = np.arange(int(count.sum())) + np.repeat(first - before, count)
    return numbers


def _transposed(slots: I32, segments: int) -> tuple[I64, I32]:
    """See ``SegmentPaths``: edges and paths."""
    helper = native.used()
    if helper is not None:
        edges = np.zeros(segments + 1, np.int64)
        helper.count_segments(slots, edges)
        paths = np.empty(int(edges[-1]), np.int32)
        helper.segment_paths(slots, edges[:-1].copy(), paths)
        return edges, paths
    of_path = np.ascontiguousarray(slots.T)  # row by row: H without a sort
    there = of_path > 0
    ends = np.zeros(len(of_path) + 1, np.int64)
    np.cumsum(np.count_nonzero(there, axis=1), out=ends[1:])
    segment = of_path[there]
    ones = np.ones(len(segment), np.int8)
    h = sparse.csr_array((ones, segment, ends), (len(of_path), segments)).tocsc()
    return h.indptr.astype(np.int64), h.indices.astype(np.int32, copy=False)
