"""The alarm budget: a week of tests together spends it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.detectors.alarm_budget import WEEK_S, AlarmBudget


@given(st.floats(0.1, 50), st.integers(1, 10_000), st.sampled_from([1.0, 5.0, 30.0]))
@settings(max_examples=50)
def test_all_tests_of_a_week_together_spend_the_budget(
    per_week: float, components: int, every_s: float
) -> None:
    budget = AlarmBudget(per_week)
    tests = WEEK_S / every_s * components
    assert budget.level(components, every_s) * tests * budget.families == pytest.approx(per_week)


def test_a_budget_of_one_is_spent_by_the_604800_panes_of_a_week() -> None:
    assert AlarmBudget(1.0, families=1).level(1, 1.0) == pytest.approx(1 / 604_800)


def test_an_empty_fabric_divides_by_nothing() -> None:
    assert AlarmBudget(1.0).level(0, 1.0) == AlarmBudget(1.0).level(1, 1.0)
