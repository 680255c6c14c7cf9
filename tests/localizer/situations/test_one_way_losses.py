"""Links that lose 5 % in one direction, half of the routes unknown."""

from __future__ import annotations

import pytest
from builders.trials import run


@pytest.mark.slow
def test_links_that_lose_a_little_one_way_are_named_before_they_are_learnt_as_healthy() -> None:
    outcome = run("one-way-gentle", 1000)
    assert outcome.perfect, outcome.text


@pytest.mark.slow
def test_minutes_after_such_a_loss_no_rnic_is_named_that_many_of_its_paths_end_at() -> None:
    outcome = run("one-way-gentle", 220)
    assert outcome.perfect, outcome.text
