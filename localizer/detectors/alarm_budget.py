"""The alarm budget: false incidents per week, spent over every test that a week makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter

WEEK_S: Final = 604_800


@dataclass(frozen=True, slots=True)
class AlarmBudget:
    """How small a p-value must be.

    per_week  false incidents allowed per fabric and week [count]
    families  test families that share the budget

    Source  a Bonferroni bound: overlapping windows and components that share paths are positively
            dependent, which only makes it stricter
    """

    per_week: float
    families: int = parameter(
        8,
        unit="families",
        source="a Bonferroni bound: loss and latency, each over 5 and 30 s, latency in several "
        "windows in a row, loss in one direction, loss over minutes, and drift",
    )

    def level(self, components: int, every_s: float) -> float:
        """Largest p-value that may alarm if ``components`` are tested each ``every_s`` seconds."""
        tests = WEEK_S / every_s * max(components, 1)
        return self.per_week / self.families / tests
