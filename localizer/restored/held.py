"""What all restored incidents that are held open have in common."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Family
from schemas.documents.incident import Incident

F64 = npt.NDArray[np.float64]


class Held(Protocol):
    """An incident that stays open although no verdict names it.

    family       of the verdicts that may name it
    until_named  a verdict that names it ends the holding: the rules see again what it is about
    longest_s    it is held at most so long after the first second that was judged
    """

    @property
    def family(self) -> Family: ...

    @property
    def until_named(self) -> bool: ...

    @property
    def component(self) -> str: ...

    @property
    def longest_s(self) -> int: ...

    def over(self, state: FabricState, second: int, share: F64) -> bool:
        """Whether the paths of a second that has been judged show that the fault has gone; call
        once for each second.

        share  (P,) of each path's traversals that cross the component
        """
        ...


def effect_of(incident: Incident) -> float:
    """The effect that a document states: loss [1] or added latency [us]; 0 where it is missing."""
    effect = incident.evidence.get("effect")
    return float(effect) if isinstance(effect, int | float) and effect > 0 else 0.0
