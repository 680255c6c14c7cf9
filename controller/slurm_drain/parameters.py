"""Bounds of draining, with units and sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class DrainParameters:
    """most_share  of a partition's nodes that may be out of service, for any reason, after a
                drain; of a partition with all in service, one node always may
    per_hour    nodes drained in an hour
    nodes_at_once  in one call of scontrol that changes features
    """

    most_share: float = parameter(
        0.05, unit="1", source="chosen: a partition stays usable if all of the advice is wrong"
    )
    per_hour: int = parameter(
        4, unit="count", source="chosen: somebody can look at each before the next ones follow"
    )
    nodes_at_once: int = parameter(
        100, unit="count", source="chosen: an argument of some kilobytes"
    )


DEFAULT: Final = DrainParameters()
