"""Which attributions of loss stand by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.detectors import loss
from localizer.evidence import Attribution
from localizer.explanation.issue_features import OWNS
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import Candidate, Over, Unclaimed
from localizer.verdicts.build import Alarm, Finding
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss import rivals
from localizer.verdicts.rules.loss.beside import beside
from localizer.verdicts.rules.loss.containment import Containment, of_a_few
from localizer.verdicts.rules.loss.extent import (
    Recency,
    bad_for,
    certain_loss,
    earliest_s,
    effect_since,
    ended_already,
    symptom_of,
    without_most_answered,
)
from localizer.verdicts.rules.loss.settled import settled
from localizer.verdicts.rules.loss.significance import Significance
from localizer.verdicts.rules.loss.witnesses import Witnesses
from localizer.verdicts.verdict import Beside
from schemas.component_ids import component

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LossPolicy:
    """An attribution stands if its class still loses significantly with the paths left to it.

    significance  whether the probes of a class show a loss
    containment   which classes lie inside another one, by the paths that were probed
    before        what shorter windows leave over
    ended         the input ends with this second
    """

    state: FabricState
    at: int
    alarm: Alarm
    significance: Significance
    containment: Containment
    before: Unclaimed
    ended: bool = False

    @property
    def _parameters(self) -> ReachabilityParameters:
        return self.state.options.verdicts.reachability

    def measured(self) -> Bool:
        """(P,) all: a path without probes has lost none."""
        return np.ones(len(self.alarm.sent), bool)

    def scope(self, _: Attribution) -> Bool:
        """(P,) all."""
        return np.ones(len(self.alarm.sent), bool)

    def refuted(self, attributions: list[Attribution]) -> Bool:
        """(K,) switches whose losses are rather those of a few of their links, and classes that one
        of their rivals outdoes."""
        parameters = self.state.options.verdicts.containment
        few = of_a_few(self.containment, self.alarm.evidence, attributions, parameters)
        if len(attributions) > self._parameters.few_culprits:
            return few
        return few | rivals.outdone(self._comparison, attributions, self.before.left)

    def may_replace(self, attribution: Attribution, refuted: list[Attribution]) -> bool:
        """See ``attribute.Policy``."""
        return rivals.may_replace(self._comparison, attribution, refuted)

    @property
    def _comparison(self) -> rivals.Comparison:
        return rivals.Comparison(self.state, self.at, self.alarm, self.containment)

    def settled(self, attributions: list[Attribution]) -> bool:
        """See ``attribute.Policy``."""
        return settled(self.state, self.at, self.alarm, len(attributions), ended=self.ended)

    def leaves_to_owners(self, attributions: list[Attribution]) -> bool:
        """Where few culprits are compared with each other (``beside``)."""
        few = len(attributions) <= self._parameters.few_culprits
        return few and self.alarm.window_s <= self.state.history.seconds

    def may_be_its_links(self, candidate: Candidate, since_s: int) -> bool:
        """Whether a switch among many culprits, lossy for so long, may yet prove to be several of
        its links."""
        parameters = self._parameters
        few = candidate.culprits <= parameters.few_culprits and not self.before.unsettled
        if few or since_s >= parameters.settled_s:
            return False
        inside = self.containment.inside(candidate.attribution.column)
        return int(self.alarm.groups.directed[inside].sum()) > 1

    def is_rather_its_links(self, candidate: Candidate, since_s: int, mine: Bool) -> bool:
        """Whether several links of a switch without an incident, one of few culprits and lossy for
        so long, explain its losses better than it does, but not yet by what refutes it.

        mine  (P,) bad paths that the switch explains
        More probes tell them apart; a switch that is blamed alone is not kept waiting.
        """
        attribution, parameters, groups = candidate.attribution, self._parameters, self.alarm.groups
        column = attribution.column
        few = candidate.culprits <= parameters.few_culprits
        few &= candidate.culprits + self.before.culprits > 1
        if not few or since_s >= parameters.waiting_s:
            return False
        if groups.directed[column] or not self.state.named.isdisjoint(groups.members[column]):
            return False
        return self._comparison.is_several_links(
            attribution, candidate.others, self._beside_others(candidate), mine,
            parameters.idle_nats,
        )  # fmt: skip

    def _beside_others(self, candidate: Candidate) -> Bool:
        """(P,) paths that count for a candidate, without bad ones that another culprit explains."""
        explained = self.alarm.evidence.bad & ~candidate.rows & (candidate.owner >= 0)
        return candidate.counts & ~explained

    def validate(self, candidate: Candidate) -> Finding | Over | None:
        """See ``attribute.Policy``."""
        state, at, alarm = self.state, self.at, self.alarm
        rows, sent, lost = candidate.rows, alarm.sent, alarm.lost
        shown = self.significance
        share = shown.share(candidate)
        if share is None or self._explained_by_others(candidate):
            return None
        n, k = shown.counts(share * rows)
        healthy = shown.healthy(candidate, n, k)
        if not shown.by_itself(share * rows, share * (rows & candidate.clear), healthy):
            return None
        if not shown.above_its_ends(candidate, n, k):
            return None
        if ended_already(state, at, alarm.window_s, self.containment, candidate.attribution.column):
            return Over()
        apart, usual = self._apart_from_named(candidate, healthy)
        rates = k / alarm.window_s, min(usual * n, k) / alarm.window_s
        elsewhere = self.before.clear
        if candidate.culprits > self._parameters.few_culprits:
            elsewhere = elsewhere & candidate.control
        recency = Recency(state, at, alarm.window_s, sent, elsewhere)
        if not recency.still_loses(share * apart, *rates, usual):
            return Over()
        bad = rows & alarm.evidence.bad
        mine = np.flatnonzero(bad)
        since_s = bad_for(state, at, alarm.window_s, mine)
        effect = effect_since(state, at, since_s, share * rows, candidate.attribution.effect)
        others = without_most_answered(state, at, since_s, share * rows)
        owned = rows & (share >= OWNS)
        certain = np.logical_or(*alarm.groups.certain(candidate.attribution.column)) & rows
        surely = certain_loss(state, at, since_s, certain, effect)
        if surely >= self._parameters.total:
            effect = surely
        symptom = symptom_of(sent, lost, bad, owned, max(effect, others), self._parameters)
        if symptom == "loss" and (
            self.may_be_its_links(candidate, since_s)
            or self.is_rather_its_links(candidate, since_s, bad)
        ):
            return None
        lone, renewal_s = None, self._renewal_s(k, candidate.culprits)
        seen = rows & (share > 0) if shown.among_many else rows
        witnesses = Witnesses.of(state, at, alarm, candidate.attribution, seen)
        if not witnesses.enough():
            if not witnesses.deny(since_s, self._parameters.contradicted):
                return None  # the others have not yet lost enough, nor too little
            lone, renewal_s = witnesses.lone(), max(renewal_s, self._burst_s(mine))
        undenied, denied, known = dict[str, float](), frozenset[str](), Beside()
        few = candidate.culprits <= self._parameters.few_culprits
        # A host that an incident names already would explain all that it complains of.
        host_known = lone is not None and component("host", lone.host) in state.suspects
        if few and not host_known:
            column = candidate.attribution.column
            if lone is None and candidate.attribution.share == 1:
                undenied, denied = self._comparison.told_apart(
                    column, candidate.others, self._beside_others(candidate), bad
                )
            found = beside(
                self._comparison, column, candidate.standing, candidate.others,
                self.before, bad,
            )  # fmt: skip
            if found is None and state.suspects.isdisjoint(undenied):
                return None
            known = found or known
        return Finding(
            symptom, mine,
            float(loss.excess_p_values(np.array([k]), np.array([n]), state.background.rate)[0]),
            effect, at - since_s + 1, lone, renewal_s=renewal_s,
            contains=self.containment.names(candidate.attribution.column),
            crowded=candidate.culprits > self._parameters.few_culprits,
            earliest_s=self._earliest_s(candidate, at - since_s + 1, effect),
            rivals=undenied, denied=denied, beside=known,
            weighed=lone is None and few and alarm.window_s <= state.history.seconds,
        )  # fmt: skip

    def _apart_from_named(self, candidate: Candidate, healthy: float) -> tuple[Bool, float]:
        """Paths (P,) that show whether a class still loses, and the loss that says nothing [1].

        They cross nothing that shorter windows name. All paths of a part of that do, so they are
        compared with the other ones that do.
        """
        rows, named = candidate.rows, self.before.left & ~self.before.clear
        apart = rows & self.before.clear
        if apart.any() or self.alarm.window_s > self.state.history.seconds:
            return apart, healthy
        n, k = self.significance.counts((named & (candidate.share == 0)).astype(np.float64))
        return rows, max(healthy, k / max(n, 1.0))

    def _explained_by_others(self, candidate: Candidate) -> bool:
        """Whether little is left of a class's losses beside those of the few others that the
        strategy blames: it weighs where unknown routes may go, and sums over paths do not."""
        if not candidate.others or candidate.culprits > self._parameters.few_culprits:
            return False
        short = self.alarm.window_s <= self.state.history.seconds
        return short and candidate.attribution.p_value >= self._parameters.significant

    def _earliest_s(self, candidate: Candidate, first_s: int, effect: float) -> int:
        """Second from which on the class may have lost as it does since ``first_s``: its paths that
        cross nothing blamed before, and nothing inside that an open incident names, say."""
        state, groups = self.state, self.alarm.groups
        inside = self.containment.inside(candidate.attribution.column)
        known = inside[groups.holding(state.suspects)[inside]]
        apart = candidate.clear & (candidate.share >= OWNS)
        for each in known.tolist():
            apart &= groups.share(each) == 0
        return earliest_s(state, self.at, np.flatnonzero(apart), first_s, effect)

    def _renewal_s(self, lost: float, culprits: int) -> int:
        """Seconds that bring a few losses more; of a long window no less than until the next, and
        a quarter of it, since gray losses come unevenly; of many culprits no less than until the
        window is judged again."""
        window_s = self.alarm.window_s
        renewal_s = self._parameters.renewal_losses * window_s / max(lost, 1e-9)
        bin_s = self.state.history.long.parameters.bin_s
        least_s = max(bin_s, window_s // 4) if window_s > self.state.history.seconds else 1
        if culprits > self._parameters.few_culprits:
            least_s = max(least_s, self._parameters.again_s)
        return int(np.clip(np.ceil(renewal_s), least_s, window_s))

    def _burst_s(self, bad: I64) -> int:
        """Seconds between two seconds in which some paths lose probes, on average: the losses of
        one burst are seen for as long as the window, but they are one observation of a host."""
        length = min(self.alarm.window_s, self.state.history.seconds)
        lost = self.state.history.by_second("lost", self.at, length, bad)
        return length // max(int((lost > 0).sum()), 1)
