"""Latency, long term: a drift too slow for windows of five minutes to notice. Pure.

Per five-tuple a line is fitted to the means of ln(round trip) in blocks of ten minutes
(``baselines.drift``); its slope is the growth of the round trip per hour. SkeletonHunter (SIGCOMM
2025) compares half hours; a slope uses the same data, and its error falls with the time to the
power of 1.5. A growth that all paths of a peer group share, such as the time of day or a job that
trains harder, is no component's fault, so the group's common growth is removed; and where many
components move at once, the variance of every test is inflated accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.baselines.drift import Block, padded
from localizer.baselines.robust import MAD_TO_SIGMA
from schemas.parameters.parameter import parameter

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

_MEDIAN_CHI2: Final = 0.4549  # of one degree of freedom


@dataclass(frozen=True, slots=True)
class DriftParameters:
    """Which lines are fitted, and which growth matters.

    spans            newest blocks that a line is fitted to: steep growth shows in few
    least_blocks     blocks with a value that make a slope usable
    least_per_hour   growth that is reported, of the round trip,
    least_growth     and at least this much over the time in which it was seen
    healthy_share    of that, what the strategy takes for a healthy component's
    least_score      standard score of a component from which on the strategy is asked
    off_share        paths that cross the likeliest culprit less tell what is common
    most_crossed     share of all endpoint pairs that may cross a component
    least_certainty  probability of the class that is named; below, the next block is waited for
    least_backing    p-value that must remain without the source host that adds most
    least_pairs      endpoint pairs across a component that make a test
    least_peers      paths of a peer group whose common growth is removed; smaller ones are pooled
    prior_freedom    degrees of freedom that the usual scatter of the group's paths counts for in a
                     path's own
    least_noise      smallest scatter of a path's ln(round trip), a window
    """

    spans: tuple[int, ...] = parameter(
        (3, 6, 12), unit="blocks", source="chosen: fast drifts need not wait for two hours"
    )
    least_blocks: int = parameter(
        3, unit="blocks", source="chosen: a line through two blocks leaves no scatter to judge by"
    )
    least_per_hour: float = parameter(
        0.005, unit="1/h", source="chosen: slower growth is not worth an operator's time"
    )
    healthy_share: float = parameter(
        0.2, unit="1", source="chosen: pytest tests/localizer/verdicts (a ToR and its uplinks)"
    )
    least_growth: float = parameter(
        0.006, unit="1", source="chosen: pytest tests/localizer/detectors (one slow window)"
    )
    least_score: float = parameter(
        3.0, unit="1", source="chosen: cheap to pass; the alarm budget decides later"
    )
    off_share: float = parameter(
        0.25, unit="1", source="chosen: pytest tests/localizer/detectors (common growth)"
    )
    least_backing: float = parameter(
        0.01, unit="1", source="chosen: pytest tests/localizer/verdicts (one host lies)"
    )
    least_certainty: float = parameter(
        0.9, unit="1", source="chosen: a ToR and its uplinks, probed rarely, are told apart later"
    )
    most_crossed: float = parameter(
        0.5, unit="1", source="chosen: pytest tests/localizer/verdicts (a fabric slows as a whole)"
    )
    least_pairs: int = parameter(
        4, unit="pairs", source="chosen: pytest tests/localizer/detectors (few pairs)"
    )
    least_peers: int = parameter(
        12, unit="paths", source="chosen: pytest tests/localizer/detectors (common growth)"
    )
    prior_freedom: float = parameter(
        8.0, unit="1", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )
    least_noise: float = parameter(
        0.002, unit="1", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )


DEFAULT: Final = DriftParameters()


@dataclass(frozen=True, slots=True)
class Drift:
    """Slopes over the newest ``span_s``, per path.

    valid  (P,) a slope is known
    group  (P,) peer group, small ones pooled
    rate   (P,) growth of ln(round trip) [1/h], 0 where not valid
    noise  (P,) standard error of that, > 0
    level  (P,) mean of ln(round trip / first round trip)
    hours  (P,) time between the beginning of the first block with a value and the end of the last
           [h]
    """

    span_s: int
    valid: Bool
    group: I64
    rate: F64
    noise: F64
    level: F64
    hours: F64

    @property
    def weight(self) -> F64:
        """(P,) 1 / noise^2, 0 where not valid."""
        return np.where(self.valid, 1.0 / self.noise**2, 0.0)


def slopes(blocks: list[Block], group: I64, parameters: DriftParameters = DEFAULT) -> list[Drift]:
    """Weighted least squares of each path's blocks, one for each span, shortest first.

    blocks  newest first; group (P,) code of each path's peer group: its job in its layer
    A span that reaches back no further than the one before is left out.
    """
    paths = len(group)
    if not blocks:
        return []
    newest_s = blocks[0].end_s
    block_s = min((a.end_s - b.end_s for a, b in pairwise(blocks)), default=0)
    n, t1, t2, y1, ty, y2, found, first, last = np.zeros((9, paths))
    out: list[Drift] = []
    at = 0
    for span in parameters.spans:
        before = at
        while at < len(blocks) and newest_s - blocks[at].end_s < span * block_s:
            block, at = blocks[at], at + 1
            weight = padded(block.answered, paths).astype(np.float64)
            value = padded(block.mean, paths).astype(np.float64)
            t = (block.end_s - newest_s) / 3600
            here = weight > 0
            last[here & (found == 0)] = t
            first[here] = t
            found += here
            n += weight
            t1 += weight * t
            t2 += weight * t * t
            y1 += weight * value
            ty += weight * t * value
            y2 += weight * value * value
        if at == before or at < parameters.least_blocks:
            continue
        count = np.maximum(n, 1.0)
        spread = t2 - t1 * t1 / count
        valid = (found >= parameters.least_blocks) & (spread > 0)
        if not valid.any():
            continue
        moved = ty - t1 * y1 / count
        rate = np.where(valid, moved / np.where(valid, spread, 1.0), 0.0)
        scatter = np.maximum(y2 - y1 * y1 / count - rate * moved, 0.0)
        freedom = np.maximum(found - 2.0, 0.0)
        code = _pooled_groups(group, valid, parameters)
        noise = np.ones(paths)
        for each in np.unique(code[valid]):
            mine = valid & (code == each)
            usual = float(np.median(scatter[mine] / freedom[mine]))
            prior = parameters.prior_freedom
            variance = (scatter[mine] + prior * usual) / (freedom[mine] + prior)
            noise[mine] = np.sqrt((variance + parameters.least_noise**2) / spread[mine])
        hours = np.where(valid, last - first + block_s / 3600, 0.0)
        out.append(Drift(span * block_s, valid, code, rate, noise, y1 / count, hours))
    return out


def without_common_growth(
    drift: Drift, pair: I64, usual: Bool, parameters: DriftParameters = DEFAULT
) -> Drift:
    """The same without what the peer group shares, its noise at least that between pairs.

    pair   (P,) code of the endpoint pair: five-tuples of one pair share what befalls it
    usual  (P,) paths that tell the common growth and the noise; a group with fewer than
           ``least_peers`` of them is told by all of its paths
    """
    rate, noise = drift.rate.copy(), drift.noise.copy()
    for each in np.unique(drift.group[drift.valid]):
        mine = drift.valid & (drift.group == each)
        telling = mine & usual if (mine & usual).sum() >= parameters.least_peers else mine
        rate[mine] -= _common_growth(rate[telling], noise[telling])
        _, code = np.unique(pair[telling], return_inverse=True)
        weight = 1.0 / noise[telling] ** 2
        z = np.bincount(code, weight * rate[telling]) / np.sqrt(np.bincount(code, weight))
        noise[mine] *= max(1.0, MAD_TO_SIGMA * float(np.median(np.abs(z))))
    return replace(drift, rate=rate, noise=noise)


def _pooled_groups(group: I64, valid: Bool, parameters: DriftParameters) -> I64:
    """(P,) the small groups are one."""
    sizes = np.bincount(group[valid], minlength=int(group.max(initial=0)) + 1)
    return np.where(sizes[group] >= parameters.least_peers, group, -1)


def _common_growth(rate: F64, noise: F64) -> float:
    """Weighted mean of the rates within two spreads of the median: a plain mean would be drawn
    towards what a culprit adds."""
    off = np.abs(rate - np.median(rate)) / noise
    near = off <= 2 * max(1.0, MAD_TO_SIGMA * float(np.median(off)))
    return float(np.average(rate[near], weights=1.0 / noise[near] ** 2))


@dataclass(frozen=True, slots=True)
class Contrast:
    """Growth of the paths across a component beside that of the others of their groups.

    rate   [1/h] of a path that crosses it fully; noise: its standard error, inf if unknown
    """

    rate: float
    noise: float

    def p_value(self, inflated: float) -> float:
        """One-sided Z-test; ``inflated`` as of ``inflation``."""
        return float(special.ndtr(-self.rate / (self.noise * np.sqrt(inflated))))


def contrast(share: F64, rate: F64, weight: F64, group: I64) -> Contrast:
    """Regression of the rates on the share, with an intercept for each group.

    share, rate  (n,); weight (n,) 1 / standard error^2; group (n,) code
    """
    _, code = np.unique(group, return_inverse=True)
    every = np.maximum(np.bincount(code, weight), 1e-300)
    off = share - (np.bincount(code, weight * share) / every)[code]
    information = float((weight * off * off).sum())
    if information <= 0.0:
        return Contrast(0.0, np.inf)
    return Contrast(float((weight * off * rate).sum()) / information, information**-0.5)


def scores(weight: F64, moved: F64) -> F64:
    """(C,) standard scores of components.

    weight  (C,) 1 / variance, summed over the paths across each component by their share
    moved   (C,) the same of weight times rate
    Conservative where paths cross a component in part.
    """
    return moved / np.sqrt(np.maximum(weight, 1e-300))


def inflation(pairs: F64, score: F64, parameters: DriftParameters = DEFAULT) -> float:
    """Variance of the components' scores over what independent pairs would have, >= 1.

    pairs   (C,) endpoint pairs that cross each component; score (C,)
    Where whole jobs move together pairs are not independent, so half of all components exceed by
    chance more than they should.
    Source  genomic control: Devlin & Roeder, Biometrics 1999
    """
    enough = pairs >= parameters.least_pairs
    if not enough.any():
        return 1.0
    return max(1.0, float(np.median(score[enough] ** 2)) / _MEDIAN_CHI2)
