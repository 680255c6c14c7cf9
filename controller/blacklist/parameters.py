"""Parameters of the blacklist, with units and sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class BlacklistParameters:
    """least_confidence  of an incident whose host is listed
    most_share   of a fabric's hosts that may be listed; one host always may
    kept_s       an entry whose incident is not written again expires after so long
    most_resolved  incidents that are over, of which is told that they are
    """

    least_confidence: float = parameter(
        0.8, unit="1", source="chosen: four of five entries are right, if the figure is"
    )
    most_share: float = parameter(
        0.02, unit="1", source="chosen: a wider trouble is none of single hosts"
    )
    kept_s: float = parameter(
        3600.0, unit="s", source="chosen: a stopped pipeline keeps no host out for longer"
    )
    most_resolved: int = parameter(
        10_000, unit="count", source="chosen: weeks of a large site, in 3 MB"
    )


DEFAULT: Final = BlacklistParameters()
