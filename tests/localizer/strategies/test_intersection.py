"""Intersection: the components that most bad paths have in common."""

from __future__ import annotations

import pytest
from builders.evidence.small import evidence, late

from localizer import strategies

intersection = strategies.get("intersection")


def test_the_most_crossed_of_bad_paths_is_blamed() -> None:
    #                         a  b  c
    blames = intersection(evidence([[1, 1, 0], [1, 0, 1], [0, 1, 1]], [3, 2, 0]))
    assert [blame.column for blame in blames] == [0]


def test_all_that_tie_are_blamed_the_one_on_fewest_paths_first() -> None:
    #              tor rnic other
    blames = intersection(evidence([[1, 1, 0], [1, 1, 0], [1, 0, 1]], [3, 2, 0]))
    assert [blame.column for blame in blames] == [1, 0]


def test_one_bad_path_names_no_culprit() -> None:
    assert intersection(evidence([[1, 1], [0, 1]], [9, 0])) == []


def test_the_way_out_and_the_way_back_count_apart() -> None:
    """a is crossed both ways by two bad paths: 2; b one way by three: 1.5."""
    blames = intersection(evidence([[1, 0.5], [1, 0.5], [0, 0.5]], [1, 1, 1]))
    assert [blame.column for blame in blames] == [0]


def test_a_route_that_is_not_known_counts_with_its_share() -> None:
    """Two paths surely cross a; three cross b with one chance in four, 0.75 in all."""
    blames = intersection(evidence([[1, 0], [1, 0.25], [0, 0.25], [0, 0.25]], [1, 1, 1, 1]))
    assert [blame.column for blame in blames] == [0]


def test_the_effect_is_the_loss_of_all_paths_that_cross_it() -> None:
    (blame,) = intersection(evidence([[1], [1], [1]], [3, 2, 1], sent=10))
    assert blame.effect == pytest.approx(6 / 30)


def test_the_effect_of_lateness_is_the_median_excess_of_the_late() -> None:
    (blame,) = intersection(late([[1], [1], [1], [1]], [9.0, 10.0, 12.0, 0.0]))
    assert blame.effect == pytest.approx(10.0)
