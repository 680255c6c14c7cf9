"""Half hours in which paths have become slower, compared with those before -> verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.detectors import drift as detector
from localizer.detectors import peer_groups
from localizer.detectors.drift import Drift
from localizer.evidence import Attribution, Evidence
from localizer.state import FabricState
from localizer.verdicts.attribute import Candidate, Unclaimed, attribute
from localizer.verdicts.build import Alarm, Finding
from localizer.verdicts.decision import Decision
from localizer.verdicts.rules import quorum
from localizer.verdicts.verdict import Drifted, Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]


def learn(state: FabricState, at: int, judged: Bool) -> list[Drift]:
    """Learn from each disjoint window; returns the comparisons that the end of a half hour allows.

    judged  (P,) paths that may be judged
    The longest comparison comes last. This changes the drift baseline of the state.
    """
    end_s, shift = at + 1, state.deviation
    if shift is None or end_s % state.options.timing.window_s:
        return []
    rows = np.flatnonzero(shift.valid & ~shift.flagged & judged)
    value_us = state.latency.reference[rows] + shift.excess_us[rows]
    state.drift.learn(end_s, rows, value_us)
    if end_s % state.drift.parameters.period_s:
        return []
    peers = 2 * peer_groups.peer_groups(state.src, state.dst, state.layer == 1) + state.layer
    parameters = state.options.detectors.drift
    pairs = state.drift.close(end_s)
    return [detector.compare(now, then, peers, parameters) for now, then in pairs]


def drift(state: FabricState, at: int, judged: Bool, comparisons: list[Drift]) -> Decision:
    """Components whose paths have drifted apart from their peers' since earlier half hours.

    judged  (P,) paths that may be judged; comparisons as ``learn`` returns them
    The longest comparison is judged first, for it shows most; the shorter ones add what it missed.
    """
    unclaimed = Unclaimed.of(judged)
    verdicts: list[Verdict] = []
    for each in reversed(comparisons):
        policy = _alarm(state, at, each, unclaimed.left)
        if policy is not None:
            found, unclaimed = attribute(state, policy, unclaimed)
            verdicts += found
    return Decision(verdicts)


def _alarm(state: FabricState, at: int, drift: Drift, left: Bool) -> DriftPolicy | None:
    """The policy of one comparison, if a class drifted more than the alarm budget allows."""
    valid, shift, noise = left & drift.valid, drift.shift, drift.noise
    bad = valid & (shift > drift.smallest / 2)
    if not bad.any():
        return None
    groups = state.classes()
    vote = quorum.per_pair(state.pair, valid)
    weight = groups.pooled(vote)
    moved = groups.pooled(vote * shift / noise)
    mean = groups.pooled(vote * shift) / np.maximum(weight, 1e-9)
    periods, parameters = state.drift.parameters, state.options.detectors.drift
    level = state.budget.level(len(groups.members), periods.period_s / len(periods.lags))
    p = detector.excess_p_values(weight, moved, 1.0, parameters)
    if not ((p < level) & (mean >= drift.smallest)).any():
        return None
    usual = np.where(valid, state.latency.reference, 1.0).astype(np.float64)
    evidence = Evidence(
        groups, valid.astype(np.int64), bad.astype(np.int64), shift * usual * valid,
        noise * usual, bad, state.src, state.layer == 1, state.background.rate, latency=True,
    )  # fmt: skip
    window_s = state.options.timing.window_s
    sent, lost = (state.history.total(name, at, window_s) for name in ("sent", "lost"))
    # Means of half an hour do not tell one direction, or some five-tuples, from all.
    alarm = Alarm(groups, evidence, sent, lost, periods.period_s, partial=False)
    return DriftPolicy(state, at, alarm, level, drift, valid, vote, usual)


@dataclass(frozen=True, slots=True)
class DriftPolicy:
    """An attribution stands if the paths left to it drifted materially, and more than others do.

    valid  (P,) paths that are compared; vote (P,) weight of each
    usual  (P,) round trip of each path [us]
    """

    state: FabricState
    at: int
    alarm: Alarm
    level: float
    drift: Drift
    valid: Bool
    vote: F64
    usual: F64

    def measured(self) -> Bool:
        """(P,) paths that are compared."""
        return self.valid

    def scope(self, _: Attribution) -> Bool:
        """(P,) all: a path that could not be compared over this lag may be over another."""
        return np.ones(len(self.valid), bool)

    def validate(self, candidate: Candidate) -> Finding | None:
        """See ``attribute.Policy``."""
        drift, share, rows = self.drift, candidate.share, candidate.rows
        votes = share * self.vote * rows
        moved = votes * drift.shift / drift.noise
        weight = np.array([votes.sum()])
        parameters, inflated = self.state.options.detectors.drift, self._inflation(candidate)
        total = np.array([moved.sum()])
        p = float(detector.excess_p_values(weight, total, inflated, parameters)[0])
        size = float((votes * drift.shift).sum()) / max(float(weight[0]), 1e-9)
        mine = np.flatnonzero(rows & self.alarm.evidence.bad)
        witnesses = len(np.unique(self.state.src[mine]))
        few = witnesses < self.state.options.observers
        if not p < self.level or size < drift.smallest or few:
            return None
        effect = float(np.median(self.usual[mine])) * size
        far = Drifted(100 * float(np.expm1(size)), drift.lag_s / 3600)
        first_s = self.at + 1 - drift.lag_s
        return Finding("high_latency", mine, p, effect, first_s, drifted=far)

    def _inflation(self, candidate: Candidate) -> float:
        """How restless all paths are but those of the likeliest culprit, which must not be its own
        excuse.
        """
        groups, drift = self.alarm.groups, self.drift
        rest = self.vote * (self.valid & (candidate.owner != 0))
        return detector.inflation(
            groups.pooled(rest),
            groups.pooled(rest * drift.shift / drift.noise),
            self.state.options.detectors.drift,
        )
