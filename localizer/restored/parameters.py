"""Parameters of restored incidents: when each of them is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter

_TESTS: Final = "chosen: pytest tests/localizer/restored"


@dataclass(frozen=True, slots=True)
class RestoredParameters:
    """When an incident that a former process opened is over.

    healed_effect  a path is healed when it is quicker by this share of the fault's effect,
    healed_sigmas  and by so many times its noise
    healed_paths   share of the paths that were slow which must be healed
    goes_on        a gray loss is over when its paths lose less than this share of what it lost
    healed_odds    by a likelihood that is so many times higher than that of losing so much
    longest_s      any of them is held open at most so long after the start
    """

    healed_effect: float = parameter(0.5, unit="1", source=_TESTS)
    healed_sigmas: float = parameter(3.0, unit="1", source=_TESTS)
    healed_paths: float = parameter(
        0.5, unit="1", source="chosen: the smaller half may have a part of the effect only"
    )
    goes_on: float = parameter(
        0.5, unit="1", source="chosen: the estimate of the first window may be twice the loss"
    )
    healed_odds: float = parameter(
        1e6, unit="1",
        source="chosen: the ratio starts anew with each loss, some 20,000 times in six hours",
    )  # fmt: skip
    longest_s: int = parameter(6 * 3600, unit="s", source="chosen: as long as a shift")


DEFAULT: Final = RestoredParameters()
