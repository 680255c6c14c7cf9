"""The feedback loop with the localizer: probes that it asks for tell a tie set apart."""

from __future__ import annotations

from evaluation.feedback.trials import trial


def test_a_broken_link_is_told_from_its_spine_and_the_spines_other_link() -> None:
    found = trial(1, 0.3)
    assert found is not None
    assert (found.before, found.without) == (3, 3)
    assert found.least == 1
    assert found.right
    assert found.one_s is not None
    assert found.one_s <= 60
