"""PLL: hit ratio, then the fewest links that explain most losses."""

from __future__ import annotations

import numpy as np
import pytest
from builders.evidence.small import evidence, late, matrix

from localizer import strategies
from localizer.strategies.pll import hit_ratio

pll = strategies.get("pll")


def test_the_hit_ratio_is_the_share_of_lossy_paths_among_all_through_the_link() -> None:
    share = matrix([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]])
    ratio = hit_ratio(share, np.ones(4), np.array([1.0, 1.0, 0.0, 1.0]))
    assert ratio == pytest.approx([2 / 3, 1.0, 0.0])


def test_a_link_with_too_many_clean_paths_is_not_blamed() -> None:
    """a is on three lossy paths of five, exactly 0.6; b, c, d on one lossy path of one."""
    paths = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert {b.column for b in pll(evidence(paths, [5, 4, 3, 0, 0]))} == {1, 2, 3}


def test_a_link_that_explains_all_is_preferred_to_several() -> None:
    paths = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0]]
    assert [b.column for b in pll(evidence(paths, [5, 4, 3, 0]))] == [0]


def test_losses_weigh_not_paths() -> None:
    """a explains one path that lost 9, b two that lost 1 each; both are needed, a first."""
    paths = [[1, 0], [0, 1], [0, 1]]
    assert [b.column for b in pll(evidence(paths, [9, 1, 1]))] == [0, 1]


def test_parts_that_share_no_lossy_path_are_solved_apart() -> None:
    paths = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    assert {b.column for b in pll(evidence(paths, [2, 2, 7, 7]))} == {0, 2}


def test_a_link_that_explains_nothing_more_is_not_blamed() -> None:
    """b's only lossy path is one of a's."""
    assert [b.column for b in pll(evidence([[1, 1], [1, 0], [1, 0]], [3, 3, 3]))] == [0]


def test_clean_paths_blame_no_component() -> None:
    assert pll(evidence([[1, 1], [1, 0]], [0, 0])) == []


def test_late_paths_are_explained_by_what_they_share() -> None:
    (blame,) = pll(late([[1, 0, 1], [1, 1, 0], [0, 1, 1]], [9.0, 11.0, 0.0]))
    assert blame.column == 0
    assert blame.effect == pytest.approx(10.0)
