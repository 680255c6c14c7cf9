"""PLL: the fewest links that explain the lossy paths, among those nearly all of whose paths lose.

1. Links all of whose paths are clean are dropped; what is left falls into connected parts.
2. A link's hit ratio is the share of lossy ones among all paths through it; at most 0.6: dropped.
3. In each part the link that explains most losses is taken, its lossy paths are explained, and so
   on until no link explains any. Ties go to the higher hit ratio, then to fewer paths.

Source     Peng et al., deTector (ATC 2017), packet loss localization.
Chosen by us  Probes are source-routed there. Here a route that is not known counts with the share
           of its ECMP ways that cross, and stays unexplained with the remaining share. A path is
           lossy when the detector calls it bad: the paper filters ordinary losses before as well.
           All parts take their next link at once, which gives the same links in each.
Latency    A late path counts with its excess in units of its noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import sparse

from localizer.evidence import F64, I64, Attribution, Evidence
from localizer.strategies.crossing import clipped, crossing
from localizer.strategies.registry import strategy, vary
from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class PllParameters:
    """Parameters of PLL.

    hit_ratio   share of lossy paths through a link that a suspect must exceed
    ways        a link's directions are two suspects
    least_loss  losses below this are leftovers of shares
    most        rounds
    """

    hit_ratio: float = parameter(0.6, unit="1", source="Peng et al., deTector, ATC 2017")
    ways: bool = parameter(False, unit="flag", source="Peng et al., deTector, ATC 2017")
    least_loss: float = parameter(0.5, unit="probes", source="chosen: half a packet")
    most: int = parameter(1024, unit="count", source="chosen: more than any set of culprits")

    @property
    def label(self) -> str:
        """Name of this variant."""
        return f"hit_ratio={self.hit_ratio}, ways={self.ways}"


DEFAULT: Final = PllParameters()
SWEEP = tuple(PllParameters(r / 20, ways) for r in range(1, 20) for ways in (False, True))


@strategy("pll")
def pll(evidence: Evidence) -> list[Attribution]:
    """Classes by the losses that they explain."""
    return attribute(evidence, DEFAULT)


def attribute(evidence: Evidence, parameters: PllParameters) -> list[Attribution]:
    """PLL with other parameters."""
    seen = crossing(evidence, ways=parameters.ways)
    probed = evidence.sent > 0
    bad = evidence.bad & probed
    share = seen.share
    ratio = hit_ratio(share, probed.astype(float), bad.astype(float))
    links = np.flatnonzero(ratio > parameters.hit_ratio)
    rows = np.flatnonzero(bad)
    if not len(links) or not len(rows):
        return []
    losses = evidence.lost[rows].astype(np.float64)
    if evidence.latency:
        losses = clipped(evidence)[rows]
    part = share[rows].tocsr()
    tie = np.lexsort((np.diff(share.tocsc().indptr), -ratio))
    explained = greedy(
        part[:, links].tocsr(),
        np.maximum(losses, 1.0),
        _parts(part)[links],
        np.argsort(tie)[links],
        parameters,
    )
    return seen.attributions(evidence, [int(links[k]) for k, _ in explained])


def hit_ratio(share: sparse.csr_array, every: F64, lossy: F64) -> F64:
    """(K,) lossy paths through each link over all paths through it; 0 where there are none."""
    through = np.asarray(share.T @ every)
    return np.asarray(share.T @ lossy) / np.where(through > 0, through, 1.0)


def greedy(
    share: sparse.csr_array,
    losses: F64,
    part: I64,
    rank: I64,
    parameters: PllParameters = DEFAULT,
) -> list[tuple[int, float]]:
    """Links taken, with the losses that each explains, most first.

    share  (R, K) lossy paths and candidate links; losses (R,) packets
    part   (K,) connected part of each link; rank (K,) decides ties, the lowest wins
    """
    left = losses.copy()
    columns = share.tocsc()
    taken: list[tuple[int, float]] = []
    for _ in range(parameters.most):
        score = np.round(np.asarray(share.T @ left), 6)
        order = np.lexsort((rank, -score, part))
        first = order[np.flatnonzero(np.diff(part[order], prepend=-1))]
        tops = first[score[first] >= parameters.least_loss]
        if not len(tops):
            break
        for k in tops.tolist():
            span = slice(columns.indptr[k], columns.indptr[k + 1])
            left[columns.indices[span]] *= 1.0 - columns.data[span]
            taken.append((k, float(score[k])))
    return sorted(taken, key=lambda one: (-one[1], rank[one[0]]))


def _parts(share: sparse.csr_array) -> I64:
    """(K,) connected part of each link over the lossy paths."""
    paths, links = share.shape
    graph = sparse.block_array([[None, share], [sparse.csr_array((links, paths)), None]])
    label = sparse.csgraph.connected_components(graph, directed=False)[1]
    return np.asarray(label[paths:], dtype=np.int64)


vary("pll", {p.label: partial(attribute, parameters=p) for p in SWEEP})
