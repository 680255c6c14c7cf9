"""Whether the probes of a class show a loss: significant, risen, and not somebody else's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.detectors import loss
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import Candidate, Unclaimed
from localizer.verdicts.build import Alarm
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.containment import loss_of_ends
from localizer.verdicts.rules.loss.extent import significant
from localizer.verdicts.rules.loss.rise import Rise

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Significance:
    """The probes of one window, against chance, the past and the switches at a link's ends.

    level, level_one_way  largest p-value of a class, and of a link in one direction
    before                what shorter windows leave over
    risen                 how the window compares with the past; None: it is too short to
    """

    state: FabricState
    alarm: Alarm
    level: float
    level_one_way: float
    before: Unclaimed
    risen: Rise | None

    def share(self, candidate: Candidate) -> F64 | None:
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
            if self.among_many:
                risen, options = options[0][0], options[:1]
            options += [(each, self.level_one_way) for each in ways]
        if candidate.stood >= self._parameters.few_culprits:
            joint = self._parameters.significant * self._of_the_whole(candidate)
            many = candidate.stood + 1
            options += [(share, max(level * many, joint)) for share, level in options]
        for share, level in options:
            n, k = self.counts(share * candidate.rows)
            if self._alarming(k, n, level):
                return share
        return risen if self._has_risen(candidate, risen) else None

    @property
    def among_many(self) -> bool:
        """Whether shorter windows found many culprits."""
        return self.before.culprits > self._parameters.few_culprits

    def counts(self, weight: F64) -> tuple[float, float]:
        """Probes sent and lost in the window, weighted by (P,)."""
        return float((weight * self.alarm.sent).sum()), float((weight * self.alarm.lost).sum())

    def healthy(self, candidate: Candidate, sent: float, lost: float) -> float:
        """Loss that is expected of a class which lost so many probes [1]: that of its past, but not
        where it is one of many that lose too much to be healthy, for however long."""
        rate, risen = self.state.background.rate, self._risen(candidate)
        material = (rate + self.state.options.detectors.loss.least_excess) * sent
        if candidate.culprits <= self._parameters.few_culprits or lost <= material:
            return self._past(candidate)
        return rate if risen is None else rate * float(risen.common[candidate.attribution.column])

    def by_itself(self, share: F64, apart: F64, healthy: float) -> bool:
        """Whether a component loses also where nothing that was blamed before it can be the cause.

        share, apart  (P,) of its paths, and of those among them that cross nothing blamed so far
        Where routes are unknown, the luck of ECMP puts more of a switch's paths on a lossy link
        than its share says, and the rest would be attributed to the switch.
        """
        n, k = self.counts(apart)
        if n < self._parameters.apart * self.counts(share)[0]:
            return True  # nothing to compare with: all of its paths cross what was blamed
        return significant(self.state, k, n, healthy)

    def above_its_ends(self, candidate: Candidate, sent: float, lost: float) -> bool:
        """Whether a class, if it is a link, loses more than the other paths of either switch at its
        ends.

        sent, lost  probes of the link
        Of a switch that loses little, the link that chance favours would be named before it.
        """
        if not self.alarm.groups.directed[candidate.attribution.column]:
            return True
        if candidate.culprits > self._parameters.few_culprits:
            return True  # a switch may well have several bad links then
        elsewhere = candidate.counts & candidate.clear & (candidate.share == 0)
        rates = loss_of_ends(
            self.alarm.groups, candidate.attribution.column,
            self.alarm.sent * elsewhere, self.alarm.lost * elsewhere,
        )  # fmt: skip
        return all(significant(self.state, lost, sent, rate) for rate in rates)

    @property
    def _parameters(self) -> ReachabilityParameters:
        return self.state.options.verdicts.reachability

    def _has_risen(self, candidate: Candidate, share: F64) -> bool:
        """Whether some of the paths of a class lose significantly more than in the past."""
        risen = self._risen(candidate)
        if risen is None:
            return False
        parameters, groups = self.state.options.detectors.loss, self.alarm.groups
        column = candidate.attribution.column
        all_sent, _ = self.counts(candidate.share)
        n, k = self.counts(share * candidate.rows)
        p = risen.p_value(column, k, n, n / max(all_sent, 1e-9))
        open_now = not self.state.suspects.isdisjoint(groups.members[column])
        level = self._parameters.significant if open_now else self.level
        return p < level and k > (self._past(candidate) + parameters.least_rise) * n

    def _risen(self, candidate: Candidate) -> Rise | None:
        """How the window compares with the past; of many culprits, beside the paths without any
        where these are enough."""
        if self.risen is None or candidate.culprits <= self._parameters.few_culprits:
            return self.risen
        n, k = self.counts(candidate.control.astype(np.float64))
        if n < self.state.options.detectors.loss.prior_probes:
            return self.risen
        return self.risen.beside(k, n, self.state.background.rate)

    def _past(self, candidate: Candidate) -> float:
        """Loss that is expected of a class by its past [1]."""
        rate, risen = self.state.background.rate, self._risen(candidate)
        return rate if risen is None else max(rate, risen.rate(candidate.attribution.column))

    def _alarming(self, lost: float, sent: float, level: float) -> bool:
        """Whether a loss is significant at a level, and material."""
        parameters, background = self.state.options.detectors.loss, self.state.background
        counts = np.array([sent]), np.array([lost])
        return bool(loss.alarming(*counts, background, level, parameters)[0])

    def _of_the_whole(self, candidate: Candidate) -> bool:
        """Whether the losses of all paths show a culprit beside the others as clearly as an alarm
        must: the paths that are left to it need not show it again."""
        return candidate.attribution.p_value < self.level * len(self.alarm.groups.members)
