"""What all restored incidents that are held open have in common."""

from __future__ import annotations

from typing import Protocol

from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Family
from schemas.documents.incident import Incident


class Held(Protocol):
    """An incident that stays open although no verdict names it.

    family     of the verdicts that may name it
    longest_s  it is held at most so long after the first second that was judged
    """

    @property
    def family(self) -> Family: ...

    @property
    def component(self) -> str: ...

    @property
    def longest_s(self) -> int: ...

    def over(self, state: FabricState, second: int) -> bool:
        """Whether the paths of a second that has been judged show that the fault has gone; call
        once for each second."""
        ...


def effect_of(incident: Incident) -> float:
    """The effect that a document states: loss [1] or added latency [us]; 0 where it is missing."""
    effect = incident.evidence.get("effect")
    return float(effect) if isinstance(effect, int | float) and effect > 0 else 0.0
