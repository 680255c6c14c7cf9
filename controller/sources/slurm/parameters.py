"""Parameters of the source, with units and sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class SlurmParameters:
    """most_hosts  a host list that stands for more is refused"""

    most_hosts: int = parameter(
        65_536, unit="count", source="chosen: several times the largest clusters of today"
    )


DEFAULT: Final = SlurmParameters()
