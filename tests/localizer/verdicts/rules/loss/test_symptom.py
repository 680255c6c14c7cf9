"""Unreachability or loss: a five-tuple that lost all of a few probes is dead only if the
component's other paths do not lose so much that chance would do it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.extent import symptom_of, without_most_answered
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


TOTAL = ReachabilityParameters().total
SOURCES = np.repeat(np.arange(7, dtype=np.int32), 2)  # two paths of each of seven hosts


def rest_of_hosts(sent: npt.NDArray[np.int64], lost: npt.NDArray[np.int64]) -> float:
    """The loss that other hosts see than the one which reports most answers."""
    counts = {"sent": sent, "lost": lost}
    state = SimpleNamespace(
        src=SOURCES,
        history=SimpleNamespace(
            seconds=30, total=lambda name, _at, _length, rows: counts[name][rows]
        ),
        options=SimpleNamespace(
            observers=3, verdicts=SimpleNamespace(reachability=ReachabilityParameters())
        ),
    )
    return without_most_answered(cast("Any", state), 0, 5, np.ones(len(SOURCES)))


def test_one_host_that_reports_answers_is_left_out() -> None:
    sent = np.full(14, 5)
    assert rest_of_hosts(sent, np.where(SOURCES == 3, 0, sent)) == 1.0
    assert rest_of_hosts(np.ones(14, int), np.where(SOURCES == 3, 0, 1)) == 1.0


def test_one_answer_of_few_probes_is_no_host_that_reports_answers() -> None:
    lost = np.ones(14, int)
    lost[6] = 0
    assert rest_of_hosts(np.ones(14, int), lost) < TOTAL


@pytest.mark.parametrize("loss", [0.5, 0.75])
def test_a_lossy_component_is_rarely_dead_for_all_hosts_but_one(loss: float) -> None:
    rng = np.random.default_rng(7)
    found = [rest_of_hosts(np.ones(14, int), rng.binomial(1, loss, 14)) for _ in range(1000)]
    # 7 . (1 - loss)^2 . loss^12 < 1.4 %: of seven hosts just one is answered, and always
    assert sum(each >= TOTAL for each in found) <= 20
