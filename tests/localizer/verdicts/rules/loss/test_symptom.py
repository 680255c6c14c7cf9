"""Unreachability or loss: a five-tuple that lost all of a few probes is dead only if the
component's other paths do not lose so much that chance would do it."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.extent import symptom_of
from schemas.documents.incident import Symptom


def said(sent: list[int], lost: list[int], owned: list[bool] | None = None) -> Symptom:
    """The symptom of a component whose paths sent and lost so many probes."""
    n, k = np.array(sent), np.array(lost)
    crossing = np.ones(len(n), bool) if owned is None else np.array(owned)
    return symptom_of(n, k, k > 0, crossing, k.sum() / n.sum(), ReachabilityParameters())


def test_nothing_gets_through() -> None:
    assert said([3, 2, 4], [3, 2, 4]) == "unconnectivity"


def test_one_dead_five_tuple_among_healthy_ones() -> None:
    assert said([5, 5, 5, 5], [5, 0, 0, 0]) == "unconnectivity"


def test_half_of_the_five_tuples_are_dead() -> None:
    assert said([4] * 8, [4, 0] * 4) == "unconnectivity"


def test_all_of_few_probes_lost_by_chance_where_all_paths_lose_most() -> None:
    assert said([4, 3, 3, 2, 3, 3], [4, 2, 2, 1, 2, 3]) == "loss"


def test_too_few_probes_to_call_a_five_tuple_silent() -> None:
    assert said([3, 3, 3, 3], [3, 0, 0, 0]) == "loss"


def test_a_path_that_may_cross_elsewhere_is_compared_with_nothing() -> None:
    """Where the silent five-tuple's route is unknown, the component's own paths deny nothing."""
    assert said([6, 6, 6, 6], [6, 3, 3, 3], [False, True, True, True]) == "loss"
    assert said([6, 2, 2, 2], [6, 1, 1, 1], [False, True, True, True]) == "unconnectivity"


@pytest.mark.parametrize("loss", [0.5, 0.7])
def test_a_lossy_component_is_rarely_called_dead(loss: float) -> None:
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(500):
        sent = rng.poisson(3, 16) + 1
        lost = rng.binomial(sent, loss)
        wrong += said(sent.tolist(), lost.tolist()) == "unconnectivity"
    assert wrong <= 5
