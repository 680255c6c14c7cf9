"""The incidents that a former process left open, until what it knew of them is known again."""

from __future__ import annotations

from collections.abc import Iterable

from localizer.options import Options
from localizer.restored.drift import HeldDrift
from localizer.restored.held import Held
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

        verdicts  of this second: an incident that they name is held no longer
        jumped    event time has jumped, so that what happened meanwhile is unknown
        """
        if not self._held:
            return set()
        self._begun_s = second if self._begun_s is None else self._begun_s
        if jumped:
            self._held.clear()
        named = {(each.family, each.component) for each in verdicts}
        for incident_id, held in list(self._held.items()):
            known_again = (held.family, held.component) in named
            expired = second - self._begun_s > held.longest_s
            if known_again or expired or held.over(state, second):
                del self._held[incident_id]
        return set(self._held)
