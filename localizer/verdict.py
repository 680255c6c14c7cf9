"""What the localiser holds to be true in one second."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.components import kind_of
from schemas.incident import Direction, Layer, Symptom

I64 = npt.NDArray[np.int64]

Family = Literal["reachability", "latency", "drift", "agent"]
FAMILY: dict[Symptom, Family] = {
    "loss": "reachability",
    "unconnectivity": "reachability",
    "high_latency": "latency",
    "agent_down": "agent",
    "agent_starved": "agent",
    "host_down": "agent",
    "clock_skewed": "agent",
}


@dataclass(slots=True)
class Verdict:
    """One culprit, with the evidence.

    tie_set    component and all that probes cannot tell from it, likeliest first
    bad        rows of the bad paths that it explains, sorted
    first_s    first second with one of their losses; total: paths that cross it
    evidence   text and facts, ready for the incident document
    covers     components whose own incidents this one explains
    direction  of a link: the one way that packets are hurt, or both
    """

    component: str
    tie_set: list[str]
    layer: Layer
    symptom: Symptom
    p_value: float
    confidence: float
    bad: I64
    total: int
    first_s: int
    effect: float = 0.0
    issue_type: str | None = None
    evidence: dict[str, object] = field(default_factory=dict)
    covers: frozenset[str] = frozenset()
    direction: Direction = "both"

    @property
    def kind(self) -> str:
        return kind_of(self.component)

    @property
    def names(self) -> set[str]:
        """The component, and the one that too few witnesses saw to blame."""
        return {self.component, str(self.evidence.get("instead_of", self.component))}

    @property
    def lone_witness(self) -> bool:
        """Too few hosts saw it: the verdict is about the host that complains."""
        return "instead_of" in self.evidence

    @property
    def family(self) -> Family:
        return "drift" if "drift" in self.evidence else FAMILY[self.symptom]
