"""007: each bad path votes for the components it crosses; the most voted is blamed, and again.

Source  Arzani et al., 007 (NSDI 2018): a bad flow gives 1/h to each of its h links; the top link is
        blamed while its share of the votes is at least the threshold, and its flows are removed.
        The threshold is 1 % of the first round's votes there; with whole components in the race
        each good path's silence also counts, so ties go to the column with the larger bad share.
"""

from __future__ import annotations

import numpy as np

from localizer.evidence import Blame, Evidence
from localizer.strategies import strategy

THRESHOLD = 0.05
MOST = 64


@strategy("vote007")
def vote(evidence: Evidence) -> list[Blame]:
    """Classes in the order in which they are blamed."""
    incidence = evidence.incidence
    hops = np.maximum(np.asarray(incidence.sum(axis=1)).ravel(), 1e-12)
    bad = evidence.bad.astype(np.float64)
    crossing = np.maximum(np.asarray(incidence.sum(axis=0)).ravel(), 1e-12)
    first = float(bad.sum())
    blamed: list[Blame] = []
    while bad.any() and len(blamed) < MOST:
        votes = np.asarray(incidence.T @ (bad / hops)).ravel()
        share_bad = np.asarray(incidence.T @ bad).ravel() / crossing
        top = int(np.lexsort((share_bad, np.round(votes, 9)))[-1])
        if votes[top] < THRESHOLD * first / max(float(hops.mean()), 1.0):
            break
        through = np.asarray(incidence[:, [top]].todense()).ravel() > 0
        blamed.append(Blame(top, _effect(evidence, through & (bad > 0)), 1.0))
        bad = np.where(through, 0.0, bad)
    return blamed


def _effect(evidence: Evidence, rows: np.ndarray) -> float:
    if evidence.latency:
        return float(np.median(evidence.excess_us[rows]))
    return float(evidence.lost[rows].sum() / max(1, evidence.sent[rows].sum()))
