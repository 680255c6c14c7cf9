"""The incidents that a former process left open, until what it knew of them is known again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from localizer.options import Options
from localizer.restored.drift import HeldDrift
from localizer.restored.held import F64, Held
from localizer.restored.latency import HeldLatency
from localizer.restored.loss import HeldLoss
from localizer.restored.silence import restore_silence
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Verdict
from schemas.documents.incident import Incident


class RestoredIncidents:
    """The restored incidents of one fabric."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._silent: list[Incident] = []  # until a topology holds, which knows a pod's hosts
        self._held: dict[str, Held] = {}
        self._begun_s: int | None = None  # first second that was judged

    def add(self, incidents: Iterable[Incident], ring_s: int) -> None:
        """Add those of these that are open.

        ring_s  seconds of single panes that the fabric's history holds
        """
        for each in incidents:
            if each.state == "resolved":
                continue
            self._silent.append(each)
            parameters, memory = self._options.restored, self._options.baselines.drift
            held = (
                HeldDrift.of(each, memory)
                or HeldLatency.of(each, parameters)
                or HeldLoss.of(each, ring_s, parameters)
            )
            if held is not None:
                self._held[each.incident_id] = held

    def restore_silence(self, state: FabricState) -> None:
        """Take hosts as silent that were, before the first second is judged."""
        if self._silent:
            restore_silence(state, self._silent)
            self._silent = []

    def open_without_verdict(
        self, state: FabricState, second: int, verdicts: Iterable[Verdict], *, jumped: bool
    ) -> set[str]:
        """Ids of the incidents that stay open at a second although no verdict names them.

        verdicts  of this second: an incident about latency or drift that they name is held no
                  longer
        jumped    event time has jumped, so that what happened meanwhile is unknown
        """
        if not self._held:
            return set()
        self._begun_s = second if self._begun_s is None else self._begun_s
        if jumped:
            self._held.clear()
        begun_for_s = second - self._begun_s
        named = {(each.family, each.component) for each in verdicts}
        for incident_id, held in list(self._held.items()):
            known_again = (held.family, held.component) in named
            if (known_again and held.until_named) or begun_for_s > held.longest_s:
                del self._held[incident_id]
                continue
            share = _crossing(state, held.component)
            if share.any():
                over = held.over(state, second, share)
            else:  # none of its paths has been probed yet, or none is probed any more
                over = begun_for_s > self._options.retention.live_s
            if over:
                del self._held[incident_id]
        return set(self._held)


def _crossing(state: FabricState, component: str) -> F64:
    """(P,) share of each path's traversals that cross a component."""
    factored = state.incidence.factored()  # before the components: it adds what is missing
    if component not in state.incidence.components:
        return np.zeros(len(state.index))
    return factored.column(state.incidence.components.index(component))
