"""Against whom a path is compared: the paths of its own job. Pure.

A training job fills the fabric in bursts, and then all of its paths are slow, whatever they cross.
So a component is suspected when its paths are slow more often than the other paths of the same
jobs. Jobs need not be known: hosts whose containers probe one another form a crowd.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse, special
from scipy.sparse.csgraph import connected_components

from localizer.detectors.latency import QUIETEST
from localizer.fabric.incidence.factored import FactoredIncidence

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

EVERYBODY = 0.1  # quantile of a crowd's lateness that is the crowd's and no component's
FEWEST_OTHERS = 3.0  # votes of paths that do not cross the component: fewer say nothing


def of(source: I32, target: I32, overlay: Bool) -> I64:
    """(P,) crowd of each path.

    source, target  (P,) host codes; overlay (P,) layer
    The crowds are the connected parts of the graph of hosts whose containers probe one another
    (of all probes where there is no overlay); paths between two parts form one crowd more.
    """
    hosts = int(max(source.max(initial=-1), target.max(initial=-1))) + 1
    speak = overlay if overlay.any() else np.ones(len(source), bool)
    edges = sparse.coo_array(
        (np.ones(int(speak.sum()), np.int8), (source[speak], target[speak])), (hosts, hosts)
    )
    parts, part = connected_components(edges, directed=False)
    crowd: I64 = np.where(part[source] == part[target], part[source], parts).astype(np.int64)
    return crowd


def apart(excess_us: F64, crowd: I64, speaks: Bool) -> F64:
    """(P,) excess without what all of a crowd have in common; 0 for paths that do not speak.

    excess_us  (P,) latency above the path's own past [us]; crowd (P,); speaks (P,)
    A burst of the job lifts every path. What nine of ten exceed is the crowd's own, unless it is
    below 0: nobody is late because others are early.
    """
    out = np.zeros(len(excess_us))
    for each in np.unique(crowd[speaks]):
        mine = speaks & (crowd == each)
        out[mine] = excess_us[mine] - max(0.0, float(np.quantile(excess_us[mine], EVERYBODY)))
    return out


def tail(
    factored: FactoredIncidence, crowd: I64, vote: F64, moved: Bool, quietest: float = QUIETEST
) -> F64:
    """P(so many votes moved) if a component's paths moved as often as others of their crowds.

    factored   (P, C) which path crosses which component
    crowd      (P,); vote (P,) weight of each path that speaks, else 0; moved (P,)
    quietest   share that moves in good health, whatever the others do [1]
    returns    (C,) 1 where nothing moved, or where no crowd has others to compare with
    """
    hit = vote * moved
    touched = np.flatnonzero((pooled := factored.pooled(hit)) > 0)
    out = np.ones(len(pooled))
    if len(touched):
        n, k = (factored.pooled_by_group(each, crowd, touched) for each in (vote, hit))
        every, every_hit = (np.bincount(crowd, each).astype(np.float64) for each in (vote, hit))
        out[touched] = _tail(n, k, every, every_hit, quietest)
    return out


def tail_of(share: F64, crowd: I64, vote: F64, moved: Bool, quietest: float = QUIETEST) -> float:
    """The same for one component; share (P,) of which each path crosses it."""
    hit = vote * moved
    n, k, every, every_hit = (
        np.bincount(crowd, each).astype(np.float64)
        for each in (vote * share, hit * share, vote, hit)
    )
    return float(_tail(n[None], k[None], every, every_hit, quietest)[0])


def _tail(n: F64, k: F64, every: F64, every_hit: F64, quietest: float) -> F64:
    """(C,) for components of n (C, G) votes in each crowd, k (C, G) of which moved; every and
    every_hit (G,) are the crowds' own."""
    others = every - n
    others_hit = np.maximum(every_hit - k, 0.0)
    telling = others >= FEWEST_OTHERS
    rate = np.where(telling, np.maximum(others_hit / np.maximum(others, 1e-9), quietest), 0.0)
    votes, found, expected = ((each * telling).sum(axis=1) for each in (n, k, n * rate))
    mean = np.clip(expected / np.maximum(votes, 1e-9), quietest, 1 - 1e-9)
    p = special.betainc(np.maximum(found, 1e-12), np.maximum(votes - found, 0.0) + 1.0, mean)
    return np.where(found > 0, p, 1.0)
