"""Loss baseline: the healthy loss of a round trip, learnt from panes without an alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from schemas.parameters.parameter import parameter

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LossBaselineParameters:
    """Prior and memory of the baseline.

    memory_s         time after which an observation counts for 1/e
    least_rate       the baseline is never taken to be cleaner: it guards the first minutes
    prior_probes     probes that the prior is worth
    least_expected   losses that must be expected of a component for its dispersion to count
    dispersion_step  weight of the newest pane in the dispersion
    most_dispersed   one pane counts for no more than this ratio
    """

    memory_s: float = parameter(
        600.0, unit="s", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    least_rate: float = parameter(
        2e-4, unit="1", source="chosen: pytest tests/localizer/detectors (clean weather)"
    )
    prior_probes: float = parameter(
        1e4, unit="probes", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    least_expected: float = parameter(
        0.05, unit="probes", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    dispersion_step: float = parameter(
        0.01, unit="1", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    most_dispersed: float = parameter(
        100.0, unit="1", source="chosen: pytest tests/localizer/baselines (one wild pane)"
    )


DEFAULT: Final = LossBaselineParameters()


class LossBaseline:
    """Healthy loss of a round trip and its over-dispersion.

    rate        mean loss probability [1], exponentially weighted
    dispersion  variance of pooled counts over the binomial's, >= 1: congestion is correlated
    """

    def __init__(self, parameters: LossBaselineParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._decay = float(np.exp(-1.0 / parameters.memory_s))
        self._lost = parameters.least_rate * parameters.prior_probes
        self._sent = parameters.prior_probes
        self._ratio = 1.0

    @property
    def rate(self) -> float:
        return max(self._lost / self._sent, self._parameters.least_rate)

    @property
    def dispersion(self) -> float:
        return max(1.0, self._ratio)

    def learn(self, sent: float, lost: float, each_sent: F64, each_lost: F64) -> None:
        """Add one healthy pane.

        sent, lost            probes of the fabric
        each_sent, each_lost  (C,) pooled per component
        """
        self._lost = self._decay * self._lost + lost
        self._sent = self._decay * self._sent + sent
        expected = each_sent * self.rate
        if (heavy := expected > self._parameters.least_expected).any():
            square = (each_lost[heavy] - expected[heavy]) ** 2 / expected[heavy]
            newest = float(np.minimum(square, self._parameters.most_dispersed).mean())
            step = self._parameters.dispersion_step
            self._ratio = (1.0 - step) * self._ratio + step * newest
