"""Incidents about latency that a former process opened, and that a new one cannot see.

What is usual of a path is what its windows of the last five minutes were. A worker that starts in
the middle of a fault learns slow windows as usual, so no deviation does not mean that it is over.
The former process had the incident open when it ended, which is later than where the new one begins
to read. So the incident goes on until its paths become quicker than they were at first, by as much
as the fault had slowed them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localizer.incidents.parameters import RestoredLatencyParameters
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Verdict
from schemas.documents.incident import Incident


@dataclass(slots=True)
class _Held:
    """component, effect_us and bad_paths of an incident, as they were written."""

    component: str
    effect_us: float
    bad_paths: int


class RestoredLatency:
    """The restored incidents about latency of one fabric that are held open."""

    def __init__(self, parameters: RestoredLatencyParameters) -> None:
        self._parameters = parameters
        self._held: dict[str, _Held] = {}
        self._begun_s: int | None = None  # first second that was judged

    def add(self, incidents: Iterable[Incident]) -> None:
        """Hold those of these that are open and tell how much slower their paths were."""
        for each in incidents:
            effect = each.evidence.get("effect")
            if each.symptom != "high_latency" or each.state == "resolved":
                continue
            if isinstance(effect, int | float) and effect > 0 and each.paths_bad > 0:
                self._held[each.incident_id] = _Held(each.component, float(effect), each.paths_bad)

    def step(
        self, state: FabricState, second: int, verdicts: Iterable[Verdict], *, jumped: bool
    ) -> set[str]:
        """Ids of the incidents that stay open at a second although no verdict names them.

        verdicts  of this second: an incident that they name is held no longer
        jumped    event time has jumped, so that what happened meanwhile is unknown
        """
        if not self._held:
            return set()
        self._begun_s = second if self._begun_s is None else self._begun_s
        if jumped or second - self._begun_s > self._parameters.longest_s:
            self._held.clear()
        named = {each.component for each in verdicts if each.family == "latency"}
        for incident_id, held in list(self._held.items()):
            if held.component in named or self._healed(state, held):
                del self._held[incident_id]
        return set(self._held)

    def _healed(self, state: FabricState, held: _Held) -> bool:
        """Whether the newest window shows the paths of an incident quicker than they were."""
        found, parameters = state.latency.deviation, self._parameters
        if found is None:
            return False
        factored = state.incidence.factored()  # before the components: it adds what is missing
        if held.component not in state.incidence.components:
            return True  # nothing crosses it any more
        share = factored.column(state.incidence.components.index(held.component))
        rows = np.flatnonzero((share >= 0.5)[: len(found.valid)] & found.valid)
        faster_us = -found.excess_us[rows]
        healed = faster_us >= parameters.healed_effect * held.effect_us
        healed &= faster_us >= parameters.healed_sigmas * found.noise_us[rows]
        needed = parameters.healed_paths * min(held.bad_paths, len(rows))
        return len(rows) > 0 and int(healed.sum()) >= max(needed, 1)
