"""Two faults at one switch at a time: a dead rnic below a lossy ToR, and two bad uplinks of one."""

from __future__ import annotations

import pytest
from builders.trials import run


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1000, 1001])
def test_faults_at_one_switch_are_named_each_for_itself(seed: int) -> None:
    outcome = run("shared_switch", seed)
    assert outcome.perfect, outcome.text
