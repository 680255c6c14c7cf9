"""Evidence written out by hand: one line a path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from localizer.evidence import Evidence, Matrices

Shares = Sequence[Sequence[float]]


def evidence(
    shares: Shares,
    lost: Sequence[int],
    sent: int | Sequence[int] = 10,
    *,
    along: Shares | None = None,
    against: Shares | None = None,
    directed: Sequence[bool] | None = None,
) -> Evidence:
    """Paths x classes, and what each path lost of what it sent; bad is what lost anything."""
    paths = len(lost)
    return Evidence(
        Matrices(
            matrix(shares),
            None if along is None else matrix(along),
            None if against is None else matrix(against),
            None if directed is None else np.asarray(directed, bool),
        ),
        sent=np.broadcast_to(np.asarray(sent, np.int64), (paths,)).copy(),
        lost=np.asarray(lost, np.int64),
        excess_us=np.zeros(paths),
        noise_us=np.ones(paths),
        bad=np.asarray(lost) > 0,
        source=np.arange(paths, dtype=np.int32),
        overlay=np.zeros(paths, bool),
        background=2e-4,
    )


def late(shares: Shares, excess_us: Sequence[float], limit_us: float = 5.0) -> Evidence:
    """The same for latency: late beyond the limit is bad."""
    bad = np.asarray(excess_us) > limit_us
    paths = len(bad)
    return Evidence(
        Matrices(matrix(shares)), np.ones(paths, np.int64), bad.astype(np.int64),
        np.asarray(excess_us, np.float64), np.ones(paths), bad, np.arange(paths, dtype=np.int32),
        np.zeros(paths, bool), 2e-4, latency=True,
    )  # fmt: skip


def matrix(shares: Shares) -> sparse.csr_array:
    return sparse.csr_array(np.asarray(shares, np.float64))
