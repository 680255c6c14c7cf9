"""Restored incidents about drift.

A worker that starts has no blocks of the last two hours. Until it has as many again, a drift that
goes on shows less than it did, and no verdict does not mean that it is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from localizer.baselines.drift import DriftBaselineParameters
from localizer.explanation import document
from localizer.restored.held import F64
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Family
from schemas.documents.incident import Incident


@dataclass(frozen=True, slots=True)
class HeldDrift:
    """An incident that is held for as long as the drift baseline remembers."""

    family: ClassVar[Family] = "drift"
    until_named: ClassVar[bool] = True
    component: str
    longest_s: int

    @classmethod
    def of(cls, incident: Incident, memory: DriftBaselineParameters) -> HeldDrift | None:
        """None where the document is not about drift."""
        if document.drifted(incident) is None:
            return None
        return cls(incident.component, memory.blocks * memory.block_s)

    def over(self, state: FabricState, second: int, share: F64) -> bool:
        """Never: growth that has stopped shows in hours only."""
        return False
