"""Which source hosts bear witness to a lossy class: what ``quorum`` asks, of one attribution.

A path counts by the probability with which a round trip crosses the class, of a link that is bad in
one direction in that direction. A host whose paths cross it with a small probability, or the other
way, bears no witness for it nor against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localizer.evidence import Attribution
from localizer.explanation.explain import Lone
from localizer.state.fabric_state import FabricState
from localizer.verdicts.build import Alarm
from localizer.verdicts.rules import quorum

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Of one attribution.

    rows      (P,) paths that are left to it
    crossing  (P,) probability that such a path crosses the class
    probing   (P,) the same given what the path answered, 0 where it is not probed any more
    hosts     source hosts that probe the class [count]; needed: that it takes to blame it
    """

    state: FabricState
    at: int
    alarm: Alarm
    rows: Bool
    crossing: F64
    probing: F64
    hosts: int
    needed: int

    @classmethod
    def of(
        cls, state: FabricState, at: int, alarm: Alarm, attribution: Attribution, rows: Bool
    ) -> Witnesses:
        """Those of an attribution, to which some paths (P,) are left."""
        crossing = _crossing(alarm, attribution, rows)
        length = min(alarm.window_s, state.history.seconds)
        probed = (alarm.sent > 0) | state.probed(at, length)
        after = quorum.given_answers(crossing, alarm.sent, alarm.lost, attribution.effect)
        hosts = quorum.probing(state.src, after * probed)
        needed = quorum.needed(hosts, state.options.observers)
        return cls(state, at, alarm, rows, crossing, after * probed, hosts, needed)

    def enough(self) -> bool:
        """Whether so many hosts saw losses that no single one decides."""
        state, alarm = self.state, self.alarm
        return quorum.enough(
            state.src, alarm.lost, alarm.sent, self.crossing, state.background, self.needed
        )

    def deny(self, since_s: int, level: float) -> bool:
        """Whether the others deny what the loudest host says, by what they have sent in the newest
        ``since_s`` seconds, however rarely they probe."""
        history = self.state.history
        sent, lost = (history.total(name, self.at, since_s) for name in ("sent", "lost"))
        return quorum.contradicted(self.state.src, lost, sent, self.probing, level)

    def lone(self) -> Lone:
        """The host that complains most, if the others deny it."""
        source, lost = self.state.src, self.alarm.lost
        seeing = quorum.hosts(source, self.rows & (lost > 0))
        return Lone(
            self.state.hosts.names[quorum.loudest(source, lost, self.crossing)],
            seeing,
            max(seeing, self.hosts),
            self.needed,
        )


def _crossing(alarm: Alarm, attribution: Attribution, rows: Bool) -> F64:
    """(P,) probability that a round trip of some paths crosses a class, of a link that is bad in
    one direction in that direction; 0 for other paths."""
    here, column = np.flatnonzero(rows), attribution.column
    forward, reverse = alarm.groups.rows(here, np.array([column]))
    there, back = forward.toarray()[:, 0], reverse.toarray()[:, 0]
    either = 1.0 - (1.0 - there) * (1.0 - back)
    one_way = {"a>b": there, "b>a": back} if alarm.groups.directed[column] else {}
    out = np.zeros(len(rows))
    # Shares of ECMP paths add up to 1 but for rounding, and beyond 1 there is no logarithm.
    out[here] = np.round(one_way.get(attribution.direction or "both", either), 9)
    return out
