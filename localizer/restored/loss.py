"""Restored incidents about a loss that only a window of minutes shows.

A worker that starts knows 330 s of the past: too little for a loss of one probe in a thousand, and
nothing of the time before the fault, above which a gray loss must have risen. So the incident goes
on until its paths show that the loss has gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from localizer.restored.held import F64, effect_of
from localizer.restored.parameters import RestoredParameters
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Family
from schemas.documents.incident import Incident


@dataclass(slots=True)
class HeldLoss:
    """component and loss [1] of an incident, as they were written.

    log_odds  ln of the likelihood ratio of the counts, the loss going on against gone, since that
              ratio was highest; at most 0
    """

    family: ClassVar[Family] = "reachability"
    until_named: ClassVar[bool] = False  # one sighting may be the only one in minutes
    component: str
    loss: float
    parameters: RestoredParameters
    log_odds: float = 0.0

    @classmethod
    def of(cls, incident: Incident, ring_s: int, parameters: RestoredParameters) -> HeldLoss | None:
        """None where the document is not about a loss in a window longer than ``ring_s``: what a
        shorter one shows is seen again at once."""
        loss, window_s = effect_of(incident), incident.evidence.get("window_s")
        if incident.symptom != "loss" or not loss:
            return None
        if not isinstance(window_s, int | float) or window_s <= ring_s:
            return None
        return cls(incident.component, min(loss, 1.0), parameters)

    @property
    def longest_s(self) -> int:
        """See ``Held``."""
        return self.parameters.longest_s

    def over(self, state: FabricState, second: int, share: F64) -> bool:
        """Whether the probes of its paths since some second exclude so much loss.

        A cumulative sum of log likelihood ratios of Poisson counts, which starts anew at 0 where
        they support the loss; counts are divided by the dispersion of the fabric's losses.
        Source  Page, Biometrika 1954
        """
        rows = np.flatnonzero(share)
        sent, lost = (
            state.history.counts(name, second, 1)[rows].astype(np.float64)
            for name in ("sent", "lost")
        )
        added, usual = self.parameters.goes_on * self.loss * share[rows], state.background
        more = float((lost * np.log1p(added / usual.rate) - sent * added).sum()) / usual.dispersion
        self.log_odds = min(0.0, self.log_odds + more)
        return self.log_odds < -math.log(self.parameters.healed_odds)
