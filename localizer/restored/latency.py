"""Restored incidents about latency.

What is usual of a path is what its windows of the last five minutes were. A worker that starts in
the middle of a fault learns slow windows as usual, so no deviation does not mean that it is over.
The former process had the incident open when it ended, which is later than where the new one begins
to read. So the incident goes on until its paths become quicker than they were at first, by as much
as the fault had slowed them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from localizer.restored.held import F64, effect_of
from localizer.restored.parameters import RestoredParameters
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Family
from schemas.documents.incident import Incident


@dataclass(frozen=True, slots=True)
class HeldLatency:
    """component, effect_us and bad_paths of an incident, as they were written."""

    family: ClassVar[Family] = "latency"
    until_named: ClassVar[bool] = True
    component: str
    effect_us: float
    bad_paths: int
    parameters: RestoredParameters

    @classmethod
    def of(cls, incident: Incident, parameters: RestoredParameters) -> HeldLatency | None:
        """None where the document is not about latency, or does not state how much was added."""
        effect_us = effect_of(incident)
        if incident.symptom != "high_latency" or not effect_us or not incident.paths_bad:
            return None
        return cls(incident.component, effect_us, incident.paths_bad, parameters)

    @property
    def longest_s(self) -> int:
        """See ``Held``."""
        return self.parameters.longest_s

    def over(self, state: FabricState, second: int, share: F64) -> bool:
        """Whether the newest window shows its paths quicker than they were."""
        found, parameters = state.latency.deviation, self.parameters
        if found is None:
            return False
        rows = np.flatnonzero((share >= 0.5)[: len(found.valid)] & found.valid)
        faster_us = -found.excess_us[rows]
        healed = faster_us >= parameters.healed_effect * self.effect_us
        healed &= faster_us >= parameters.healed_sigmas * found.noise_us[rows]
        needed = parameters.healed_paths * min(self.bad_paths, len(rows))
        return len(rows) > 0 and int(healed.sum()) >= max(needed, 1)
