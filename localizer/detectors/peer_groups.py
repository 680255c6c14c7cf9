"""Peer groups: a path is compared with the other paths of its own job. Pure.

A training job fills the fabric in bursts, and then all of its paths are slow, whatever they cross.
So a component is suspected when its paths are slow more often than the other paths of the same
jobs. Jobs need not be known: hosts whose containers probe one another form a peer group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse, special
from scipy.sparse.csgraph import connected_components

from localizer.detectors.latency import parameters as latency
from localizer.fabric.incidence.factored import FactoredIncidence
from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PeerGroupParameters:
    """common_quantile  of a group's excess that counts as common to the group
    least_others        votes of a group's paths off the component: fewer are no comparison
    """

    common_quantile: float = parameter(
        0.1, unit="1", source="chosen: pytest tests/localizer/detectors (peer groups)"
    )
    least_others: float = parameter(
        3.0, unit="votes", source="chosen: pytest tests/localizer/detectors (peer groups)"
    )


DEFAULT: Final = PeerGroupParameters()
_HEALTHY_SHARE: Final = latency.DEFAULT.healthy_share
_ROUNDING: Final = 1e-6  # far more than sums of votes and the incomplete beta function err


def peer_groups(source: I32, target: I32, overlay: Bool) -> I64:
    """(P,) code of each path's peer group.

    source, target  (P,) host codes; overlay (P,) layer
    The groups are the connected parts of the graph of hosts whose containers probe one another
    (of all probes where there is no overlay); paths between two parts form one group more.
    """
    hosts = int(max(source.max(initial=-1), target.max(initial=-1))) + 1
    edge = overlay if overlay.any() else np.ones(len(source), bool)
    edges = sparse.coo_array(
        (np.ones(int(edge.sum()), np.int8), (source[edge], target[edge])), (hosts, hosts)
    )
    parts, part = connected_components(edges, directed=False)
    group: I64 = np.where(part[source] == part[target], part[source], parts).astype(np.int64)
    return group


def without_common_shift(
    excess_us: F64, group: I64, valid: Bool, parameters: PeerGroupParameters = DEFAULT
) -> F64:
    """(P,) excess less what all paths of a peer group have in common; 0 for paths not valid.

    excess_us  (P,) latency above the path's own past [us]; group (P,); valid (P,)
    A burst of the job lifts every path. The shift that nine of ten paths exceed is the group's own;
    negative common shifts are ignored.
    """
    out = np.zeros(len(excess_us))
    for each in np.unique(group[valid]):
        mine = valid & (group == each)
        common = float(np.quantile(excess_us[mine], parameters.common_quantile))
        out[mine] = excess_us[mine] - max(0.0, common)
    return out


def excess_p_values(
    incidence: FactoredIncidence,
    group: I64,
    vote: F64,
    slow: Bool,
    healthy_share: float = _HEALTHY_SHARE,
    parameters: PeerGroupParameters = DEFAULT,
    *,
    certain: bool = False,
    level: float = 1.0,
) -> F64:
    """(C,) P(so many slow votes) if a component's paths are slow as often as others of their group.

    incidence      (P, C) which path crosses which component
    group          (P,); vote (P,) weight of each valid path, else 0; slow (P,)
    healthy_share  of healthy paths that look slow, whatever the others do [1]
    certain        by the paths that cross a component for certain in some direction: of components
                   that others may cross, too; 1 for all others
    level          p-values at or above it may be given as 1, which takes less time
    returns        1 where no path is slow, or where no group has others to compare with
    """
    hit, out = vote * slow, np.ones(incidence.shape[1])
    enough = least_votes(level, healthy_share)
    if float(hit.sum()) < enough:
        return out
    if certain:  # what is crossed for certain in one direction has a mean share of a half at least
        some = (incidence.pooled(hit) > 0.5 * enough) & incidence.partly_certain
    else:
        some = incidence.pooled(hit) > enough
    touched = np.flatnonzero(some)
    if len(touched):
        n, k = (
            incidence.pooled_by_group(each, group, touched, certain=certain) for each in (vote, hit)
        )
        every, every_hit = (np.bincount(group, each).astype(np.float64) for each in (vote, hit))
        out[touched] = _p_values(n, k, every, every_hit, healthy_share, parameters)
    return out


def least_votes(level: float, healthy_share: float) -> float:
    """Slow votes that are too few for a p-value below ``level`` [votes]: k of k votes are slow with
    a probability of healthy_share^k at least, and k of more votes are likelier."""
    return (1.0 - _ROUNDING) * math.log(level) / math.log(healthy_share)


def excess_p_value(
    share: F64,
    group: I64,
    vote: F64,
    slow: Bool,
    healthy_share: float = _HEALTHY_SHARE,
    parameters: PeerGroupParameters = DEFAULT,
) -> float:
    """The same for one component; share (P,) of which each path crosses it."""
    hit = vote * slow
    n, k, every, every_hit = (
        np.bincount(group, each).astype(np.float64)
        for each in (vote * share, hit * share, vote, hit)
    )
    return float(_p_values(n[None], k[None], every, every_hit, healthy_share, parameters)[0])


def stratified_p_value(
    share: F64,
    stratum: I64,
    weight: F64,
    slow: Bool,
    healthy_share: float = _HEALTHY_SHARE,
    parameters: PeerGroupParameters = DEFAULT,
) -> float:
    """P(so many slow answers) if those of a component are slow as often as others of their stratum.

    share          (M,) of which the path of each answer crosses the component
    stratum        (M,) code of peer group and time; weight (M,) of each answer; slow (M,)
    healthy_share  of healthy answers that look slow, whatever the others do [1]
    returns        1 where no answer is slow, or where no stratum has others to compare with
    Source         a binomial whose rate is the mean over strata, as Mantel & Haenszel (1959) pool.
                   The others' rate in a stratum is drawn with the weight of one answer to their
                   usual rate, Jeffreys' posterior mean over strata as the component has answers in
                   them, of an effective number of others (Kish 1965): prior doubt in each of many
                   strata would add up, so that rare answers of small jobs never stood out
    """
    n, k, others, late = (
        np.bincount(stratum, each).astype(np.float64)
        for each in (weight * share, weight * share * slow, 1.0 - share, (1.0 - share) * slow)
    )
    compared = others >= parameters.least_others
    n, k, others, late = (each[compared] for each in (n, k, others, late))
    votes, found = float(n.sum()), float(k.sum())
    if found <= 0:
        return 1.0
    compared_with = votes**2 / float((n**2 / others).sum())
    usual = float((n * late / others).sum()) / votes
    usual = (usual * compared_with + 0.5) / (compared_with + 1.0)
    rate = np.maximum((late + usual) / (others + 1.0), healthy_share)
    expected = float((n * rate).sum())
    return float(special.betainc(found, max(votes - found, 0.0) + 1.0, expected / votes))


def _p_values(
    n: F64,
    k: F64,
    every: F64,
    every_hit: F64,
    healthy_share: float,
    parameters: PeerGroupParameters,
) -> F64:
    """(C,) upper tail of a binomial whose rate is that of the others of the same groups.

    n, k              (C, G) votes in each group, and slow ones among them
    every, every_hit  (G,) the same of the whole groups
    """
    others = every - n
    others_hit = np.maximum(every_hit - k, 0.0)
    compared = others >= parameters.least_others
    rate = np.where(compared, np.maximum(others_hit / np.maximum(others, 1e-9), healthy_share), 0.0)
    votes, found, expected = ((each * compared).sum(axis=1) for each in (n, k, n * rate))
    mean = np.clip(expected / np.maximum(votes, 1e-9), healthy_share, 1 - 1e-9)
    p = special.betainc(np.maximum(found, 1e-12), np.maximum(votes - found, 0.0) + 1.0, mean)
    return np.where(found > 0, p, 1.0)
