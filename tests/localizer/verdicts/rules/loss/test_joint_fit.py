"""The likelihood of losses, if some components lose and all else is healthy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from localizer.verdicts.rules.loss.joint_fit import (
    MOST,
    either_log_likelihood,
    log_likelihood,
    partial_log_likelihood,
)

HEALTHY = 1e-4
#: Paths over a switch and the first of its links, the second, or none of both.
CROSSINGS = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


def nats(columns: list[int], sent: list[int], lost: list[int]) -> float:
    return log_likelihood(CROSSINGS[:, columns], np.array(sent), np.array(lost), HEALTHY)


def test_one_component_is_as_likely_as_its_best_loss() -> None:
    rates = np.linspace(0.001, 0.5, 2000)
    best = (20 * np.log(rates) + 180 * np.log1p(-rates)).max()
    assert nats([0], [100, 50, 50], [10, 5, 5]) == pytest.approx(best, abs=1e-3)


def test_losses_of_two_links_are_those_links_rather_than_their_switch() -> None:
    counts = [100, 100, 100], [10, 4, 0]
    assert nats([1, 2], *counts) > nats([0], *counts) + 7
    assert nats([0, 1, 2], *counts) - nats([1, 2], *counts) < 1, "the switch is not needed"


def test_losses_everywhere_are_the_switch() -> None:
    assert nats([0], [100, 100, 100], [6, 5, 7]) > nats([1, 2], [100, 100, 100], [6, 5, 7]) + 20


def test_a_link_that_loses_all_below_a_switch_that_loses_some_is_one_more_culprit() -> None:
    counts = [50, 100, 100], [50, 5, 6]
    both = nats([0, 1], *counts)
    assert both - nats([0], *counts) > 50
    assert both - nats([1], *counts) > 50


def test_nothing_lost_is_as_likely_as_in_a_healthy_network() -> None:
    healthy = stats.binom.logpmf(0, 300, HEALTHY)
    assert nats([0, 1], [100, 100, 100], [0, 0, 0]) == pytest.approx(healthy)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=3),
    st.permutations([0, 1, 2]), st.integers(1, 3),
)  # fmt: skip
def test_one_more_component_never_explains_less(
    counts: list[tuple[int, int]], order: list[int], many: int
) -> None:
    sent, lost = [max(pair) for pair in counts], [min(pair) for pair in counts]
    some = nats(order[:many], sent, lost)
    assert many == 3 or nats(order[: many + 1], sent, lost) >= some - 0.01


@pytest.mark.parametrize("seed", range(20))
def test_no_losses_are_likelier_than_those_found(seed: int) -> None:
    """Beside a general optimiser, also where components share most of their paths."""
    rng = np.random.default_rng(seed)
    paths, many = rng.integers(3, 200), rng.integers(1, MOST + 1)
    crossings = rng.choice([0.0, 0.125, 0.5, 1.0, 2.0], (paths, many))
    if seed % 2:
        crossings = rng.choice([0.0, 1.0], (paths, many))
        crossings[:, 0] = 1.0
    sent = rng.integers(0, 50, paths)
    hazards = crossings @ rng.choice([0.0, 0.01, 0.1, 1.0, 3.0], many) + HEALTHY
    lost = rng.binomial(sent, -np.expm1(-hazards))

    def worse(tried: npt.NDArray[np.float64]) -> float:
        total = crossings @ tried + HEALTHY
        return -float(lost @ np.log(-np.expm1(-total)) - (sent - lost) @ total)

    bounds = [(0.0, 9.2)] * int(many)
    best = min(
        optimize.minimize(worse, np.full(many, start), bounds=bounds, method="L-BFGS-B").fun
        for start in (0.01, 0.5)
    )
    assert log_likelihood(crossings, sent, lost, HEALTHY) >= -best - 0.01


def test_paths_alike_are_pooled_whatever_their_order() -> None:
    rng = np.random.default_rng(1)
    crossings = rng.choice([0.0, 0.125, 0.5, 1.0, 2.0], (500, 2 * MOST))
    sent = rng.integers(0, 30, 500)
    lost = rng.binomial(sent, 0.1)
    order = rng.permutation(500)
    assert log_likelihood(crossings, sent, lost, HEALTHY) == pytest.approx(
        log_likelihood(crossings[order], sent[order], lost[order], HEALTHY)
    )


def test_a_component_that_drops_some_five_tuples_is_likelier_at_its_share_than_as_a_whole() -> None:
    rng = np.random.default_rng(1)
    sent, once = np.full(300, 20), np.ones(300)
    some = rng.binomial(sent, np.where(rng.random(300) < 0.4, 0.3, HEALTHY))
    every = rng.binomial(sent, 0.12)
    for lost, apart in ((some, True), (every, False)):
        whole = log_likelihood(once[:, None], sent, lost, HEALTHY)
        partial = partial_log_likelihood(once, np.zeros(300), sent, lost, HEALTHY)
        assert (partial > whole + 50) is apart


def test_a_component_that_is_silent_is_as_likely_by_its_five_tuples_as_as_a_whole() -> None:
    """Of what crosses it perhaps, one in five loses: the loss elsewhere is fitted as finely."""
    rng = np.random.default_rng(3)
    sent, once = np.full(400, 10), (np.arange(400) < 200).astype(float)
    unknown = 0.5 * (1 - once)
    lost = np.where(once > 0, sent, rng.binomial(sent, 0.2))
    whole = log_likelihood(np.stack([once, unknown], axis=1), sent, lost, HEALTHY)
    assert partial_log_likelihood(once, unknown, sent, lost, HEALTHY) >= whole - 0.1


def test_what_may_be_lost_elsewhere_is_no_share_of_a_component() -> None:
    """Four of five paths cross it; all lose a little on the unknown way back."""
    rng = np.random.default_rng(2)
    once, unknown = (np.arange(200) % 5 > 0).astype(float), np.full(200, 0.25)
    sent = np.full(200, 20)
    lost = rng.binomial(sent, 0.05)
    with_it, without_it = (
        partial_log_likelihood(once, each, sent, lost, HEALTHY) for each in (unknown, np.zeros(200))
    )
    assert with_it > without_it + 10


def test_where_all_routes_are_known_either_way_is_the_known_one() -> None:
    rng = np.random.default_rng(3)
    there, back = rng.integers(0, 2, (2, 200)).astype(np.float64)
    sent = rng.integers(1, 9, 200)
    lost = rng.binomial(sent, 1 - 0.8 ** (there + back))
    whole = log_likelihood((there + back)[:, None], sent, lost, HEALTHY)
    assert either_log_likelihood(there, back, sent, lost, HEALTHY) == pytest.approx(whole, abs=0.02)


@pytest.mark.parametrize("loss", [0.02, 0.3, 1.0])
def test_either_way_is_the_sum_over_both_routes(loss: float) -> None:
    rng = np.random.default_rng(4)
    there, back = rng.choice([0.0, 0.25, 0.5, 1.0], (2, 300))
    crossed = (rng.random(300) < there).astype(int) + (rng.random(300) < back)
    sent = rng.integers(1, 9, 300)
    lost = rng.binomial(sent, 1 - (1 - HEALTHY) * (1 - loss) ** crossed)
    chances = (1 - there) * (1 - back), there + back - 2 * there * back, there * back
    tried = [0.9999] if loss == 1.0 else np.geomspace(loss / 3, min(3 * loss, 0.99), 200)
    whole = max(
        float(np.log(sum(
            chance * stats.binom.pmf(lost, sent, 1 - (1 - HEALTHY) * (1 - each) ** times)
            for times, chance in enumerate(chances)
        )).sum())
        for each in tried
    )  # fmt: skip
    orders = float(np.log(special.comb(sent, lost)).sum())  # which probes were lost is left out
    found = either_log_likelihood(there, back, sent, lost, HEALTHY)
    assert found == pytest.approx(whole - orders, abs=0.05)
