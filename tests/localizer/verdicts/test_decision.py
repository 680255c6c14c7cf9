"""What a decision about losses does to the loss baseline."""

from __future__ import annotations

import numpy as np

from localizer.baselines.loss import HealthyLoss
from localizer.options import Options
from localizer.state.fabric_state import FabricState
from localizer.verdicts.decision import Decision, apply

NONE = np.zeros(0)
START_S = 1_780_000_000


def begun_in_trouble(seconds: int) -> FabricState:
    """A fabric whose first seconds lose a tenth, while nothing is significant yet."""
    state = FabricState("f", None, Options())
    for second in range(START_S, START_S + seconds):
        apply(state, second, Decision(healthy=HealthyLoss(400.0, 40.0, NONE, NONE)))
    return state


def test_a_window_with_more_culprits_than_it_can_name_takes_back_what_was_learnt_of_it() -> None:
    state, clean = begun_in_trouble(3), FabricState("f", None, Options())
    assert state.background.rate > 10 * clean.background.rate
    apply(state, START_S + 3, Decision(unsettled=[5, 30]))
    assert state.background.rate == clean.background.rate


def test_a_window_without_culprits_takes_nothing_back() -> None:
    state = begun_in_trouble(3)
    before = state.background.rate
    apply(state, START_S + 3, Decision())
    assert state.background.rate == before
