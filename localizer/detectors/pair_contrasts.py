"""The five-tuples of one pair against each other: those that cross a component, and the rest. Pure.

The five-tuples of a pair share their rnics and ToRs, and mostly their fate, so they have one vote
between them (``peer_groups``). But ECMP sends them over different spines: where those over one are
slow and the others of the same pairs are not, that one is the cause, whatever else is slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.detectors.peer_groups import least_votes
from localizer.fabric.incidence.factored import FactoredIncidence
from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairContrastParameters:
    """compared  components at most that are compared, which costs time: those that stand out most
    least_slow   slow paths of a component: fewer are no comparison
    """

    compared: int = parameter(32, unit="components", source="chosen: make bench (row detect)")
    least_slow: int = parameter(
        3, unit="paths", source="chosen: so many slow paths are by chance no alarm yet"
    )


DEFAULT: Final = PairContrastParameters()


def excess_p_values(
    incidence: FactoredIncidence,
    pair: I64,
    valid: Bool,
    slow: Bool,
    healthy_share: float,
    parameters: PairContrastParameters = DEFAULT,
    *,
    level: float = 1.0,
) -> F64:
    """(C,) P(so many slow paths) if those across a component are slow as often as their pairs'
    other paths; 1 for components that are not compared.

    incidence      (P, C) which path crosses which component; certain crossings count
    pair           (P,); valid (P,) paths whose shift is known; slow (P,) some of them
    healthy_share  of healthy paths that look slow, whatever the others do [1]
    level          p-values at or above it may be given as 1, which takes less time
    """
    out = np.ones(incidence.shape[1])
    # A pair has one vote, so that there are no more slow votes than slow paths.
    enough = max(float(parameters.least_slow), least_votes(level, healthy_share))
    if np.count_nonzero(slow) < enough:
        return out
    forward, reverse = incidence.rows(np.flatnonzero(slow))
    certain = (forward.data == 1.0) | (reverse.data == 1.0)
    hits = np.bincount(forward.indices[certain], minlength=len(out))
    if hits.max(initial=0) < enough:
        return out
    some = np.flatnonzero(hits >= parameters.least_slow)
    whole = np.zeros(len(pair), np.int64)
    total = incidence.pooled_by_group(valid.astype(np.float64), whole, some, certain=True)[:, 0]
    usual = total * slow.sum() / valid.sum()
    order = np.argsort(-(hits[some] - usual) / np.sqrt(usual), kind="stable")
    for each in some[order[: parameters.compared]].tolist():
        crossing = np.logical_or(*incidence.certain(each))
        out[each] = excess_p_value(crossing, pair, valid, slow, healthy_share)
    return out


def excess_p_value(
    crossing: Bool, pair: I64, valid: Bool, slow: Bool, healthy_share: float
) -> float:
    """The same for one component; crossing (P,) paths that cross it for certain.

    A pair has one vote, of which the share counts as slow that its paths across the component have.
    Source  a binomial whose rate is the mean over strata, as Mantel & Haenszel (1959) pool: that
            of a pair's other paths, drawn with the weight of one path to Jeffreys' posterior mean
            of all of them
    returns 1 where no path is slow, or where no pair has other paths to compare with
    """
    rows = np.flatnonzero(crossing & valid)
    pairs, which = np.unique(pair[rows], return_inverse=True)
    count = int(pair.max(initial=-1)) + 1
    size, late = (np.bincount(pair[each], minlength=count)[pairs] for each in (valid, slow))
    across = np.bincount(which, minlength=len(pairs))
    hit = np.bincount(which, slow[rows], len(pairs))
    others, late = (size - across).astype(np.float64), late - hit
    compared = others > 0
    votes, found = float(compared.sum()), float((hit / np.maximum(across, 1))[compared].sum())
    if found <= 0:
        return 1.0
    others, late = others[compared], late[compared]
    usual = (late.sum() + 0.5) / (others.sum() + 1.0)
    rate = float(np.maximum((late + usual) / (others + 1.0), healthy_share).mean())
    return float(special.betainc(found, votes - found + 1.0, rate))
