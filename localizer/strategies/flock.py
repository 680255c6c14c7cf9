"""Flock: the likeliest set of failed components, each flow being good or bad with given odds.

A flow that crosses no failed component loses packets with probability p2, one that does with
1 - p1. With a share b of its ECMP ways through the hypothesis H, and ``bad`` of its packets lost,

    ln((1 - b) + b ((1 - p1) / p2)^bad (p1 / (1 - p2))^good)

is its log-likelihood relative to "no failure". Added to it is a prior per failed component. The
search is greedy, and the joint likelihood exploration keeps the gain of every neighbour of H at
once: after a step only the flows through the changed component are looked at again.

Source     Harsh et al., Flock (CoNEXT 2023); parameters as tuned there with all routes known.
Chosen by us  The evidence has the share of every single component, not the list of ways, so the
           share that a set touches is 1 - prod (1 - share): exact for known routes, for one
           component and for one in each direction. A step may also take a component out again.
Latency    A path that is late counts as one packet lost, a timely one as one that arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import sparse

from localizer.evidence import F64, I64, Attribution, Evidence
from localizer.strategies.crossing import crossing
from localizer.strategies.registry import strategy, vary
from schemas.parameters.parameter import parameter

_SOURCE: Final = "Harsh et al., Flock, CoNEXT 2023: as tuned there with all routes known"


@dataclass(frozen=True, slots=True)
class FlockParameters:
    """Parameters of Flock.

    bad    1 - p1 of the paper: packet loss of a path over a failed component
    good   p2: packet loss of a healthy path
    prior  log-odds that a component has failed
    most   steps of the search
    """

    bad: float = parameter(3e-3, unit="1", source=_SOURCE)
    good: float = parameter(2e-4, unit="1", source=_SOURCE)
    prior: float = parameter(-15.0, unit="nat", source=_SOURCE)
    most: int = parameter(1024, unit="count", source="chosen: more than any set of culprits")

    @property
    def label(self) -> str:
        """Name of this variant."""
        return f"bad={self.bad}, good={self.good}, prior={self.prior}"


DEFAULT: Final = FlockParameters()
ACTIVE: Final = FlockParameters(5e-4, 1.75e-4, -4.0)  # active probes only
SWEEP = (ACTIVE, *(
    FlockParameters(bad, good, prior)
    for bad in (1e-3, 3e-3, 5e-3, 1e-2, 3e-2, 0.1)
    for good in (1e-6, 1e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3) if good < bad
    for prior in (-2.0, -4.0, -10.0, -15.0)
))  # fmt: skip


@strategy("flock")
def flock(evidence: Evidence) -> list[Attribution]:
    """Classes in the order in which the search took them."""
    return attribute(evidence, DEFAULT)


def attribute(evidence: Evidence, parameters: FlockParameters) -> list[Attribution]:
    """Flock with other parameters."""
    seen = crossing(evidence)
    odds = log_odds(evidence.sent, evidence.lost, parameters)
    return seen.attributions(evidence, search(seen.share, odds, parameters))


def log_odds(sent: I64, lost: I64, parameters: FlockParameters) -> F64:
    """(P,) ln of how much likelier each flow's packets are on a failed path [nat]."""
    lost = np.minimum(lost, sent)
    each_lost = np.log(parameters.bad / parameters.good)
    each_answered = np.log((1.0 - parameters.bad) / (1.0 - parameters.good))
    odds: F64 = lost * each_lost + (sent - lost) * each_answered
    return odds


def search(share: sparse.csr_array, odds: F64, parameters: FlockParameters) -> list[int]:
    """Suspects of the greedy hypothesis, in order; share (P, K), odds (P,)."""
    prior = parameters.prior
    hopeful = np.flatnonzero(np.asarray(share.T @ (odds > 0).astype(float)) > 0)
    if not len(hopeful):
        return []  # no suspect is on a path that speaks for a failure
    joint = Search(share[:, hopeful].tocsr(), odds)
    chosen: list[int] = []
    for _ in range(parameters.most):
        gain = np.round(joint.gain + np.where(joint.blamed, -prior, prior), 6)
        top = int(np.argmax(gain))
        if not gain[top] > 0:
            break
        if joint.blamed[top]:
            chosen.remove(top)
        else:
            chosen.append(top)
        joint.flip(top)
    return [int(hopeful[k]) for k in chosen]


class Search:
    """A hypothesis, and what changing any one component would do to the likelihood.

    gain  (K,) change of the log-likelihood [nat], without the prior
    """

    def __init__(self, share: sparse.csr_array, odds: F64) -> None:
        paths, count = share.shape
        self._share, self._odds = share, odds
        self._columns = share.tocsc()
        self._row = np.repeat(np.arange(paths), np.diff(share.indptr))
        self._sure = np.zeros(paths, np.int64)  # blamed components that the path surely crosses
        self._miss = np.ones(paths)  # probability that it crosses none of the others
        self.blamed = np.zeros(count, bool)
        self._part = self._change(np.arange(share.nnz))
        self.gain = np.bincount(share.indices, self._part, count)

    def flip(self, k: int) -> None:
        """Blame a component, or take the blame back; the gains follow."""
        span = slice(self._columns.indptr[k], self._columns.indptr[k + 1])
        rows, share = self._columns.indices[span], self._columns.data[span]
        step = -1 if self.blamed[k] else 1
        self.blamed[k] = not self.blamed[k]
        self._sure[rows] += np.where(share >= 1.0, step, 0)
        self._miss[rows] *= np.where(share >= 1.0, 1.0, 1.0 - share) ** step
        at = _entries(self._share, rows)
        news = self._change(at)
        self.gain += np.bincount(self._share.indices[at], news - self._part[at], len(self.blamed))
        self._part[at] = news

    def _change(self, at: I64) -> F64:
        """Change of its flow's log-likelihood that flipping each entry's component would make."""
        row, share = self._row[at], self._share.data[at]
        blamed, sure = self.blamed[self._share.indices[at]], share >= 1.0
        certain, miss, odds = self._sure[row], self._miss[row], self._odds[row]
        ways = np.where(sure, 1.0, 1.0 - share)
        miss_then = np.where(blamed, miss / ways, miss * ways)
        certain_then = certain + np.where(sure, np.where(blamed, -1, 1), 0)
        return _likelihood(np.where(certain_then > 0, 0.0, miss_then), odds) - _likelihood(
            np.where(certain > 0, 0.0, miss), odds
        )


def _likelihood(miss: F64, odds: F64) -> F64:
    """ln(miss + (1 - miss) e^odds) [nat]."""
    miss = np.clip(miss, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(miss), np.log1p(-miss) + odds)


def _entries(share: sparse.csr_array, rows: I64) -> I64:
    """Positions in ``share.data`` of all entries of the rows."""
    start, count = share.indptr[rows], share.indptr[rows + 1] - share.indptr[rows]
    total = int(count.sum())
    skip = np.repeat(start - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
    return np.asarray(np.arange(total) + skip, dtype=np.int64)


vary("flock", {p.label: partial(attribute, parameters=p) for p in SWEEP})
