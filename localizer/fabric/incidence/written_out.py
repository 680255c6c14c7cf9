"""M = H S written out, for some rows or for all. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

_BLOCK = 65_536  # rows of M that are written out at once


def written_out(
    slots: I32, forward: sparse.csr_array, reverse: sparse.csr_array
) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
    """(P, C) M: mean, forward and reverse, with one pattern; arguments as in
    ``FactoredIncidence``."""
    shape = slots.shape[1], forward.shape[1]
    starts = range(0, max(shape[0], 1), _BLOCK)
    blocks = [product(slots[:, start : start + _BLOCK], forward, reverse) for start in starts]
    out, back = (sparse.csr_array(sparse.vstack(b)) for b in zip(*blocks, strict=True))
    return (
        sparse.csr_array(((out.data + back.data) / 2, out.indices, out.indptr), shape),
        out,
        sparse.csr_array((back.data, out.indices, out.indptr), shape),
    )


def product(
    slots: I32, forward: sparse.csr_array, reverse: sparse.csr_array, columns: I64 | None = None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """(n, C) (n, C) H S of the paths of some slots (W, n), forward and reverse, with one pattern;
    only some columns, if they are given: (n, len(columns))."""
    if columns is None:
        return aligned(_product(slots, forward), _product(slots, reverse))
    forward, reverse = forward[:, columns], reverse[:, columns]
    some = np.diff(forward.indptr) > 0
    crossed = np.flatnonzero(some[slots].any(axis=0))  # the other rows are empty
    shape = (slots.shape[1], len(columns))
    return aligned(
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


def aligned(
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
