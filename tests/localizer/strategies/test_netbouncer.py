"""NetBouncer: coordinate descent on path success, and devices without a clean path."""

from __future__ import annotations

import numpy as np
import pytest
from builders.evidence.small import evidence, matrix
from scipy import optimize

from localizer import strategies
from localizer.strategies.netbouncer import KNOWN, NetbouncerParameters, attribute, fit, step

netbouncer = strategies.get("netbouncer")


def objective(share: np.ndarray, y: np.ndarray, x: np.ndarray, penalty: float) -> float:
    product = np.prod(np.where(share > 0, x, 1.0), axis=1)
    return float(((y - product) ** 2).sum() + penalty * (x * (1 - x)).sum())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("penalty", [0.0, 0.011, 0.5, 3.0])
def test_the_step_is_the_minimum_of_the_objective_in_one_link(seed: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    share = (rng.random((6, 4)) < 0.6).astype(float)
    share[0, 0] = 1.0
    y, x = rng.random(6), rng.random(4)
    mine = share[:, 0] > 0
    others = np.prod(np.where(share[mine, 1:] > 0, x[1:], 1.0), axis=1)
    best = step(float(others @ y[mine]), float(others @ others), penalty)

    def along(value: float) -> float:
        return objective(share, y, np.array([value, *x[1:]]), penalty)

    numeric = optimize.minimize_scalar(
        along, bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    assert along(best) <= min(numeric.fun, along(0.0), along(1.0)) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_a_minimum_in_every_link(seed: int) -> None:
    rng = np.random.default_rng(seed)
    share = (rng.random((30, 5)) < 0.5).astype(float)
    y = np.prod(np.where(share > 0, [1.0, 0.7, 1.0, 0.95, 1.0], 1.0), axis=1)
    x = fit(matrix(share.tolist()), y, KNOWN)
    here = objective(share, y, x, 0.011)
    for link in range(5):
        for value in np.linspace(0, 1, 101):
            moved = x.copy()
            moved[link] = value
            assert objective(share, y, moved, 0.011) >= here - 1e-3


def test_success_probabilities_are_recovered() -> None:
    truth = np.array([1.0, 0.7, 1.0, 0.9])
    pairs = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
    y = np.prod(np.where(np.array(pairs) > 0, truth, 1.0), axis=1)
    assert fit(matrix(pairs * 4), np.tile(y, 4), KNOWN) == pytest.approx(truth, abs=0.01)


def test_a_link_on_clean_paths_only_keeps_its_success() -> None:
    x = fit(matrix([[1, 1, 0], [0, 1, 1]]), np.array([0.5, 1.0]), KNOWN)
    assert x[1] == pytest.approx(1.0)
    assert x[2] == 1.0


def test_links_above_the_threshold_are_blamed_by_loss() -> None:
    paths = [[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 1]] * 3
    found = attribute(evidence(paths, [10, 10, 40, 40, 0] * 3, sent=100), KNOWN)
    assert [b.column for b in found] == [1, 0]
    assert found[0].effect == pytest.approx(0.4, abs=0.02)
    assert (
        attribute(
            evidence(paths, [10, 10, 40, 40, 0] * 3, sent=100), NetbouncerParameters(0.011, 0.6)
        )
        == []
    )


# --- devices ------------------------------------------------------------------------------------

#        tor  r1  r2  far   the paths of r1 and r2 all cross the tor
BEHIND = [[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 1]]


def test_a_device_without_a_clean_path_is_blamed_and_not_what_hangs_on_it() -> None:
    whole = evidence(BEHIND, [10, 10, 10, 0], along=BEHIND, against=BEHIND, directed=[False] * 4)
    assert [b.column for b in netbouncer(whole)] == [0]


def test_a_device_with_one_clean_path_is_left_to_the_fit() -> None:
    some = evidence(BEHIND, [10, 0, 10, 0], along=BEHIND, against=BEHIND, directed=[False] * 4)
    assert netbouncer(some)[0].column == 1


# --- routes and directions ------------------------------------------------------------------------


def test_paths_whose_route_is_not_known_are_left_out() -> None:
    """The last two may have crossed b or c: only a's paths have a known route, and are clean."""
    shares = [[1, 0, 0], [1, 0, 0], [0, 0.3, 0.7], [0, 0.3, 0.7]]
    assert netbouncer(evidence(shares, [0, 0, 9, 9])) == []


def test_a_link_that_loses_in_one_direction_is_told_so() -> None:
    ahead = [[1, 0], [0, 1], [1, 0], [0, 1]]
    back = [[0, 1], [1, 0], [0, 0], [0, 0]]
    mean = (np.array(ahead) + np.array(back)) / 2
    (found,) = netbouncer(
        evidence(mean.tolist(), [5, 0, 5, 0], along=ahead, against=back, directed=[True, True])
    )
    assert (found.column, found.direction) == (0, "a>b")
    assert found.effect == pytest.approx(0.5)
