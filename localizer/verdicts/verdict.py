"""What the localizer holds to be true in one second."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.component_ids import device, kind_of
from schemas.documents.incident import Direction, Layer, Symptom

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
    p_value    of the test that decided, corrected; 1 where a rule did, which is no test
    confidence probability that the component is the culprit
    first_s    first second with one of their losses; total: paths that cross it
    evidence   text and facts, ready for the incident document
    covers     components whose own incidents this one explains
    alone      nothing else is to blame at this moment, for another symptom of the same family
    possible   components besides the tie set that untraced routes leave open
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
    possible: list[str] = field(default_factory=list)
    alone: bool = True

    @property
    def kind(self) -> str:
        return kind_of(self.component)

    @property
    def names(self) -> set[str]:
        """The component, and the one that too few witnesses saw to blame."""
        return {self.component, str(self.evidence.get("instead_of", self.component))}

    @property
    def devices(self) -> set[str]:
        """``names``, the same whatever tier a switch is taken to be of."""
        return {device(name) for name in self.names}

    @property
    def tied(self) -> list[str]:
        """All that it may be: the tie set, and what untraced routes leave open."""
        return [*self.tie_set, *self.possible]

    @property
    def tied_devices(self) -> set[str]:
        """``tied``, the same whatever tier a switch is taken to be of."""
        return {device(name) for name in self.tied}

    def may_be(self, names: list[str]) -> None:
        """Other components may be it as well, each as probably as the tie set is."""
        if not names:
            return
        known = self.evidence.get("tie_set_probability")
        each = known if isinstance(known, dict) else {self.component: self.confidence}
        whole = sum(each.values())
        each = {**each, **dict.fromkeys(names, whole)}
        part = 1.0 / (1 + len(names))
        self.evidence["tie_set_probability"] = {n: round(p * part, 4) for n, p in each.items()}
        self.confidence *= part
        self.possible = names

    def confidence_in(self, name: str) -> float:
        """Probability that a member of the tie set is the culprit."""
        each = self.evidence.get("tie_set_probability")
        if name == self.component or not isinstance(each, dict):
            return self.confidence
        return float(each.get(name, self.confidence))

    @property
    def lone_witness(self) -> bool:
        """Too few hosts saw it: the verdict is about the host that complains."""
        return "instead_of" in self.evidence

    @property
    def family(self) -> Family:
        return "drift" if "drift" in self.evidence else FAMILY[self.symptom]
