"""Intersection: what most of the bad paths have in common.

Each component is counted on the probe and the ack path of every bad round trip; if no count is
above one nothing is blamed, else the maximum is, with all that tie.

Source     SkeletonHunter (SIGCOMM 2025), step b; R-Pingmesh (SIGCOMM 2024), algorithm 1.
Chosen by us  A count is in round trips, half for each way, so that one lost probe does not count
           its access link twice. A route that is not known counts with the share of its ECMP ways
           that cross. Ties are listed with the component on fewest paths first: all of its paths
           speak against it, while one with more has paths that do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from localizer.evidence import Attribution, Evidence
from localizer.strategies.crossing import column_of, observed
from localizer.strategies.registry import strategy
from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class IntersectionParameters:
    """tie  counts that differ by less are equal: shares are sums of fractions"""

    tie: float = parameter(1e-6, unit="paths", source="chosen: rounding of sums of shares")


DEFAULT: Final = IntersectionParameters()


@strategy("intersection")
def intersection(
    evidence: Evidence, parameters: IntersectionParameters = DEFAULT
) -> list[Attribution]:
    """The classes that most bad paths cross."""
    probed = (evidence.sent > 0).astype(np.float64)
    count = np.asarray(evidence.incidence.T @ (evidence.bad * probed))
    top = float(count.max(initial=0.0))
    if top <= 1.0 + parameters.tie:
        return []
    tied = np.flatnonzero(count >= top - parameters.tie)
    paths = np.asarray(evidence.incidence.T @ probed)[tied]
    return [
        Attribution(int(c), observed(evidence, column_of(evidence.incidence, int(c)), probed), 1.0)
        for c in tied[np.lexsort((tied, paths))]
    ]
