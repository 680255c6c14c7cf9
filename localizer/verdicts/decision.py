"""What a rule decides of one second, and the one place where decisions change the state.

Rules only read the state. ``apply`` carries out what they return, before the next rule reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from localizer.baselines.loss import HealthyLoss
from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.state.fabric_state import FabricState
from localizer.suppression.log import Suppression
from localizer.verdicts.verdict import Verdict

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Decision:
    """What one rule decides.

    verdicts       strongest evidence first
    ignore         (P,) paths whose counts are explained by now and do not count any more; None:
                   the history of all paths stands
    suppressed     what is not reported, and why
    silent_scopes  pods and fabrics that are silent as a whole; None: as before
    healthy        what the loss baseline may learn; None: nothing
    unsettled      lengths of windows with too little evidence to name all culprits [s]
    crowded        lengths of windows that named many [s]
    deviation      latency deviation that the anomalies of this second are reported with; None:
                   as before
    """

    verdicts: list[Verdict] = field(default_factory=list)
    ignore: Bool | None = None
    suppressed: list[Suppression] = field(default_factory=list)
    silent_scopes: frozenset[str] | None = None
    healthy: HealthyLoss | None = None
    unsettled: list[int] = field(default_factory=list)
    crowded: list[int] = field(default_factory=list)
    deviation: LatencyDeviation | None = None


def apply(state: FabricState, second: int, decision: Decision) -> list[Verdict]:
    """Carry out a decision on the state of its fabric; returns its verdicts."""
    if decision.ignore is not None and decision.ignore.any():
        state.history.erase(decision.ignore)
    state.suppression_log.add(decision.suppressed, second)
    if decision.silent_scopes is not None:
        state.silent_scopes = set(decision.silent_scopes)
    lossy = [each.first_s for each in decision.verdicts if each.family == "reachability"]
    lossy += [second - length + 1 for length in decision.unsettled]
    if lossy:
        state.learnt_loss.drop_since(min(lossy))
    if decision.healthy is not None:
        state.learnt_loss.add(second, decision.healthy)
    state.note_many_culprits(second, decision.unsettled, decision.crowded)
    if decision.deviation is not None:
        state.latency.deviation = decision.deviation
    return decision.verdicts
