"""Flock: the likelihood of a hypothesis, the gains of its neighbours, the greedy search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from builders.evidence.small import evidence, late, matrix

from localizer import strategies
from localizer.strategies.flock import DEFAULT, FlockParameters, Search, log_odds, search


def likelihood(share: np.ndarray, odds: np.ndarray, chosen: set[int]) -> float:
    """The paper's formula, flow by flow, b from independent shares."""
    total = 0.0
    for row, one in zip(share, odds, strict=True):
        b = 1.0 - np.prod([1.0 - row[k] for k in chosen])
        total += np.log((1.0 - b) + b * np.exp(one))
    return total


def draw(seed: int, *, known: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    share = (rng.random((40, 7)) < 0.4).astype(float)
    if not known:
        share[::3] *= rng.choice([0.25, 0.5, 1.0], (len(share[::3]), 7))
    loss = np.array([0.1, 0, 0, 0.02, 0, 0, 0])
    survive = np.prod(np.where(rng.random((40, 7)) < share, 1.0 - loss, 1.0), axis=1)
    sent = np.full(40, 100)
    return share, log_odds(sent, rng.binomial(sent, 1.0 - survive), DEFAULT)


def test_the_odds_of_a_flow_are_those_of_the_paper() -> None:
    """3 of 100 lost: (0.003 / 2e-4)^3 (0.997 / 0.9998)^97."""
    odds = log_odds(np.array([100]), np.array([3]), FlockParameters(3e-3, 2e-4, -15.0))
    assert odds[0] == pytest.approx(3 * np.log(15) + 97 * np.log(0.997 / 0.9998))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_gain_is_a_difference_of_likelihoods_after_any_steps(seed: int, known: bool) -> None:
    share, odds = draw(seed, known=known)
    joint = Search(matrix(share.tolist()), odds)
    chosen: set[int] = set()
    for k in [0, 3, 5, 0, 1, 5, 3]:
        joint.flip(k)
        chosen ^= {k}
        now = likelihood(share, odds, chosen)
        for other in range(share.shape[1]):
            then = likelihood(share, odds, chosen ^ {other})
            assert joint.gain[other] == pytest.approx(then - now, abs=1e-6)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_the_search_finds_the_best_of_all_hypotheses(seed: int, known: bool) -> None:
    share, odds = draw(seed, known=known)
    found = set(search(matrix(share.tolist()), odds, DEFAULT))
    everything = [
        set(some) for size in range(8) for some in combinations(range(share.shape[1]), size)
    ]
    best = max(everything, key=lambda some: likelihood(share, odds, some) - 15.0 * len(some))
    assert found == best


def test_a_prior_too_dear_names_no_culprit() -> None:
    share, odds = draw(0, known=True)
    assert search(matrix(share.tolist()), odds, FlockParameters(prior=-1e6)) == []


def test_chance_losses_blame_no_component() -> None:
    assert strategies.get("flock")(evidence([[1, 1], [1, 0], [0, 1]], [1, 0, 0], sent=100)) == []


def test_the_component_that_explains_the_losses_is_blamed() -> None:
    paths = [[1, 1, 0], [1, 0, 1], [0, 1, 1]] * 4
    found = strategies.get("flock")(evidence(paths, [5, 4, 0] * 4, sent=100))
    assert [b.column for b in found] == [0]
    assert found[0].effect == pytest.approx(0.045)


def test_late_paths_count_as_lost_packets() -> None:
    paths = [[1, 1, 0], [1, 0, 1], [0, 1, 1]] * 6
    (found,) = strategies.get("flock")(late(paths, [9.0, 11.0, 0.0] * 6))
    assert found.column == 0
    assert found.effect == pytest.approx(10.0)
