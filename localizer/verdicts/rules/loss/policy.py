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
from localizer.verdicts.rules.loss.containment import Containment, loss_of_ends, of_a_few
from localizer.verdicts.rules.loss.extent import (
    Recency,
    bad_for,
    certain_loss,
    earliest_s,
    effect_since,
    ended_already,
    significant,
    symptom_of,
    without_most_answered,
)
from localizer.verdicts.rules.loss.rise import Rise
from localizer.verdicts.rules.loss.settled import settled
from localizer.verdicts.rules.loss.witnesses import Witnesses
from localizer.verdicts.verdict import Beside
from schemas.component_ids import component

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LossPolicy:
    """An attribution stands if its class still loses significantly with the paths left to it.

    level, level_one_way  largest p-value of a class, and of a link in one direction
    containment   which classes lie inside another one, by the paths that were probed
    before        what shorter windows leave over
    risen         how the window compares with the past; None: it is too short to
    ended         the input ends with this second
    """

    state: FabricState
    at: int
    alarm: Alarm
    level: float
    level_one_way: float
    containment: Containment
    before: Unclaimed
    risen: Rise | None
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
        share = self.significant_share(candidate)
        if share is None or self._explained_by_others(candidate):
            return None
        n, k = self._counts(share * rows)
        healthy = self._healthy(candidate, n, k)
        if not self._by_itself(share * rows, share * (rows & candidate.clear), healthy):
            return None
        if alarm.groups.directed[candidate.attribution.column] and not self._above_its_ends(
            candidate, n, k
        ):
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
        seen = rows & (share > 0) if self._among_many else rows
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
                self.before.left, bad,
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
        n, k = self._counts((named & (candidate.share == 0)).astype(np.float64))
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

    def significant_share(self, candidate: Candidate) -> F64 | None:
        """(P,) weights of the paths that show the loss significantly: of a link first those that
        cross it for certain, then all by their shares, then those that certainly cross it in one
        direction; None: nothing does.

        Source  Benjamini & Hochberg 1995: as one of many that stand, it may be so many times as
                probable by chance
        """
        column, groups = candidate.attribution.column, self.alarm.groups
        risen = candidate.share
        options = [(candidate.share, self.level)]
        if groups.directed[column]:
            ways = [each.astype(np.float64) for each in groups.certain(column)]
            # Traced paths first: what crosses the link perhaps may lose elsewhere, and does where
            # shorter windows found many culprits.
            options.insert(0, (np.maximum(*ways), self.level))
            if self._among_many:
                risen, options = options[0][0], options[:1]
            options += [(each, self.level_one_way) for each in ways]
        if candidate.stood >= self._parameters.few_culprits:
            joint = self._parameters.significant * self._of_the_whole(candidate)
            many = candidate.stood + 1
            options += [(share, max(level * many, joint)) for share, level in options]
        for share, level in options:
            n, k = self._counts(share * candidate.rows)
            if self._alarming(k, n, level):
                return share
        return risen if self._has_risen(candidate, risen) else None

    def _alarming(self, lost: float, sent: float, level: float) -> bool:
        """Whether a loss is significant at a level, and material."""
        parameters, background = self.state.options.detectors.loss, self.state.background
        counts = np.array([sent]), np.array([lost])
        return bool(loss.alarming(*counts, background, level, parameters)[0])

    def _of_the_whole(self, candidate: Candidate) -> bool:
        """Whether the losses of all paths show a culprit beside the others as clearly as an alarm
        must: the paths that are left to it need not show it again."""
        return candidate.attribution.p_value < self.level * len(self.alarm.groups.members)

    @property
    def _among_many(self) -> bool:
        """Whether shorter windows found many culprits."""
        return self.before.culprits > self._parameters.few_culprits

    def _has_risen(self, candidate: Candidate, share: F64) -> bool:
        """Whether some of the paths of a class lose significantly more than in the past."""
        risen = self._risen(candidate)
        if risen is None:
            return False
        parameters, groups = self.state.options.detectors.loss, self.alarm.groups
        column = candidate.attribution.column
        all_sent, _ = self._counts(candidate.share)
        n, k = self._counts(share * candidate.rows)
        p = risen.p_value(column, k, n, n / max(all_sent, 1e-9))
        open_now = not self.state.suspects.isdisjoint(groups.members[column])
        level = self._parameters.significant if open_now else self.level
        return p < level and k > (self._past(candidate) + parameters.least_rise) * n

    def _counts(self, weight: F64) -> tuple[float, float]:
        """Probes sent and lost in the window, weighted by (P,)."""
        return float((weight * self.alarm.sent).sum()), float((weight * self.alarm.lost).sum())

    def _healthy(self, candidate: Candidate, sent: float, lost: float) -> float:
        """Loss that is expected of a class which lost so many probes [1]: that of its past, but not
        where it is one of many that lose too much to be healthy, for however long."""
        rate, risen = self.state.background.rate, self._risen(candidate)
        material = (rate + self.state.options.detectors.loss.least_excess) * sent
        if candidate.culprits <= self._parameters.few_culprits or lost <= material:
            return self._past(candidate)
        return rate if risen is None else rate * float(risen.common[candidate.attribution.column])

    def _past(self, candidate: Candidate) -> float:
        """Loss that is expected of a class by its past [1]."""
        rate, risen = self.state.background.rate, self._risen(candidate)
        return rate if risen is None else max(rate, risen.rate(candidate.attribution.column))

    def _risen(self, candidate: Candidate) -> Rise | None:
        """How the window compares with the past; of many culprits, beside the paths without any
        where these are enough."""
        if self.risen is None or candidate.culprits <= self._parameters.few_culprits:
            return self.risen
        n, k = self._counts(candidate.control.astype(np.float64))
        if n < self.state.options.detectors.loss.prior_probes:
            return self.risen
        return self.risen.beside(k, n, self.state.background.rate)

    def _by_itself(self, share: F64, apart: F64, healthy: float) -> bool:
        """Whether a component loses also where nothing that was blamed before it can be the cause.

        share, apart  (P,) of its paths, and of those among them that cross nothing blamed so far
        Where routes are unknown, the luck of ECMP puts more of a switch's paths on a lossy link
        than its share says, and the rest would be attributed to the switch.
        """
        n, k = self._counts(apart)
        if n < self._parameters.apart * self._counts(share)[0]:
            return True  # nothing to compare with: all of its paths cross what was blamed
        return significant(self.state, k, n, healthy)

    def _above_its_ends(self, candidate: Candidate, sent: float, lost: float) -> bool:
        """Whether a link loses more than the other paths of either switch at its ends.

        sent, lost  probes of the link
        Of a switch that loses little, the link that chance favours would be named before it.
        """
        if candidate.culprits > self._parameters.few_culprits:
            return True  # a switch may well have several bad links then
        elsewhere = candidate.counts & candidate.clear & (candidate.share == 0)
        rates = loss_of_ends(
            self.alarm.groups, candidate.attribution.column,
            self.alarm.sent * elsewhere, self.alarm.lost * elsewhere,
        )  # fmt: skip
        return all(significant(self.state, lost, sent, rate) for rate in rates)

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
