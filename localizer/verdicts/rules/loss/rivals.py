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
from localizer.fabric.observability import Classes
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import owners
from localizer.verdicts.build import Alarm
from localizer.verdicts.rules.loss.containment import Containment
from localizer.verdicts.rules.loss.extent import lasting_s, without_first
from localizer.verdicts.rules.loss.joint_fit import log_likelihood
from schemas.component_ids import link_ends

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
                end: nats_above_end(groups, column, end, sent, lost, healthy)
                for end in ends_of(groups, column)
            }
        most = state.options.verdicts.reachability.inside
        return {
            link: -nats_above_end(groups, link, column, sent, lost, healthy)
            for link in links_inside(groups, column, self.containment.inside(column), lost, most)
        }

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

    def several_links(
        self, column: int, others: Sequence[int], counts: Bool, mine: Bool, each_nats: float
    ) -> bool:
        """Whether several links inside a switch explain its losses better than the switch, by so
        much for each link beyond the first. Other arguments as of ``nats``."""
        state, groups = self.state, self.alarm.groups
        if not self.compares(mine):
            return False
        sent, lost = self.since_began(counts & self._apart(column, others, mine), mine)
        most = state.options.verdicts.reachability.inside
        links = links_inside(groups, column, self.containment.inside(column), lost, most)
        return any(
            nats_above_links(groups, column, links[:some], sent, lost, state.background.rate)
            < -each_nats * (some - 1)
            for some in range(2, len(links) + 1)
        )

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
        if attribution.share == 1:
            mine = bad & (groups.share(column) > 0) & (owner == number)
            counts = left & ~(bad & (owner >= 0) & (owner != number))
            others = [each.column for each in attributions if each is not attribution]
            nats = comparison.nats(column, others, counts, mine)
            out[column] |= any(each < 0 for each in nats.values())
            if not groups.directed[column]:
                out[column] |= comparison.several_links(
                    column, others, counts, mine, comparison.denied_nats
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


def ends_of(groups: Classes, column: int) -> list[int]:
    """Classes of the switches at the ends of a link's class, without that class itself."""
    ends = {end for name in groups.members[column] for end in link_ends(name)}
    return [each for each in groups.of_components(ends) if each != column]


def links_inside(groups: Classes, column: int, inside: I64, lost: I64, most: int) -> list[int]:
    """Classes of links inside a class that explain most losses, the first few: of a switch those
    that end at it, where there are some.

    inside  (n,) classes all of whose paths cross the class
    lost    (P,) probes since the trouble began
    """
    links = inside[groups.directed[inside]]
    own = [column in ends_of(groups, each) for each in links.tolist()]
    links = links[own] if any(own) else links
    explained = [
        (float(lost[_certainly(groups, each) > 0].sum()), float(lost[groups.share(each) > 0].sum()))
        for each in links.tolist()
    ]
    order = sorted(range(len(links)), key=lambda n: (explained[n], n), reverse=True)
    return [int(links[n]) for n in order[:most]]


def _certainly(groups: Classes, column: int) -> F64:
    """(P,) how often a round trip certainly crosses a class."""
    there, back = groups.certain(column)
    return there.astype(np.float64) + back


def nats_above_end(
    groups: Classes, column: int, end: int, sent: I64, lost: I64, healthy: float
) -> float:
    """ln of how much likelier the counts are if the link loses than if the switch does, each at
    the loss of a crossing that suits it best.

    column, end  classes of the link and of the switch
    sent, lost   (P,) probes since the trouble began, 0 of paths that do not count
    healthy      loss of a round trip that crosses neither [1]
    """
    switch = groups.share(end)
    rows = np.flatnonzero((switch > 0) & (sent > 0))
    n, k = sent[rows].astype(np.float64), lost[rows].astype(np.float64)
    link = groups.share(column)[rows]
    ways = [2.0 * link, *(each[rows].astype(np.float64) for each in groups.certain(column))]
    best = max(log_likelihood(each[:, None], n, k, healthy) for each in ways)
    return best - log_likelihood(2.0 * switch[rows, None], n, k, healthy)


def nats_above_links(
    groups: Classes, column: int, links: Sequence[int], sent: I64, lost: I64, healthy: float
) -> float:
    """ln of how much likelier the counts are if a switch loses than if some of its links do, at the
    losses of a crossing that suit them best. Arguments as of ``nats_above_end``.

    What is lost where a route is not known may be lost elsewhere too, so it has a loss of its own:
    where answers are not traced, those of each path over the switch come back over other bad links,
    and only the switch would explain what no link of it does.
    """
    switch = groups.share(column)
    rows = np.flatnonzero((switch > 0) & (sent > 0))
    n, k = sent[rows], lost[rows]
    crossed = _certainly(groups, column)[rows]
    inside = [_certainly(groups, each)[rows] for each in links]
    if crossed.any():
        unknown = np.maximum(2.0 * switch[rows] - crossed, 0.0)
    else:
        crossed, unknown = 2.0 * switch[rows], np.zeros(len(rows))
        inside = [2.0 * groups.share(each)[rows] for each in links]
    of_links = log_likelihood(np.stack([*inside, unknown], axis=1), n, k, healthy)
    return log_likelihood(np.stack([crossed, unknown], axis=1), n, k, healthy) - of_links
