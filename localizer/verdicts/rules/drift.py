"""Hours in which paths become slower while their peers do not -> verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.detectors import drift as detector
from localizer.detectors import peer_groups
from localizer.detectors.drift import Contrast, Drift
from localizer.detectors.latency.sparse_evidence import SparseEvidence
from localizer.evidence import Attribution, Evidence
from localizer.explanation import confidence
from localizer.fabric.observability import Classes
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import Candidate, Unclaimed, attribute
from localizer.verdicts.build import Alarm, Finding
from localizer.verdicts.decision import Decision
from localizer.verdicts.rules import quorum
from localizer.verdicts.verdict import Drifted, Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def learn(state: FabricState, at: int, judged: Bool) -> list[Drift]:
    """Learn the values of this second, if windows end on it; returns what the end of a block tells.

    judged  (P,) paths that may be judged
    The longest span comes last. This changes the drift baseline of the state.
    """
    end_s, shift = at + 1, state.latency.deviation
    if shift is None or end_s % state.options.timing.window_s:
        return []
    healthy = shift.valid & ~shift.flagged & judged & ~_slow(state, len(judged))
    if shift.sparse is not None:
        rows, value_us = _new_answers(state, end_s, shift.sparse, healthy)
        healthy &= shift.sparse.window_s == 0
        state.drift.learn(end_s, rows, value_us)
    rows = np.flatnonzero(healthy)
    value_us = state.latency.baseline.reference[rows] + shift.excess_us[rows]
    state.drift.learn(end_s, rows, value_us)
    blocks = state.drift.close(end_s)
    if not blocks:
        return []
    peers = 2 * peer_groups.peer_groups(state.src, state.dst, state.layer == 1) + state.layer
    return detector.slopes(blocks, peers, state.options.detectors.drift)


def _slow(state: FabricState, paths: int) -> Bool:
    """(P,) paths that may cross a component with an open incident about latency.

    Not all of them are flagged: a queue comes and goes, and what is too little for one path would
    be a slope of many.
    """
    out = np.zeros(paths, bool)
    if state.slow:
        groups = state.classes()
        for column in groups.of_components(state.slow):
            out |= groups.share(column) > 0
    return out


def _new_answers(
    state: FabricState, end_s: int, sparse: SparseEvidence, healthy: Bool
) -> tuple[I64, F64]:
    """Sparse paths (n,) that have answered since the window before, and their mean answer [us].

    Their evidence is longer than a window, so each answer would count again and again; and while it
    holds a slow answer, trouble may have begun or ended in it.
    """
    slow = np.bincount(sparse.answers.row, sparse.answers.slow, len(healthy)) > 0
    rows = np.flatnonzero(healthy & ~slow & (sparse.window_s > 0))
    answers = state.latency.answers
    rtt, second = answers.answers(rows)
    new = (rtt > 0) & (second >= end_s - state.options.timing.window_s - answers.epoch_s)
    count = new.sum(axis=1)
    mean = np.where(new, rtt, 0.0).sum(axis=1, dtype=np.float64) / np.maximum(count, 1)
    return rows[count > 0], mean[count > 0]


def drift(state: FabricState, at: int, judged: Bool, spans: list[Drift]) -> Decision:
    """Components whose paths grow slower than their peers'.

    judged  (P,) paths that may be judged; spans as ``learn`` returns them
    The longest span is judged first, for it shows most; the shorter ones add what it missed. A
    component is reported once two blocks in a row name it: what has only just become significant
    may still be its neighbour. This changes what the state remembers of the block before.
    """
    if not spans:
        return Decision()
    unclaimed = Unclaimed.of(judged)
    verdicts: list[Verdict] = []
    for each in reversed(spans):
        policy = _alarm(state, at, each, unclaimed)
        if policy is not None:
            found, unclaimed = attribute(state, policy, unclaimed)
            verdicts += found
    before = state.drift.named | state.drifting
    state.drift.named = {name for each in verdicts for name in each.tie_set}
    return Decision([each for each in verdicts if not before.isdisjoint(each.tie_set)])


def _alarm(state: FabricState, at: int, drift: Drift, unclaimed: Unclaimed) -> DriftPolicy | None:
    """The policy of one span, if a class has grown more than chance explains."""
    valid = unclaimed.left & drift.valid
    if not valid.any():
        return None
    parameters = state.options.detectors.drift
    groups, vote = state.classes(), quorum.per_pair(state.pair, valid)
    pairs = groups.pooled(vote)
    calm = unclaimed.clear
    grown = detector.without_common_growth(drift, state.pair, calm, parameters)
    score = _scores(groups, grown, valid)
    tested = pairs >= parameters.least_pairs
    if not (tested & (score > parameters.least_score)).any():
        return None
    # What the likeliest culprit adds belongs neither to the common growth nor to the noise.
    top = int(np.argmax(np.where(tested, score, -np.inf)))
    if not _most_cross(groups.share(top), vote, parameters):
        calm = calm & (groups.share(top) < parameters.off_share)
    grown = detector.without_common_growth(drift, state.pair, calm, parameters)
    hours = drift.span_s / 3600
    log_us = state.drift.first(len(valid)) + grown.level
    usual = np.exp(np.where(valid, log_us, 0.0))
    least = parameters.least_per_hour * hours
    # Of many paths together even what hardly shows on one is evidence.
    healthy_us = parameters.healthy_share / 2 * least * float(np.median(usual[valid]))
    known = np.array([not state.drifting.isdisjoint(each) for each in groups.members], bool)
    bad = valid & (grown.rate > parameters.least_per_hour / 2)
    evidence = Evidence(
        groups, valid.astype(np.int64), bad.astype(np.int64), grown.rate * hours * usual * valid,
        grown.noise * hours * usual, bad, state.src, state.layer == 1, state.background.rate,
        latency=True, healthy_us=healthy_us, suspect=known,
    )  # fmt: skip
    window_s = state.options.timing.window_s
    sent, lost = (state.history.total(name, at, window_s) for name in ("sent", "lost"))
    # The growth of hours does not tell one direction, or some five-tuples, from all.
    alarm = Alarm(groups, evidence, sent, lost, drift.span_s, partial=False)
    block_s, spans = state.drift.parameters.block_s, len(parameters.spans)
    level = state.budget.level(len(groups.members), block_s / spans)
    return DriftPolicy(state, at, alarm, level, grown, valid, vote, usual)


def _scores(groups: Classes, drift: Drift, rows: Bool) -> F64:
    weight = drift.weight * rows
    return detector.scores(groups.pooled(weight), groups.pooled(weight * drift.rate))


def _most_cross(share: F64, vote: F64, parameters: detector.DriftParameters) -> bool:
    """Whether most pairs cross a class: what they share is common, not a component's fault.

    Where routes are unknown all shares are small, so the largest counts as a crossing.
    """
    crossing = float((vote * share).sum()) / max(float(share.max(initial=0.0)), 1e-9)
    return crossing > parameters.most_crossed * float(vote.sum())


@dataclass(frozen=True, slots=True)
class DriftPolicy:
    """An attribution stands if the paths left to it grow materially, and more than others do.

    drift  the common growth is removed; valid (P,) paths with a slope; vote (P,) weight of each
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
        """(P,) paths with a slope."""
        return self.valid

    def scope(self, _: Attribution) -> Bool:
        """(P,) all: a path without a slope over this span may have one over another."""
        return np.ones(len(self.valid), bool)

    def leaves_to_owners(self, _: list[Attribution]) -> bool:
        """No."""
        return False

    def refuted(self, _: list[Attribution]) -> None:
        """All classes may be culprits."""

    def may_replace(self, *_: object) -> bool:
        """Nothing is refuted."""
        return True

    def settled(self, _: list[Attribution]) -> bool:
        """Always: culprits of latency are few at once."""
        return True

    def validate(self, candidate: Candidate) -> Finding | None:
        """See ``attribute.Policy``."""
        drift, share, parameters = self.drift, candidate.share, self.state.options.detectors.drift
        rows = candidate.rows
        mine = np.flatnonzero(rows & self.alarm.evidence.bad)
        attribution = candidate.attribution
        certainty = confidence.of_class(attribution.classes, attribution.column)
        weighed = attribution.classes is not None
        vague = weighed and certainty < parameters.least_certainty  # the next block adds to it
        crossed = self.vote * share
        few = (crossed * rows).sum() < parameters.least_pairs or not len(mine)
        if vague or few or _most_cross(share, self.vote, parameters):
            return None
        # Bad or not, what another attribution explains better says nothing about this one.
        number = candidate.owner[mine[0]]
        compared = candidate.counts & ((share == 0) | (candidate.owner == number))
        found, inflated = self._contrast(candidate, compared), self._inflation(candidate)
        p = found.p_value(inflated)
        rest = compared & (self.state.src != self._loudest(share * compared))
        backed = self._contrast(candidate, rest).p_value(inflated) < parameters.least_backing
        hours = float(np.median(drift.hours[mine]))
        smallest = max(parameters.least_per_hour, parameters.least_growth / hours)
        probing = quorum.hosts(self.state.src, rows)
        needed = quorum.needed(probing, self.state.options.observers)
        few = quorum.hosts(self.state.src, rows & self.alarm.evidence.bad) < needed
        if not p < self.level or found.rate < smallest or few or not backed:
            return None
        growth = float(np.expm1(found.rate * hours))
        effect = float(np.median(self.usual[mine])) * growth
        first_s = self.at + 1 - int(hours * 3600)
        far = Drifted(100 * growth, round(hours, 2))
        return Finding("high_latency", mine, p, effect, first_s, drifted=far)

    def _contrast(self, candidate: Candidate, rows: Bool) -> Contrast:
        """Paths across the class beside others: those that cross what a verdict blames already
        beside one another.
        """
        drift = self.drift
        group = 2 * (drift.group - drift.group.min(initial=0)) + candidate.clear
        return detector.contrast(
            candidate.share[rows], drift.rate[rows], drift.weight[rows], group[rows]
        )

    def _loudest(self, share: F64) -> int:
        """The source host that adds most."""
        added = share * self.drift.weight * self.drift.rate
        return int(np.argmax(np.bincount(self.state.src, weights=added)))

    def _inflation(self, candidate: Candidate) -> float:
        """How restless all paths are but those of the likeliest culprit, which must not be its own
        excuse.
        """
        rest = self.valid & (candidate.owner != 0)
        groups = self.alarm.groups
        return detector.inflation(
            groups.pooled(self.vote * rest),
            _scores(groups, self.drift, rest),
            self.state.options.detectors.drift,
        )
