"""Whether what a link loses is rather the loss of a switch at one of its ends, or the reverse.

A switch that loses packets is crossed by many links, and in the first seconds chance lets one of
them look guilty. Only probes since the trouble began tell the link from the switch: those sent
before it were answered by either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.evidence import Attribution
from localizer.fabric.observability import Classes
from localizer.state import FabricState
from localizer.verdicts.attribute import owners
from localizer.verdicts.build import Alarm
from localizer.verdicts.rules.loss.containment import Containment
from localizer.verdicts.rules.loss.extent import lasting_s, without_first
from schemas.component_ids import link_ends

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Losses of one crossing that are tried: from little more than healthy to all.
_TRIED: Final = np.concatenate([np.geomspace(1e-3, 0.5, 20), [0.6, 0.7, 0.8, 0.9, 0.99, 0.9999]])
_LEAST: Final = 1e-6  # a loss that any path may have


@dataclass(frozen=True, slots=True)
class Comparison:
    """A class that an alarm blames, beside its rivals: of a link the switches at its ends, of all
    else the links inside. Over minutes, where what is compared is a rise, there are none."""

    state: FabricState
    at: int
    alarm: Alarm
    containment: Containment

    def nats(self, column: int, counts: Bool, mine: Bool) -> dict[int, float]:
        """Class of each rival -> how much likelier the blamed class is [nat].

        counts, mine  (P,) paths that count, and the bad ones that the blamed class explains
        """
        state, at, groups = self.state, self.at, self.alarm.groups
        if self.alarm.window_s > state.history.seconds or not mine.any():
            return {}
        length = without_first(state, lasting_s(state, at, np.flatnonzero(mine)))
        sent, lost = (state.history.total(name, at, length) * counts for name in ("sent", "lost"))
        healthy = state.background.rate
        if groups.directed[column]:
            return {
                end: nats_above_end(groups, column, end, sent, lost, healthy)
                for end in ends_of(groups, column)
            }
        most = state.options.verdicts.reachability.inside
        return {
            link: -nats_above_end(groups, link, column, sent, lost, healthy)
            for link in links_inside(groups, self.containment.inside(column), lost, most)
        }

    def told_apart(
        self, column: int, counts: Bool, mine: Bool
    ) -> tuple[dict[str, float], frozenset[str]]:
        """Components of rivals that are not denied yet, and ln of how likely each is beside the
        blamed class; and those that are denied. Arguments as of ``nats``."""
        members, nats = self.alarm.groups.members, self.nats(column, counts, mine)
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
            out[column] |= any(nats < 0 for nats in comparison.nats(column, counts, mine).values())
    return out


def ends_of(groups: Classes, column: int) -> list[int]:
    """Classes of the switches at the ends of a link's class, without that class itself."""
    ends = {end for name in groups.members[column] for end in link_ends(name)}
    return [each for each in groups.of_components(ends) if each != column]


def links_inside(groups: Classes, inside: I64, lost: I64, most: int) -> list[int]:
    """Classes of links inside a class that explain most losses, the first few.

    inside  (n,) classes all of whose paths cross the class
    lost    (P,) probes since the trouble began
    """
    links = inside[groups.directed[inside]]
    explained = [float(lost[groups.share(each) > 0].sum()) for each in links.tolist()]
    return [int(each) for each in links[np.argsort(explained, kind="stable")[::-1][:most]]]


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
    best = max(_log_likelihood(each, n, k, healthy) for each in ways)
    return best - _log_likelihood(2.0 * switch[rows], n, k, healthy)


def _log_likelihood(crossings: F64, sent: F64, lost: F64, healthy: float) -> float:
    """ln of the likelihood of counts, at the best loss of one crossing [nat].

    crossings  (n,) how often a round trip crosses the component; of a route that is known in part,
               the expected number
    """
    times, which = np.unique(np.round(crossings, 3), return_inverse=True)
    k, n = (np.bincount(which, each, len(times)) for each in (lost, sent))
    survive = (1.0 - max(healthy, _LEAST)) * (1.0 - _TRIED) ** times[:, None]
    likely = k[:, None] * np.log1p(-survive) + (n - k)[:, None] * np.log(survive)
    return float(likely.sum(axis=0).max())
