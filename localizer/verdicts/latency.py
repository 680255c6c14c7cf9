"""Windows in which paths are slower than their own past -> verdicts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer import strategies
from localizer.baselines import peer_groups
from localizer.detectors import latency as detector
from localizer.detectors import spike
from localizer.evidence import Evidence
from localizer.explanation.issue_features import OWNS
from localizer.explanation.untraced_suspects import widen
from localizer.fabric.observability import Classes
from localizer.state import FabricState
from localizer.verdicts import quorum
from localizer.verdicts.common import PLAUSIBLE, add_evidence, direct, owners, verdict_on
from localizer.verdicts.verdict import I64, Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]

WINDOW_S = 30
MOST_MOVED = 0.5  # of a component's paths must have moved, of those that the fault can hit


def latency(state: FabricState, at: int, judged: Bool) -> list[Verdict]:
    """Components whose paths are shifted far more often than their jobs' other paths are.

    judged  (P,) paths that may speak
    Large steps show in five seconds, all others in a window of 30 s; the window adds what five
    seconds missed.
    """
    left = judged.copy()
    verdicts: list[Verdict] = []
    if (sudden := _sudden(state, at)) is not None:
        verdicts += _shifted(state, at, sudden, judged, left, spike.RECENT_S, 1.0)
    if state.shift is not None:
        verdicts += _shifted(state, at, state.shift, judged, left, WINDOW_S, 5.0)
    else:
        state.shift = sudden  # what anomalies of this second are told by
    return verdicts


def _sudden(state: FabricState, at: int) -> detector.LatencyDeviation | None:
    memory, paths = state.latency, len(state.index)
    if len(memory.reference) < paths:
        return None  # paths joined since the last window: the next one is near
    lines = [state.history.rtt_us(at - back) for back in reversed(range(spike.RECENT_S))]
    return spike.spike(np.stack(lines), memory.reference, memory.ceiling, state.layer)


def _shifted(
    state: FabricState, at: int, shift: detector.LatencyDeviation, judged: Bool, left: Bool,
    length: int, every_s: float,
) -> list[Verdict]:  # fmt: skip
    """Verdicts on one set of shifts; takes the paths that they explain out of ``left``.

    judged   (P,) all that may speak: what a shorter window has explained is no verdict again, but
             its culprit may be that of other paths, too
    length   seconds that were compared; every_s: how often such a test is made
    """
    valid, flagged = shift.valid & judged, shift.flagged & judged
    if not (flagged & left).any():
        return []
    groups, overlay = state.classes(), state.layer == 1
    vote = quorum.per_pair(state.pair, valid)  # a pair's five-tuples share its fate: one vote
    crowd = peer_groups.of(state.src, state.dst, overlay)
    # What tunnels is asked twice, for an rnic may fail the overlay alone.
    level = state.budget.level(len(groups.members) + int(groups.tunnels.sum()), every_s)
    if not (_tail(groups, crowd, vote * left, flagged, overlay, shift.quietest) < level).any():
        return []
    tail = _tail(groups, crowd, vote, flagged, overlay, shift.quietest)
    noise = np.where(shift.noise_us > 0, shift.noise_us, 1.0)
    excess = peer_groups.apart(shift.excess_us, crowd, valid)
    evidence = Evidence(
        groups, valid.astype(np.int64), flagged.astype(np.int64), excess, noise, flagged,
        state.src, overlay, state.background.rate, latency=True,
        plausible=tail < PLAUSIBLE,
    )  # fmt: skip
    verdicts = []
    here = left & valid
    vote = quorum.per_pair(state.pair, here)
    sent, lost = (state.history.total(name, at, length) for name in ("sent", "lost"))
    blames = strategies.get(state.options.strategy)(evidence)
    owner = owners(groups, blames, latency=True)
    for number, blame in enumerate(blames):
        share = groups.share(blame.column)
        speaks = here & overlay if blame.tunnelled else here
        rows = speaks & (share > 0) & ~(flagged & (owner != number))
        n, k = float((vote * share * rows).sum()), float((vote * share * (rows & flagged)).sum())
        p = peer_groups.tail_of(share * rows, crowd, vote * speaks, flagged, shift.quietest)
        mine = np.flatnonzero(rows & flagged)
        witnesses = len(np.unique(state.src[mine]))
        # Five seconds are too short to tell some five-tuples from a rush of some pairs.
        hit = blame.share if length >= WINDOW_S else 1.0
        if not p < level or k < MOST_MOVED * hit * n or witnesses < state.options.observers:
            continue
        size = float(np.median(shift.excess_us[mine]))
        verdict = verdict_on(
            groups, blame, "high_latency", mine, p, size, _onset(state, at, mine),
            alone=len(blames) == 1,
        )  # fmt: skip
        direct(verdict, blame, groups)
        add_evidence(state, verdict, share * valid, sent, lost, flagged, length, shift.excess_us)
        late = (flagged & valid).astype(np.int64)
        widen(state, verdict, share, valid.astype(np.int64), late, flagged)
        if np.isfinite(shift.lof[mine]).any():
            verdict.evidence["lof"] = round(float(np.nanmedian(shift.lof[mine])), 2)
        here &= ~((speaks & (share >= OWNS)) | (flagged & (owner == number)))
        verdicts.append(verdict)
    left &= here | ~valid
    return verdicts


def _tail(
    groups: Classes, crowd: I64, vote: F64, moved: Bool, overlay: Bool, quietest: float
) -> F64:
    """(K,) of each class, as ``crowds.tail``; of what tunnels the smaller of all paths' and of the
    overlay's alone."""
    tail = peer_groups.tail(groups.woven, crowd, vote, moved, quietest)
    above = peer_groups.tail(groups.woven, crowd, vote * overlay, moved, quietest)
    return np.where(groups.tunnels, np.minimum(tail, above), tail)


def _onset(state: FabricState, at: int, bad: I64) -> int:
    """First second from which the bad paths' answers are late: the likeliest change of their level.

    Over what the ring of panes holds; the level of a second is the mean over the bad paths that
    were answered in it of ln(round trip / reference).
    """
    seconds = range(at - state.history.seconds + 1, at + 1)
    rtt = np.stack([state.history.rtt_us(second)[bad] for second in seconds])
    heard = rtt > 0
    ratio = np.log(np.where(heard, rtt, 1.0) / state.latency.reference[bad], where=heard,
                   out=np.zeros_like(rtt))  # fmt: skip
    count = heard.sum(axis=1).astype(np.float64)
    level = ratio.sum(axis=1, dtype=np.float64) / np.maximum(count, 1.0)
    return seconds[spike.change_of_level(level, count)]
