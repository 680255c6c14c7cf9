"""Fingerprints of components: equal where the same paths cross them in the same shares. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.fabric.incidence.segment_paths import SegmentPaths

Bool = npt.NDArray[np.bool_]
U64 = npt.NDArray[np.uint64]

_UNIT = 2**24  # shares are compared as multiples of 1 / _UNIT


def fingerprints(
    forward: sparse.csr_array, reverse: sparse.csr_array, paths: SegmentPaths, live: Bool
) -> U64:
    """(C, 2) equal for components whose mean columns are equal over the live paths (P,); 0 where no
    live path crosses the component.

    forward, reverse  (Q, C) S by direction, with one pattern
    paths             H^T

    M^T w of random weights w of 64 bits, modulo 2^64: sums do not depend on any order, and unequal
    columns collide with a probability below 2^-70.
    """
    if not len(live):
        return np.zeros((forward.shape[1], 2), np.uint64)
    rng = np.random.default_rng(0x5EED)
    weights = np.empty((len(live), 2), np.uint64)
    for number in range(2):
        draws = rng.integers(2**63, size=len(live), dtype=np.uint64)
        weights[:, number] = np.where(live, draws, 0)
    shares = np.round(forward.data * _UNIT) + np.round(reverse.data * _UNIT)
    share = sparse.csr_array(
        (shares.astype(np.uint64), forward.indices, forward.indptr), forward.shape
    )
    return np.asarray(share.T @ paths.sums_of_codes(weights))
