"""007: each bad path votes for the components it crosses; the most voted is blamed, and again.

Source  Arzani et al., 007 (NSDI 2018): a bad flow gives 1/h to each of its h links; the top link is
        blamed while its share of the votes is at least the threshold, and its flows are removed.
        The paper lets links compete; here an rnic, its ToR and more cross the same bad paths, so a
        near tie goes to the column with the larger share of bad paths. The threshold is ours.
"""

from __future__ import annotations

import numpy as np

from localizer.evidence import Blame, Evidence
from localizer.strategies import strategy

THRESHOLD = 0.05
NEARLY = 0.9  # votes within this of the most are a tie
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
        leaders = np.flatnonzero(votes >= NEARLY * votes.max())
        top = int(leaders[np.argmax(share_bad[leaders])])
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
