"""The demo and clean input on seeds that no parameter was tuned on, and seeds that failed once.

A few seeds of each; ``make scorecard`` runs twenty of every scenario.
"""

from __future__ import annotations

import pytest
from builders.trials import run

pytestmark = [pytest.mark.slow]

FAULTY = range(100, 104)
CLEAN = range(200, 203)
UNTRACED = (1071, 1086)


@pytest.mark.parametrize("seed", FAULTY)
def test_the_pipeline_names_the_five_faults_of_the_demo_and_nothing_else(seed: int) -> None:
    outcome = run("demo", seed)
    assert outcome.perfect, outcome.text
    assert outcome.adds_up, "records in = judged + late + duplicate + dead-lettered"


@pytest.mark.parametrize("seed", UNTRACED)
def test_beside_a_link_of_unknown_routes_nothing_else_is_named(seed: int) -> None:
    """Chance puts its losses on a sibling (1086) and on a host (1071) for some seconds."""
    outcome = run("one-way-gentle", seed)
    assert outcome.perfect, outcome.text


@pytest.mark.parametrize("seed", CLEAN)
def test_ten_clean_minutes_open_no_incident(seed: int) -> None:
    outcome = run("clean", seed)
    assert outcome.incidents == 0, outcome.text
    assert outcome.adds_up, "records in = judged + late + duplicate + dead-lettered"
