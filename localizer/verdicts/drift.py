"""Half hours in which paths have become slower, compared with those before -> verdicts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer import strategies
from localizer.baselines import peer_groups
from localizer.detectors import drift as detector
from localizer.detectors.drift import Drift
from localizer.evidence import Evidence
from localizer.explanation.issue_features import OWNS
from localizer.explanation.untraced_suspects import widen
from localizer.state import FabricState
from localizer.verdicts import quorum
from localizer.verdicts.common import add_evidence, owners, verdict_on
from localizer.verdicts.verdict import Verdict

Bool = npt.NDArray[np.bool_]

WINDOW_S = 30


def drift(state: FabricState, at: int, judged: Bool) -> list[Verdict]:
    """Learns from each disjoint window; at the end of a half hour, who has drifted since.

    judged  (P,) paths that may speak
    The longest comparison comes first, for it shows most; the shorter ones add what it missed.
    """
    end_s, shift = at + 1, state.shift
    if shift is None or end_s % WINDOW_S:
        return []
    rows = np.flatnonzero(shift.valid & ~shift.flagged & judged)
    value_us = state.latency.reference[rows] + shift.excess_us[rows]
    state.drift.learn(end_s, rows, value_us)
    if end_s % detector.PERIOD_S:
        return []
    crowd = 2 * peer_groups.of(state.src, state.dst, state.layer == 1) + state.layer
    left = judged.copy()
    verdicts: list[Verdict] = []
    for each in reversed(state.drift.close(end_s, crowd)):
        verdicts += _drifted(state, at, each, left)
    return verdicts


def _drifted(state: FabricState, at: int, drift: Drift, left: Bool) -> list[Verdict]:
    """Verdicts of one comparison; takes the paths that they explain out of ``left``."""
    valid, shift, noise = left & drift.valid, drift.shift, drift.noise
    bad = valid & (shift > drift.smallest / 2)
    if not bad.any():
        return []
    groups = state.classes()
    vote = quorum.per_pair(state.pair, valid)
    weight = groups.pooled(vote)
    moved = groups.pooled(vote * shift / noise)
    mean = groups.pooled(vote * shift) / np.maximum(weight, 1e-9)
    level = state.budget.level(len(groups.members), detector.PERIOD_S / len(detector.LAGS))
    p = detector.tail(weight, moved, 1.0)
    if not ((p < level) & (mean >= drift.smallest)).any():
        return []
    usual = np.where(valid, state.latency.reference, 1.0).astype(np.float64)
    evidence = Evidence(
        groups, valid.astype(np.int64), bad.astype(np.int64), shift * usual * valid,
        noise * usual, bad, state.src, state.layer == 1, state.background.rate, latency=True,
    )  # fmt: skip
    blames = strategies.get(state.options.strategy)(evidence)
    owner = owners(groups, blames, latency=True)
    # How restless the rest is; the likeliest culprit must not be its own excuse.
    apart = vote * (valid & (owner != 0))
    inflated = detector.inflation(groups.pooled(apart), groups.pooled(apart * shift / noise))
    verdicts = []
    for number, blame in enumerate(blames):
        share = groups.share(blame.column)
        mine = valid & left & (share > 0) & ~(bad & (owner != number))
        votes = share * vote * mine
        weighed, summed = np.array([votes.sum()]), np.array([(votes * shift / noise).sum()])
        own_p = float(detector.tail(weighed, summed, inflated)[0])
        size = float((votes * shift).sum()) / max(float(weighed[0]), 1e-9)
        rows = np.flatnonzero(mine & bad)
        witnesses = len(np.unique(state.src[rows]))
        if not own_p < level or size < drift.smallest or witnesses < state.options.observers:
            continue
        verdict = verdict_on(
            groups, blame, "high_latency", rows, own_p,
            float(np.median(usual[rows])) * size, at + 1 - drift.lag_s, alone=len(blames) == 1,
        )  # fmt: skip
        _explain(state, at, verdict, share * valid, bad, size, drift)
        widen(state, verdict, share, valid.astype(np.int64), bad.astype(np.int64), bad)
        left &= ~((share >= OWNS) | (bad & (owner == number)))
        verdicts.append(verdict)
    return verdicts


def _explain(state: FabricState, at: int, verdict: Verdict, share: npt.NDArray[np.float64],
             bad: Bool, size: float, drift: Drift) -> None:  # fmt: skip
    sent, lost = (state.history.total(name, at, WINDOW_S) for name in ("sent", "lost"))
    add_evidence(state, verdict, share, sent, lost, bad, detector.PERIOD_S)
    hours = drift.lag_s / 3600
    percent = 100 * np.expm1(size)
    verdict.issue_type = None
    verdict.evidence["drift"] = {"percent": round(percent, 2), "hours": hours}
    verdict.evidence["text"] = (
        f"{verdict.evidence['text']}; drifted by {percent:+.1f} % in {hours:g} h "
        "while the others did not"
    )
