"""007: 1/h votes, the top link, its flows removed, again."""

from __future__ import annotations

import numpy as np
import pytest
from builders.evidence.small import evidence, late, matrix

from localizer import strategies
from localizer.strategies.vote007 import Vote007Parameters, attribute, cast

#  h0 --a-- t0 --b-- s --c-- t1 --d-- h1      links a..e; h2 hangs on t1 by e
LINE = [
    [1, 1, 1, 1, 0],  # h0 -> h1: 4 links
    [1, 1, 1, 0, 1],  # h0 -> h2
    [0, 0, 0, 1, 1],  # h1 -> h2: 2 links
]


def test_a_bad_flow_gives_each_of_its_h_links_one_hth_of_a_vote() -> None:
    votes = cast(matrix(LINE), np.array([1.0, 0.0, 1.0]))
    assert votes == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 4 + 1 / 2, 1 / 2])


def test_a_route_that_is_not_known_spreads_its_vote_by_the_shares() -> None:
    votes = cast(matrix([[1, 0.5, 0.5, 1]]), np.array([1.0]))
    assert votes == pytest.approx([1 / 3, 1 / 6, 1 / 6, 1 / 3])
    assert votes.sum() == pytest.approx(1.0)


def test_the_most_voted_is_blamed_and_explains_its_flows() -> None:
    assert [b.column for b in attribute(evidence(LINE, [2, 0, 3]), Vote007Parameters(0.01))] == [3]


def test_what_the_first_does_not_explain_is_voted_on_again() -> None:
    #     a  b  and a link of its own for every flow
    two = np.hstack([[[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], np.eye(5)]).tolist()
    assert [
        b.column for b in attribute(evidence(two, [1, 1, 1, 1, 1]), Vote007Parameters(0.01))
    ] == [0, 1]


def test_a_link_below_the_threshold_of_all_votes_is_not_blamed() -> None:
    """Ten flows bad on a, one on b: b holds 1/11 of the votes."""
    lone = evidence([[1, 0]] * 10 + [[0, 1]], [1] * 11)
    assert [b.column for b in attribute(lone, Vote007Parameters(0.09))] == [0, 1]
    assert [b.column for b in attribute(lone, Vote007Parameters(0.10))] == [0]


def test_of_near_ties_the_one_with_more_of_its_paths_bad_is_blamed() -> None:
    """An rnic and its ToR cross the same bad paths; the ToR has good ones as well."""
    #           tor rnic
    paths = [[1, 1], [1, 1], [1, 0], [1, 0]]
    assert [b.column for b in strategies.get("vote007")(evidence(paths, [1, 1, 0, 0]))] == [1]


def test_a_late_path_is_a_bad_flow() -> None:
    (found,) = strategies.get("vote007")(late([[1, 0], [1, 0], [0, 1]], [9.0, 11.0, 0.0]))
    assert found.column == 0
    assert found.effect == pytest.approx(10.0)
