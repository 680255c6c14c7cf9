"""Which classes lie inside another one, and whether its losses are those of a few of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from localizer.detectors import loss
from localizer.evidence import Attribution, Evidence
from localizer.fabric.observability import Classes
from localizer.verdicts.parameters import ContainmentParameters
from schemas.component_ids import link_ends

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class Containment:
    """Which classes all live paths of which cross another one.

    live  (P,) paths that count
    """

    def __init__(self, groups: Classes, live: Bool) -> None:
        self.groups, self._live = groups, live
        self._inside: dict[int, I64] = {}

    def inside(self, column: int) -> I64:
        """Classes all of whose paths cross a class, but that not all of its paths cross.

        A path that crosses one for certain must cross the other for certain: where answers are not
        traced, each may come back over any spine, but no spine contains the links of another one.
        """
        found = self._inside.get(column)
        if found is None:
            total = self._total
            crossing = self.groups.pooled(self._live & (self.groups.share(column) > 0))
            narrower = (total > 0) & (total < 0.99 * total[column])
            within = narrower & (crossing >= total * (1 - 1e-9))
            if within.any():
                both = self._live & np.logical_or(*self.groups.certain(column))
                _, *ways = self.groups.pooled_by_direction(both)
                for way, of_all in zip(ways, self._certain, strict=True):
                    within &= way >= of_all * (1 - 1e-9)
            found = np.flatnonzero(within)
            self._inside[column] = found
        return found

    def names(self, column: int) -> frozenset[str]:
        """Components of all classes inside a class; none inside a link."""
        if self.groups.directed[column]:
            return frozenset()
        members = self.groups.members
        return frozenset(name for each in self.inside(column).tolist() for name in members[each])

    def is_within(self, column: int, components: set[str]) -> bool:
        """Whether a class lies inside the class of one of these components."""
        return any(column in self.inside(each) for each in self.groups.of_components(components))

    @cached_property
    def _certain(self) -> tuple[F64, F64]:
        """(K,) twice: live paths that cross each class for certain, by direction."""
        _, there, back = self.groups.pooled_by_direction(self._live)
        return there, back

    @cached_property
    def _total(self) -> F64:
        """(K,) live paths of each class, by their shares."""
        return self.groups.pooled(self._live)


def of_a_few(
    containment: Containment,
    evidence: Evidence,
    attributions: list[Attribution],
    parameters: ContainmentParameters,
) -> Bool:
    """(K,) blamed classes whose losses are rather those of a few classes inside.

    A switch with two bad links of eight is one culprit instead of two, so it is what little
    evidence prefers. But the paths that cross it without crossing its worst links lose nothing.

    The worst ones are chosen by what they lost, so that those beside them always look good. Where
    rnics are among them, as are many below one ToR, they must be worse by more than the best of
    all such choices is by chance. Of links between switches a wrong name lasts longer than a wait.
    """
    groups = containment.groups
    out = np.zeros(len(groups.members), bool)
    columns = np.array([each.column for each in attributions], np.int64)
    for column in columns[~groups.directed[columns]].tolist():
        inside = containment.inside(column)
        if len(inside) < parameters.least_inside:
            continue
        share = groups.share(column)
        rows = np.flatnonzero((share > 0) & (evidence.sent > 0))
        weighted = share[rows] * evidence.sent[rows], share[rows] * evidence.lost[rows]
        few, excess = int(np.ceil(parameters.worst * len(inside))), _excess(groups, evidence, rows)
        worst = inside[np.argsort(-excess[inside], kind="stable")[:few]]
        chosen = 0.0
        if not groups.directed[worst].all():
            worst = worst[: max(1, int((excess[worst] > 0).sum()))]
            chosen = _choices(len(inside), len(worst))
        others = columns[columns != column]
        forward, reverse = groups.rows(rows, np.concatenate([worst, others]))
        crossings = forward + reverse
        certain = crossings >= 2 * parameters.certain
        outside = np.flatnonzero(np.append(np.ones(len(worst), bool), ~np.isin(others, inside)))
        rate = _rate(weighted, np.ones(len(rows), bool))
        apart = _crosses_none(certain[:, outside])
        out[column] = _likelier_at(
            evidence.background, than=rate, counts=_counts(weighted, apart),
            nats=max(chosen - _gain(weighted, ~apart, rate), 0.0),
        )  # fmt: skip
        # Of untraced paths most cross the worst links perhaps: few are certainly apart from them.
        # What other culprits lose is no loss of the switch.
        own = _crosses_none(certain[:, len(worst) :])
        apart = _crosses_none(crossings > 0)
        rate = _rate(weighted, own)
        less = max(evidence.background, parameters.far_less * rate)
        chosen -= _gain(weighted, own & ~apart, rate)
        out[column] |= _likelier_at(
            less, than=rate, counts=_counts(weighted, apart),
            nats=parameters.denied_nats + max(chosen, 0.0),
        )  # fmt: skip
    return out


def _crosses_none(crossed: sparse.csr_array) -> Bool:
    """(n,) rows without an entry."""
    out: Bool = np.asarray(crossed.sum(axis=1)).ravel() == 0
    return out


def _counts(weighted: tuple[F64, F64], some: Bool) -> tuple[float, float]:
    """Probes sent and lost of some rows."""
    sent, lost = weighted
    return float(sent[some].sum()), float(lost[some].sum())


def _rate(weighted: tuple[F64, F64], some: Bool) -> float:
    """Loss of some rows [1]."""
    sent, lost = _counts(weighted, some)
    return lost / max(sent, 1.0)


def _choices(of: int, some: int) -> float:
    """ln of the number of ways to choose some of several [nat]."""
    return float(-special.betaln(of - some + 1.0, some + 1.0) - np.log(of + 1.0))


def _gain(weighted: tuple[F64, F64], some: Bool, rate: float) -> float:
    """How much likelier counts of some rows are at their own loss than at a common one [nat]."""
    sent, lost = _counts(weighted, some)
    own = lost / max(sent, 1.0)
    if not lost or own <= rate or not rate:
        return 0.0
    return loss.log_likelihood_ratio(lost, sent, own, rate)


def _likelier_at(
    less: float, *, than: float, counts: tuple[float, float], nats: float = 0.0
) -> bool:
    """Whether probes (sent, lost) are likelier at the lower of two losses [1], by some nats."""
    sent, lost = counts
    if not sent or than <= less:
        return False
    return loss.log_likelihood_ratio(lost, sent, than, less) < -nats


def loss_of_ends(groups: Classes, column: int, sent: I64, lost: I64) -> list[float]:
    """Loss of the paths that cross either switch at the ends of a link [1]; of those with probes.

    column      class of the link
    sent, lost  (P,) probes that count
    """
    ends = {end for name in groups.members[column] for end in link_ends(name)}
    columns = np.array(groups.of_components(ends), np.int64)
    n, k = (groups.pooled_by_direction(each, columns)[0] for each in (sent, lost))
    return [float(each) for each in k[n > 0] / n[n > 0]]


def _excess(groups: Classes, evidence: Evidence, rows: I64) -> F64:
    """(K,) losses above the background on some paths, by class."""
    values = np.zeros(groups.paths)
    values[rows] = evidence.lost[rows] - evidence.background * evidence.sent[rows]
    return groups.pooled(values)
