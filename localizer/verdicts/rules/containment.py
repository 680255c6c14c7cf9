"""Which classes lie inside another one, and whether its losses are those of a few of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.detectors import loss
from localizer.evidence import Attribution, Evidence
from localizer.fabric.observability import Classes
from localizer.verdicts.parameters import ContainmentParameters

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def contained(groups: Classes, column: int, live: Bool) -> I64:
    """Classes all of whose paths cross a class, but that not all of its paths cross.

    live  (P,) paths that count
    """
    share = groups.share(column)
    inside, total = groups.pooled(live & (share > 0)), groups.pooled(live)
    narrower = total < 0.99 * total[column]
    return np.flatnonzero((total > 0) & narrower & (inside >= total * (1 - 1e-9)))


def names(groups: Classes, column: int, live: Bool) -> frozenset[str]:
    """Components of all classes inside a class; none inside a link."""
    if groups.directed[column]:
        return frozenset()
    inside = contained(groups, column, live).tolist()
    return frozenset(name for each in inside for name in groups.members[each])


def of_a_few(
    groups: Classes,
    evidence: Evidence,
    attributions: list[Attribution],
    parameters: ContainmentParameters,
) -> Bool:
    """(K,) blamed classes whose losses are rather those of a few classes inside.

    A switch with two bad links of eight is one culprit instead of two, so it is what little
    evidence prefers. But the paths that cross it without crossing its worst links lose nothing.
    """
    out = np.zeros(len(groups.members), bool)
    live, directed = evidence.sent > 0, groups.directed
    columns = [each.column for each in attributions]
    for column in columns:
        if directed[column]:
            continue
        inside = contained(groups, column, live)
        if len(inside) < parameters.least_inside:
            continue
        share = groups.share(column)
        sent, lost = evidence.sent * (share > 0), evidence.lost * (share > 0)
        excess = groups.pooled(lost) - evidence.background * groups.pooled(sent)
        few = max(1, int(np.ceil(parameters.worst * len(inside))))
        worst = inside[np.argsort(-excess[inside], kind="stable")[:few]]
        others = [each for each in columns if each != column and each not in set(inside.tolist())]
        apart = live & (share > 0)
        for each in (*worst.tolist(), *others):
            apart &= groups.share(each) < parameters.certain
        rate = float((share * evidence.lost).sum() / max((share * evidence.sent).sum(), 1.0))
        n, k = (
            float((share * evidence.sent)[apart].sum()),
            float((share * evidence.lost)[apart].sum()),
        )
        if n > 0 and rate > evidence.background:
            out[column] = loss.log_likelihood_ratio(k, n, rate, evidence.background) < 0
    return out
