"""Loss and unreachability over the newest 5 and 30 s -> verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.detectors import loss
from localizer.evidence import Attribution, Evidence
from localizer.explanation.issue_features import OWNS
from localizer.fabric.observability import Classes
from localizer.state import FabricState
from localizer.verdicts.attribute import Candidate, Over, Unclaimed, attribute
from localizer.verdicts.build import Alarm, Finding
from localizer.verdicts.decision import Decision, HealthyLoss
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules import quorum
from localizer.verdicts.verdict import Verdict
from schemas.documents.incident import Symptom

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def reachability(state: FabricState, at: int, judged: Bool) -> Decision:
    """Verdicts of all windows; a longer window adds what the shorter ones missed.

    judged  (P,) paths that may be judged
    A second without a verdict is healthy, and the loss baseline may learn from it.
    """
    parameters = state.options.verdicts.reachability
    if not (state.history.total("lost", at, parameters.recent_s) * judged).any():
        return Decision(healthy=_healthy(state, at, judged))
    groups = state.classes()
    level = state.budget.level(len(groups.members), 1.0)
    unclaimed = Unclaimed.of(judged)
    verdicts: list[Verdict] = []
    for length in parameters.windows_s:
        policy = _alarm(state, at, length, unclaimed, groups, level)
        if policy is not None:
            found, unclaimed = attribute(state, policy, unclaimed)
            verdicts += found
    return Decision(verdicts, healthy=None if verdicts else _healthy(state, at, judged))


def _healthy(state: FabricState, at: int, judged: Bool) -> HealthyLoss:
    groups = state.classes()
    sent, lost = (state.history.line(n, at).astype(np.int64) * judged for n in ("sent", "lost"))
    return HealthyLoss(
        float(sent.sum()), float(lost.sum()), groups.pooled(sent), groups.pooled(lost)
    )


def _alarm(
    state: FabricState, at: int, length: int, unclaimed: Unclaimed, groups: Classes, level: float
) -> LossPolicy | None:
    """The policy of one window, if a class loses more than the alarm budget allows."""
    background = state.background
    sent = state.history.total("sent", at, length) * unclaimed.left
    lost = state.history.total("lost", at, length) * unclaimed.left
    pooled = groups.pooled(sent), groups.pooled(lost)
    if not loss.alarming(*pooled, background, level, state.options.detectors.loss).any():
        return None
    p_path = loss.excess_p_values(lost.astype(float), sent.astype(float), background.rate)
    bad = (lost > 0) & (p_path < state.options.verdicts.reachability.bad_path)
    known = _holding(groups, state.suspects)
    limit = state.options.verdicts.attribution.plausible
    plausible = loss.excess_p_values(pooled[1], pooled[0], background.rate) < limit
    evidence = Evidence(
        groups, sent, lost, np.zeros(len(sent)), np.ones(len(sent)), bad,
        state.src, state.layer == 1, background.rate,
        suspect=known, plausible=plausible | known,
    )  # fmt: skip
    return LossPolicy(
        state, at, Alarm(groups, evidence, sent, lost, length), level, unclaimed.clear
    )


def _holding(groups: Classes, names: set[str]) -> Bool:
    """(K,) classes that hold one of these components."""
    return np.array([not names.isdisjoint(members) for members in groups.members], bool)


@dataclass(frozen=True, slots=True)
class LossPolicy:
    """An attribution stands if its class still loses significantly with the paths left to it.

    clear_before  (P,) paths that cross no component which a shorter window blamed
    """

    state: FabricState
    at: int
    alarm: Alarm
    level: float
    clear_before: Bool

    @property
    def _parameters(self) -> ReachabilityParameters:
        return self.state.options.verdicts.reachability

    def measured(self) -> Bool:
        """(P,) all: a path without probes has lost none."""
        return np.ones(len(self.alarm.sent), bool)

    def scope(self, _: Attribution) -> Bool:
        """(P,) all."""
        return np.ones(len(self.alarm.sent), bool)

    def validate(self, candidate: Candidate) -> Finding | Over | None:
        """See ``attribute.Policy``."""
        state, at, alarm = self.state, self.at, self.alarm
        background, observers = state.background, state.options.observers
        share, rows, sent, lost = candidate.share, candidate.rows, alarm.sent, alarm.lost
        n, k = float((share * sent * rows).sum()), float((share * lost * rows).sum())
        parameters = state.options.detectors.loss
        if not loss.alarming(np.array([n]), np.array([k]), background, self.level, parameters)[0]:
            return None
        if not self._by_itself(share * rows, share * (rows & candidate.clear)):
            return None
        if not self._still(share * (rows & self.clear_before)):
            return Over()
        bad = rows & alarm.evidence.bad
        mine = np.flatnonzero(bad)
        first_s = _first_bad(state, at, alarm.window_s, mine)
        effect = _effect_since(state, at, first_s, share * rows, candidate.attribution.effect)
        others = _without_most_answered(state, at, first_s, share * rows)
        lone_host = None
        if not quorum.enough(state.src, lost, sent, rows, background, observers):
            lone_host = state.hosts.names[quorum.loudest(state.src, lost, rows)]
        return Finding(
            _symptom(sent, lost, bad, max(effect, others), self._parameters), mine,
            float(loss.excess_p_values(np.array([k]), np.array([n]), background.rate)[0]),
            effect, first_s, lone_host,
        )  # fmt: skip

    def _by_itself(self, share: F64, apart: F64) -> bool:
        """Whether a component loses also where nothing that was blamed before it can be the cause.

        share, apart  (P,) of its paths, and of those among them that cross nothing blamed so far
        Where routes are unknown, the luck of ECMP puts more of a switch's paths on a lossy link
        than its share says, and the rest would be attributed to the switch.
        """
        sent, lost = self.alarm.sent, self.alarm.lost
        n, k = float((apart * sent).sum()), float((apart * lost).sum())
        if n < self._parameters.apart * float((share * sent).sum()):
            return True  # nothing to compare with: all of its paths cross what was blamed
        return self._significant(k, n)

    def _still(self, share: F64) -> bool:
        """Whether the component loses in the newest seconds too, more than chance would.

        share  (P,) of all paths that cross it: the bad ones alone were chosen because they lost,
               and chance would always look guilty
        """
        history, at, recent_s = self.state.history, self.at, self._parameters.recent_s
        sent, lost, newest = (
            float((share * history.total(name, at, length)).sum())
            for name, length in (("sent", recent_s), ("lost", recent_s), ("lost", recent_s // 2))
        )
        return self._significant(lost, sent) and newest > 0

    def _significant(self, lost: float, sent: float) -> bool:
        background = self.state.background
        p = loss.excess_p_values(
            np.array([lost]), np.array([sent]), background.rate, background.dispersion
        )
        return bool(p[0] < self._parameters.significant)


def _effect_since(state: FabricState, at: int, first_s: int, share: F64, fitted: float) -> float:
    """Loss since the first bad second; that second itself counts only while it is the only one.

    share   (P,) of the paths in question; those that cross the component fully count
    fitted  what the strategy found over the whole window, for want of such paths
    """
    length = max(1, at - first_s)
    counts = share >= OWNS
    sent = int(state.history.total("sent", at, length)[counts].sum())
    lost = int(state.history.total("lost", at, length)[counts].sum())
    return lost / sent if sent else fitted


def _without_most_answered(state: FabricState, at: int, first_s: int, share: F64) -> float:
    """The same without the source host that reports most answers, 0 where too few are left: one
    host that claims answers does not make a component reachable that is silent to all others.
    """
    length = max(1, at - first_s)
    counts = np.flatnonzero(share >= OWNS)
    sent = state.history.total("sent", at, length)[counts]
    lost = state.history.total("lost", at, length)[counts]
    source = state.src[counts]
    if not len(source):
        return 0.0
    rest = source != int(np.argmax(np.bincount(source, sent - lost)))
    if len(np.unique(source[rest & (lost > 0)])) < state.options.observers:
        return 0.0
    return float(lost[rest].sum() / max(int(sent[rest].sum()), 1))


def _symptom(
    sent: I64, lost: I64, bad: Bool, effect: float, parameters: ReachabilityParameters
) -> Symptom:
    """Unreachability when nothing gets through, or nothing of some five-tuples.

    One lost probe of one says nothing about a five-tuple, so only those with more count.
    """
    probed = bad & (sent >= parameters.silent_probes)
    gone = probed.any() and (lost[probed] >= sent[probed]).mean() >= parameters.total
    return "unconnectivity" if effect >= parameters.total or gone else "loss"


def _first_bad(state: FabricState, at: int, length: int, bad: I64) -> int:
    """First second of the window in which the bad paths lost as they did later, not by chance."""
    onset = state.options.verdicts.reachability.onset
    seconds = range(at - length + 1, at + 1)
    lost = np.array([int(state.history.line("lost", s)[bad].sum()) for s in seconds])
    return seconds[int(np.argmax(lost >= max(1.0, onset * lost.max())))]
