"""The quorum of source hosts: no single host may cause a verdict on the network."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.baselines.loss import LossBaseline
from localizer.detectors.loss import excess_p_values

#: No single source host may cause a verdict on the network.
LEAST: Final = 2

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


def needed(source: I32, rows: Bool, most: int) -> int:
    """How many source hosts must see a fault: ``most``, or all that probe the paths in question
    where those are fewer, but two at least.

    source (P,); rows (P,) the paths in question, probed
    The containers of a small job are probed by one or two other hosts and by no more.
    """
    return min(most, max(LEAST, hosts(source, rows)))


def hosts(source: I32, rows: Bool) -> int:
    """Source hosts of some paths [count]."""
    return len(np.unique(source[rows]))


def enough(
    source: I32, lost: I64, sent: I64, rows: Bool, background: LossBaseline, least: int
) -> bool:
    """Whether ``least`` source hosts saw losses, and the evidence stands without the loudest one.

    source, lost, sent  (P,); rows (P,) the paths in question
    """
    hurt = rows & (lost > 0)
    if hosts(source, hurt) < least:
        return False
    rest = rows & (source != loudest(source, lost, rows))
    k, n = float(lost[rest].sum()), float(sent[rest].sum())
    return bool(excess_p_values(np.array([k]), np.array([n]), background.rate)[0] < 1e-4)


def contradicted(source: I32, lost: I64, sent: I64, rows: Bool, level: float) -> bool:
    """Whether the others lose less than the source host with the most losses, by more than chance.

    source, lost, sent  (P,) since that host has lost; rows (P,) the paths in question, probed
    level               largest p-value of what chance does not explain
    True if no other host probes them: then none will ever tell.
    """
    own = rows & (source == loudest(source, lost, rows))
    rest = rows & ~own
    if not rest.any():
        return True
    k, n = int(lost[rest].sum()), int(sent[rest].sum())
    rate = float(lost[own].sum()) / max(float(sent[own].sum()), 1.0)
    return bool(special.bdtr(k, n, min(rate, 1.0)) < level)


def loudest(source: I32, lost: I64, rows: Bool) -> int:
    """The source host with the most lost probes."""
    return int(np.argmax(np.bincount(source[rows], weights=lost[rows])))


def per_pair(pair: I64, valid: Bool) -> F64:
    """(P,) weight that gives each endpoint pair one vote, split over its valid paths."""
    size = np.bincount(pair[valid], minlength=int(pair.max(initial=-1)) + 1)
    return np.where(valid, 1.0 / np.maximum(size[pair], 1), 0.0)
