"""Whether what a link loses is rather the loss of a switch at one of its ends, or the reverse.

A switch that loses packets is crossed by many links, and in the first seconds chance lets one of
them look guilty. Only probes since the trouble began tell the link from the switch: those sent
before it were answered by either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.evidence import Attribution
from localizer.explanation.issue_features import OWNS
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import owners
from localizer.verdicts.build import Alarm
from localizer.verdicts.rules.loss.containment import Containment
from localizer.verdicts.rules.loss.extent import lasting_s, without_first
from localizer.verdicts.rules.loss.link_or_switch import (
    ends_of,
    joins_switches,
    links_of,
    most_explaining,
    nats_above_end,
    nats_above_links,
    together_explaining,
)

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A class that an alarm blames, beside its rivals: of a link the switches at its ends, of all
    else the links inside. Over minutes, where what is compared is a rise, there are none."""

    state: FabricState
    at: int
    alarm: Alarm
    containment: Containment

    def compares(self, mine: Bool) -> bool:
        """Whether there are bad paths (P,), and a window of seconds that is compared."""
        return self.alarm.window_s <= self.state.history.seconds and bool(mine.any())

    def since_began(self, counts: Bool, mine: Bool) -> tuple[I64, I64]:
        """(P,) probes sent and lost since bad paths (P,) began to lose, of the paths that count."""
        state, at = self.state, self.at
        length = without_first(state, lasting_s(state, at, np.flatnonzero(mine)))
        sent, lost = (state.history.total(name, at, length) * counts for name in ("sent", "lost"))
        return sent, lost

    def nats(
        self, column: int, others: Sequence[int], counts: Bool, mine: Bool
    ) -> dict[int, float]:
        """Class of each rival -> how much likelier the blamed class is [nat].

        others        classes that are blamed as well
        counts, mine  (P,) paths that count, and the bad ones that the blamed class explains
        """
        state, groups = self.state, self.alarm.groups
        if not self.compares(mine):
            return {}
        sent, lost = self.since_began(counts, mine)
        healthy = state.background.rate
        apart = self._apart(column, others, mine)
        sent, lost = sent * apart, lost * apart
        if groups.directed[column]:
            return {
                end: nats_above_end(
                    groups, column, end, sent, lost, healthy,
                    alone=not others or not joins_switches(groups, column),
                )
                for end in ends_of(groups, column)
            }  # fmt: skip
        links = links_of(groups, column, self.containment.inside(column))
        most = state.options.verdicts.reachability.inside
        return {
            link: -nats_above_end(
                groups, link, column, sent, lost, healthy,
                alone=not others or not joins_switches(groups, link),
            )
            for link in most_explaining(groups, links, lost, most)
        }  # fmt: skip

    def _apart(self, column: int, others: Sequence[int], mine: Bool) -> Bool:
        """(P,) paths that cross nothing that is known to lose besides a class and its rivals: what
        is blamed as well, and what incidents name that are open or were in the longest of these
        windows. What a second bad link or a dead rnic of a switch loses is no loss of the switch.
        Fewer classes are left out where no bad path would be left."""
        groups, inside = self.alarm.groups, self.containment.inside(column)
        ends = ends_of(groups, column) if groups.directed[column] else []
        others = [each for each in others if each not in ends]
        rivals = {column, *ends, *inside.tolist()}
        known = [each for each in groups.of_components(self.state.troubled) if each not in rivals]
        for some in ({*others, *known}, set(others)):
            apart = np.ones(groups.paths, bool)
            for each in some:
                apart &= groups.share(each) < OWNS
            if (apart & mine).any():
                return apart
        return np.ones(groups.paths, bool)

    def is_several_links(
        self,
        attribution: Attribution,
        others: Sequence[int],
        counts: Bool,
        mine: Bool,
        each_nats: float,
    ) -> bool:
        """Whether several links inside a blamed switch explain its losses better than the switch,
        by so much for each link beyond the first. Other arguments as of ``nats``."""
        state, groups, column = self.state, self.alarm.groups, attribution.column
        if not self.compares(mine):
            return False
        sent, lost = self.since_began(counts & self._apart(column, others, mine), mine)
        inside = links_of(groups, column, self.containment.inside(column))
        most = state.options.verdicts.reachability.several
        links = together_explaining(groups, inside, lost, most)
        if len(links) < 2:
            return False
        partial = attribution.share < 1
        found = nats_above_links(
            groups, column, links, sent, lost, state.background.rate, partial=partial
        )
        return any(nats < -each_nats * more for more, nats in enumerate(found, start=1))

    def told_apart(
        self, column: int, others: Sequence[int], counts: Bool, mine: Bool
    ) -> tuple[dict[str, float], frozenset[str]]:
        """Components of rivals that are not denied yet, and ln of how likely each is beside the
        blamed class; and those that are denied. Arguments as of ``nats``."""
        members, nats = self.alarm.groups.members, self.nats(column, others, counts, mine)
        undenied = {
            name: -nats[rival] - float(np.log(len(members[rival])))
            for rival in nats if nats[rival] < self.denied_nats
            for name in members[rival]
        }  # fmt: skip
        compared = {name for rival in nats for name in members[rival]}
        return undenied, frozenset(compared - undenied.keys())

    @property
    def denied_nats(self) -> float:
        """Nats from which on a rival is denied."""
        return self.state.options.verdicts.reachability.rival_nats


def outdone(comparison: Comparison, attributions: list[Attribution], left: Bool) -> Bool:
    """(K,) blamed classes than which one of their rivals is likelier, or another class by far:
    then only that an open incident names it already spoke for the blamed one.

    left  (P,) paths that no shorter window explains
    """
    groups, bad = comparison.alarm.groups, comparison.alarm.evidence.bad
    out = np.zeros(len(groups.members), bool)
    owner = owners(groups, attributions, latency=False)
    for number, attribution in enumerate(attributions):
        column, classes = attribution.column, attribution.classes or {}
        if classes:
            far_less = max(classes.values()) * np.exp(-comparison.denied_nats)
            out[column] = classes.get(column, 0.0) < far_less
        mine = bad & (groups.share(column) > 0) & (owner == number)
        counts = left & ~(bad & (owner >= 0) & (owner != number))
        others = [each.column for each in attributions if each is not attribution]
        if attribution.share == 1:
            nats = comparison.nats(column, others, counts, mine)
            out[column] |= any(each < 0 for each in nats.values())
        if not groups.directed[column]:
            out[column] |= comparison.is_several_links(
                attribution, others, counts, mine, comparison.denied_nats
            )
    return out


def may_replace(
    comparison: Comparison, attribution: Attribution, refuted: Sequence[Attribution]
) -> bool:
    """Whether a class that is blamed only without refuted ones may stand: it is what outdid one of
    them, a switch at its ends or a class inside, or at least as likely.

    Without the culprit, the next best class explains its losses: another link of the same switch.
    """
    groups, column = comparison.alarm.groups, attribution.column
    for each in refuted:
        classes, directed = each.classes or {}, groups.directed[each.column]
        if classes.get(column, 0.0) >= classes.get(each.column, 1.0):
            return True
        inside = comparison.containment.inside(each.column)
        if column in (ends_of(groups, each.column) if directed else inside):
            return True
    return False
