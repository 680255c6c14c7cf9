"""Whether a class loses beside what is known to lose, or is only another name for its losses.

Seconds with few losses fit several components. What is named already, at the loss that suits it
best, must leave losses over before another component is named as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from localizer.explanation.issue_features import OWNS
from localizer.fabric.observability import Classes
from localizer.verdicts.attribute import Unclaimed
from localizer.verdicts.rules.loss.joint_fit import MOST, log_likelihood
from localizer.verdicts.rules.loss.rivals import Comparison
from localizer.verdicts.verdict import Beside

Bool = npt.NDArray[np.bool_]


def beside(
    comparison: Comparison,
    column: int,
    stood: Sequence[int],
    others: Sequence[int],
    before: Unclaimed,
    mine: Bool,
) -> Beside | None:
    """What becomes of open incidents if a class loses as well; None if what is known to lose
    explains its losses too.

    stood   classes of this second's verdicts so far
    others  all classes that the alarm blames besides
    before  what shorter windows leave over; what they explain counts for what explains it
    mine    (P,) bad paths that the class explains
    """
    state, groups = comparison.state, comparison.alarm.groups
    suspects = [each for each in groups.of_components(state.suspects) if each != column]
    if not comparison.compares(mine):
        return Beside()
    sent, lost = comparison.since_began(before.judged, mine)
    share = {each: groups.share(each) for each in {column, *suspects, *stood, *others}}

    def explaining(some: Sequence[int], on: Bool) -> list[int]:
        """Those of some classes that may explain losses on paths (P,), most first."""
        losses = {each: float(lost[on & (share[each] > 0)].sum()) for each in some}
        return sorted((each for each in some if losses[each] > 0), key=lambda each: -losses[each])

    suspects = explaining(suspects, mine)
    on = np.any([share[each] > 0 for each in (column, *suspects)], axis=0)
    rest = explaining([each for each in {*stood, *others} if each not in (column, *suspects)], on)
    worst = [*suspects, *rest][: MOST - 1]
    if not worst:
        return Beside()
    columns = [column, *worst]
    crossings = 2.0 * np.stack([share[each] for each in columns], axis=1)
    # What another culprit than these explains would look like losses of the class.
    counts = before.left | (crossings[:, 1:] >= 2 * OWNS).any(axis=1)
    rows = np.flatnonzero((crossings > 0).any(axis=1) & (sent > 0) & counts)
    crossings, n, k = crossings[rows], sent[rows], lost[rows]

    def nats(some: list[int]) -> float:
        """ln of the likelihood if some of the classes lose."""
        chosen = [columns.index(each) for each in some]
        return log_likelihood(crossings[:, chosen], n, k, state.background.rate)

    known = [each for each in worst if each in suspects or each in stood]
    is_new = column not in groups.of_components(state.suspects)
    if is_new and known:
        # One of the many parts of what loses already always looks worse by chance.
        parts = [comparison.containment.inside(each) for each in known]
        choices = max((len(each) for each in parts if column in each), default=1)
        least = comparison.denied_nats + float(np.log(choices))
        if nats([column, *known]) - nats(known) < least:
            return None
    everything = nats(columns)
    gains = {
        each: everything - nats([other for other in columns if other != each])
        for each in suspects if each in worst
    }  # fmt: skip
    apart = [each for each, gain in gains.items() if gain >= comparison.denied_nats]
    none = state.options.verdicts.reachability.idle_nats
    idle = [each for each, gain in gains.items() if gain < none]
    if idle and everything - nats([each for each in columns if each not in idle]) >= none:
        idle = []  # each is worth nothing beside the others only
    return Beside(_names(groups, apart), _names(groups, idle))


def _names(groups: Classes, columns: Sequence[int]) -> frozenset[str]:
    """Components of some classes."""
    return frozenset(name for each in columns for name in groups.members[each])
