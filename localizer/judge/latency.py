"""Windows in which paths are slower than their own past -> verdicts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer import quorum, strategies
from localizer.detectors import latency as detector
from localizer.detectors import loss
from localizer.evidence import F64, Evidence
from localizer.judge.common import OWNS, add_evidence, owners, share_of, verdict_on
from localizer.state import FabricState
from localizer.verdict import I64, Verdict

Bool = npt.NDArray[np.bool_]

WINDOW_S = 30
CLIP = 12.0  # noise units: one wild path must not outvote the others
MOST_MOVED = 0.5  # of a component's paths must have moved


def latency(state: FabricState, at: int, judged: Bool) -> list[Verdict]:
    """Components whose paths are shifted far more often than all other paths are.

    judged  (P,) paths that may speak
    """
    shift = state.shift
    if shift is None or not (shift.flagged & judged).any():
        return []
    groups = state.classes()
    valid, flagged = shift.valid & judged, shift.flagged & judged
    vote = quorum.per_pair(state.pair, valid)  # a pair's five-tuples share its fate: one vote
    level = state.budget.level(len(groups.members), 5.0)
    every = loss.pooled(groups.incidence, vote)
    moved = loss.pooled(groups.incidence, vote * flagged)
    if not (_p(every, moved, float(vote.sum()), float((vote * flagged).sum())) < level).any():
        return []
    noise = np.where(shift.noise_us > 0, shift.noise_us, 1.0)
    excess = np.clip(shift.excess_us, -CLIP * noise, CLIP * noise) * valid
    evidence = Evidence(
        groups.incidence, valid.astype(np.int64), flagged.astype(np.int64), excess, noise, flagged,
        state.src, state.layer == 1, state.background.rate, latency=True,
    )  # fmt: skip
    verdicts = []
    left = valid.copy()
    sent, lost = (state.history.total(name, at, WINDOW_S) for name in ("sent", "lost"))
    blames = strategies.get(state.options.strategy)(evidence)
    owner = owners(groups.incidence, blames, latency=True)
    for number, blame in enumerate(blames):
        share = share_of(groups.incidence, blame.column)
        rows = left & (share > 0) & ~(flagged & (owner != number))
        n, k = float((vote * share * rows).sum()), float((vote * share * (rows & flagged)).sum())
        rest, rest_moved = float((vote * left).sum()), float((vote * (left & flagged)).sum())
        p = float(_p(np.array([n]), np.array([k]), rest, rest_moved)[0])
        mine = np.flatnonzero(rows & flagged)
        witnesses = len(np.unique(state.src[mine]))
        if not p < level or k < MOST_MOVED * n or witnesses < state.options.observers:
            continue
        size = float(np.median(shift.excess_us[mine]))
        first_s = _onset(state, at, mine, shift.excess_us)
        verdict = verdict_on(groups, blame.column, "high_latency", mine, p, size, first_s)
        add_evidence(state, verdict, share * valid, sent, lost, flagged, WINDOW_S)
        left &= ~((share >= OWNS) | (flagged & (owner == number)))
        verdicts.append(verdict)
    return verdicts


def _p(every: F64, moved: F64, all_every: float, all_moved: float) -> F64:
    """P(so many votes moved) if a component's pairs moved as often as all the others did."""
    others = np.maximum(all_every - every, 1.0)
    rate = np.maximum(np.maximum(all_moved - moved, 0.0) / others, detector.QUIETEST)
    tail = special.betainc(
        np.maximum(moved, 1e-12), np.maximum(every - moved, 0.0) + 1.0, np.minimum(rate, 1 - 1e-9)
    )
    return np.where(moved > 0, tail, 1.0)


def _onset(state: FabricState, at: int, bad: I64, excess_us: F64) -> int:
    """First second of the window from which most of the bad paths' answers are late."""
    late = state.latency.reference_us(bad) + 0.5 * excess_us[bad]
    first = at + 1
    for back in range(min(WINDOW_S, state.history.seconds)):
        rtt = state.history.rtt_us(at - back)[bad]
        heard = rtt > 0
        if heard.any():
            if (rtt[heard] > late[heard]).mean() < 0.5:
                break
            first = at - back
    return first
