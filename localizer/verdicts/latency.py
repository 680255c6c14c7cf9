"""Windows in which paths are slower than their own past -> verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.baselines import peer_groups
from localizer.detectors import latency as detector
from localizer.detectors import spike
from localizer.evidence import Attribution, Evidence
from localizer.fabric.observability import Classes
from localizer.state import FabricState
from localizer.verdicts import quorum
from localizer.verdicts.attribute import PLAUSIBLE, Candidate, Unclaimed, attribute
from localizer.verdicts.build import Alarm, Finding
from localizer.verdicts.decision import Decision
from localizer.verdicts.verdict import Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

WINDOW_S = 30
MOST_MOVED = 0.5  # of a component's paths must have moved, of those that the fault can hit


def latency(state: FabricState, at: int, judged: Bool) -> Decision:
    """Components whose paths are shifted far more often than their jobs' other paths are.

    judged  (P,) paths that may be judged
    Large steps show in five seconds, all others in a window of 30 s; the window adds what five
    seconds missed.
    """
    left = judged
    verdicts: list[Verdict] = []
    window, sudden = state.shift, _sudden(state, at)
    for shift, length, every_s in ((sudden, spike.RECENT_S, 1.0), (window, WINDOW_S, 5.0)):
        if shift is not None:
            policy = _alarm(state, at, shift, judged, left, length, every_s)
            if policy is not None:
                found, rest = attribute(state, policy, Unclaimed.of(left))
                left = rest.left
                verdicts += found
    return Decision(verdicts, deviation=sudden if window is None else None)


def _sudden(state: FabricState, at: int) -> detector.LatencyDeviation | None:
    memory, paths = state.latency, len(state.index)
    if len(memory.reference) < paths:
        return None  # paths joined since the last window: the next one is near
    lines = [state.history.rtt_us(at - back) for back in reversed(range(spike.RECENT_S))]
    return spike.spike(np.stack(lines), memory.reference, memory.ceiling, state.layer)


def _alarm(
    state: FabricState, at: int, shift: detector.LatencyDeviation, judged: Bool, left: Bool,
    length: int, every_s: float,
) -> LatencyPolicy | None:  # fmt: skip
    """The policy of one set of shifts, if a class moves more often than the alarm budget allows.

    judged   (P,) all that may be judged: what a shorter window has explained is no verdict again,
             but its culprit may be that of other paths, too; left (P,) those not explained yet
    length   seconds that were compared; every_s: how often such a test is made
    """
    valid, flagged = shift.valid & judged, shift.flagged & judged
    if not (flagged & left).any():
        return None
    groups, overlay = state.classes(), state.layer == 1
    vote = quorum.per_pair(state.pair, valid)  # a pair's five-tuples share its fate: one vote
    peers = peer_groups.of(state.src, state.dst, overlay)
    # What tunnels is tested twice, for an rnic may fail the overlay alone.
    level = state.budget.level(len(groups.members) + int(groups.tunnels.sum()), every_s)
    if not (_tail(groups, peers, vote * left, flagged, overlay, shift.quietest) < level).any():
        return None
    tail = _tail(groups, peers, vote, flagged, overlay, shift.quietest)
    noise = np.where(shift.noise_us > 0, shift.noise_us, 1.0)
    excess = peer_groups.apart(shift.excess_us, peers, valid)
    evidence = Evidence(
        groups, valid.astype(np.int64), flagged.astype(np.int64), excess, noise, flagged,
        state.src, overlay, state.background.rate, latency=True,
        plausible=tail < PLAUSIBLE,
    )  # fmt: skip
    sent, lost = (state.history.total(name, at, length) for name in ("sent", "lost"))
    alarm = Alarm(groups, evidence, sent, lost, length, shift.excess_us)
    vote = quorum.per_pair(state.pair, left & valid)
    return LatencyPolicy(state, at, alarm, level, shift, valid, peers, vote)


@dataclass(frozen=True, slots=True)
class LatencyPolicy:
    """An attribution stands if most of the paths left to it moved, more often than their peers.

    valid  (P,) paths whose shift is known
    peers  (P,) peer group; vote (P,) weight of each path that is left
    """

    state: FabricState
    at: int
    alarm: Alarm
    level: float
    shift: detector.LatencyDeviation
    valid: Bool
    peers: I64
    vote: F64

    def measured(self) -> Bool:
        """(P,) paths whose shift is known."""
        return self.valid

    def scope(self, attribution: Attribution) -> Bool:
        """(P,) paths whose shift is known, of the overlay alone where only that is hit."""
        return self.valid & self.alarm.evidence.overlay if attribution.tunnelled else self.valid

    def validate(self, candidate: Candidate) -> Finding | None:
        """See ``attribute.Policy``."""
        state, shift, vote = self.state, self.shift, self.vote
        flagged, window_s = self.alarm.evidence.bad, self.alarm.window_s
        share, rows = candidate.share, candidate.rows
        n, k = float((vote * share * rows).sum()), float((vote * share * (rows & flagged)).sum())
        p = peer_groups.tail_of(
            share * rows, self.peers, vote * candidate.counts, flagged, shift.quietest
        )
        mine = np.flatnonzero(rows & flagged)
        witnesses = len(np.unique(state.src[mine]))
        # Five seconds are too short to tell some five-tuples from a rush of some pairs.
        hit = candidate.attribution.share if window_s >= WINDOW_S else 1.0
        if not p < self.level or k < MOST_MOVED * hit * n or witnesses < state.options.observers:
            return None
        lof = None
        if np.isfinite(shift.lof[mine]).any():
            lof = round(float(np.nanmedian(shift.lof[mine])), 2)
        size = float(np.median(shift.excess_us[mine]))
        first_s = _onset(state, self.at, mine)
        return Finding("high_latency", mine, p, size, first_s, lof=lof)


def _tail(
    groups: Classes, peers: I64, vote: F64, moved: Bool, overlay: Bool, quietest: float
) -> F64:
    """(K,) excess p-value of each class; of what tunnels the smaller of all paths' and of the
    overlay's alone."""
    tail = peer_groups.tail(groups.factored, peers, vote, moved, quietest)
    above = peer_groups.tail(groups.factored, peers, vote * overlay, moved, quietest)
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
