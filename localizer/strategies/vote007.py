"""007: each bad flow votes for the links it crosses; the most voted is blamed, and again.

A bad flow gives 1/h vote to each of its h links. While the top link holds at least a share of
all votes cast, it is blamed, and the flows that may have crossed it are removed with their votes.

Source     Arzani et al., 007 (NSDI 2018). The threshold of 1 % is the paper's.
Chosen by us  A flow is a round trip, and its links are those of both ways. 007 traces the route of
           each bad flow; where we do not know one, its vote is spread over the links it may cross,
           by their shares. The threshold is of all votes at the start: of those still left, the
           last few flows would always reach it. The paper lets links compete; here an rnic, its ToR
           and more cross the same bad paths, so a near tie goes to the class with the larger share
           of bad paths.
Latency    A late path is a bad flow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import sparse

from localizer.evidence import F64, Attribution, Evidence
from localizer.strategies.crossing import column_of, crossing
from localizer.strategies.registry import strategy, vary
from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class Vote007Parameters:
    """Parameters of 007.

    threshold  share of all votes that a link needs
    near_tie   votes within this share of the most are a tie
    most       links
    """

    threshold: float = parameter(0.01, unit="1", source="Arzani et al., 007, NSDI 2018")
    near_tie: float = parameter(
        0.9, unit="1", source="chosen: pytest tests/localizer/strategies (an rnic and its ToR)"
    )
    most: int = parameter(1024, unit="count", source="chosen: more than any set of culprits")


DEFAULT: Final = Vote007Parameters()
SWEEP = (5e-4, 7e-4, 1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 5e-3, 7e-3, 1e-2, 1.5e-2, 2e-2, 3e-2, 5e-2)


@strategy("vote007")
def vote(evidence: Evidence) -> list[Attribution]:
    """Classes in the order in which they are blamed."""
    return attribute(evidence, DEFAULT)


def attribute(evidence: Evidence, parameters: Vote007Parameters) -> list[Attribution]:
    """007 with other parameters."""
    seen = crossing(evidence)
    probed = evidence.sent > 0
    every = np.asarray(seen.share.T @ probed.astype(float))
    bad = (evidence.bad & probed).astype(np.float64)
    total = float(cast(seen.share, bad).sum())
    chosen: list[int] = []
    while len(chosen) < parameters.most:
        votes = cast(seen.share, bad)
        most = float(votes.max(initial=0.0))
        if most <= 0 or most < parameters.threshold * total:
            break
        leaders = np.flatnonzero(votes >= parameters.near_tie * most)
        hit = np.asarray(seen.share.T @ bad)[leaders] / every[leaders]
        top = int(leaders[np.lexsort((-np.round(votes[leaders], 9), -np.round(hit, 9)))[0]])
        chosen.append(top)
        bad[column_of(seen.share, top) > 0] = 0.0
    return seen.attributions(evidence, chosen)


def cast(share: sparse.csr_array, bad: F64) -> F64:
    """(K,) votes: each bad flow (P,) gives 1/h to each of the h links that it crosses."""
    hops = np.asarray(share.sum(axis=1)).ravel()
    return np.asarray(share.T @ (bad / np.where(hops > 0, hops, 1.0)))


vary(
    "vote007",
    {f"threshold={t}": partial(attribute, parameters=Vote007Parameters(t)) for t in SWEEP},
)
