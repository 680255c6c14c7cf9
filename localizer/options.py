"""What a localizer is asked to do: strategy, alarm budget, witnesses, times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.parameters.parameter import parameter
from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming


class PValues(NamedTuple):
    """One family of tests in one second, over C observability classes.

    p         (C,) P(as much or more) under the null hypothesis
    above     (C,) P(more): with p it brackets what a discrete count leaves open
    expected  (C,) events expected under the null: little can be said of less than about one
    """

    family: str
    second: int
    p: npt.NDArray[np.float64]
    above: npt.NDArray[np.float64]
    expected: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the localizer.

    strategy        registered name
    false_per_week  alarm budget: false incidents allowed per fabric and week
    observers       source hosts that it takes to blame the network
    timing          of the windower: detected_at = watermark at decision + lateness
    miss_everyone   a fabric whose partitions are all idle is an incident: only where nothing but
                    a dead fabric makes them so, no replay's end and no broker's pause
    on_p            called with the p-values of every second, to check that they are calibrated
    """

    strategy: str = parameter(
        "hypothesis", unit="text", source="chosen: make scorecard (all strategies compared)"
    )
    false_per_week: float = parameter(
        1.0, unit="incidents/week", source="chosen: one a week is what an operator looks into"
    )
    observers: int = parameter(
        3, unit="hosts",
        source="chosen: pytest tests/localizer (one host, or two, must not convict the network)",
    )  # fmt: skip
    timing: WindowTiming = DEFAULT_TIMING
    miss_everyone: bool = False
    on_p: Callable[[PValues], None] | None = None
