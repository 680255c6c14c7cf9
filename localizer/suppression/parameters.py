"""Parameters of suppression: how long its documents are remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class SuppressionParameters:
    """How long maintenance windows and placements are remembered, and how much the log holds.

    ended_s      a maintenance window, after its end
    replaced_s   the state of a container that another state has replaced, or that is gone
    unseen_s     the state of a container that no path ends in
    log_entries  of the suppression log; beyond, the oldest is dropped
    """

    ended_s: int = parameter(3600, unit="s", source="chosen: pytest tests/localizer -k growth")
    replaced_s: int = parameter(3600, unit="s", source="chosen: pytest tests/localizer -k growth")
    unseen_s: int = parameter(86_400, unit="s", source="chosen: pytest tests/localizer -k growth")
    log_entries: int = parameter(10_000, unit="entries", source="chosen: bounds the memory")


DEFAULT: Final = SuppressionParameters()
