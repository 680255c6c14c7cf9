"""Parameters of the coverage report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class CoverageParameters:
    """When a link counts as covered.

    power    probability with which a loss must be named, so that it counts as nameable
    crossed  probability from which on untraced five-tuples count as crossing a link
    dispersion  of healthy losses, against the binomial's variance
    """

    power: float = parameter(0.9, unit="1", source="chosen: nine of ten faults within the time")
    crossed: float = parameter(0.99, unit="1", source="R-Pingmesh, section 4.2")
    dispersion: float = parameter(
        1.2,
        unit="1",
        source="measured: LossBaseline.dispersion on clean fabrics, 1.1 to 1.2",
    )


DEFAULT: Final = CoverageParameters()
