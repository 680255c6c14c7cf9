"""Deepview: a Lasso with one sign, then tests of a weighted least squares."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from builders.evidence.small import evidence
from scipy import optimize, sparse, stats

from localizer import strategies
from localizer.strategies.deepview import lasso, refit


def draw(seed: int) -> tuple[sparse.csc_array, np.ndarray, np.ndarray]:
    """60 paths over 8 components, some of which are lossy: shares, responses, weights."""
    paths, columns = 60, 8
    rng = np.random.default_rng(seed)
    share = rng.choice([0.0, 0.5, 1.0], (paths, columns))
    truth = np.where(rng.random(columns) < 0.3, rng.random(columns), 0.0)
    response = np.maximum(share @ truth + rng.normal(0, 0.05, paths), 0.0)
    return sparse.csc_array(share), response, rng.integers(10, 100, paths).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_the_lasso_is_the_optimum_of_a_general_solver(seed: int) -> None:
    share, response, weight = draw(seed)
    penalty = np.full(share.shape[1], 20.0)
    dense = share.toarray()

    def loss(m: np.ndarray) -> float:
        return float(0.5 * weight @ (response - dense @ m) ** 2 + penalty @ m)

    ours = lasso(share, response, weight, penalty)
    bounds = [(0.0, None)] * len(penalty)
    theirs = optimize.minimize(loss, np.full(len(penalty), 0.1), bounds=bounds, method="L-BFGS-B")
    assert loss(ours) <= theirs.fun + 1e-6
    assert ours == pytest.approx(theirs.x, abs=1e-2)


@pytest.mark.parametrize("seed", range(5))
def test_sizes_and_p_values_are_those_of_statsmodels(seed: int) -> None:
    share, response, weight = draw(seed)
    size, p = refit(share, response, weight, everyone=30)
    fit = sm.WLS(-response, share.toarray(), weights=weight).fit()
    contrast = np.eye(share.shape[1]) - 1.0 / 30
    error = np.sqrt(np.diag(contrast @ fit.cov_params() @ contrast.T))
    t = (fit.params - fit.params.sum() / 30) / error
    assert size == pytest.approx(-fit.params)
    assert p == pytest.approx(stats.t.cdf(t, fit.df_resid), rel=1e-6, abs=1e-12)


def test_a_probe_survives_when_it_survives_each_component() -> None:
    """0.9 x 0.5 = 0.45 survive where both are crossed: the logarithms add."""
    clean = np.vstack([np.zeros((20, 20)), np.eye(20)])  # the mean of all needs many to compare
    lossy = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 5 + [[0, 0]] * 20)
    lost = [100, 500, 550, 0] * 5 + [0] * 20
    found = strategies.get("deepview")(evidence(np.hstack([lossy, clean]).tolist(), lost, 1000))
    effects = {blame.column: blame.effect for blame in found}
    assert effects == {0: pytest.approx(0.1, abs=0.01), 1: pytest.approx(0.5, abs=0.01)}


def test_columns_that_add_up_to_others_are_not_all_blamed() -> None:
    """The rnics behind a ToR make up the ToR: a re-fit of all of them has no single answer."""
    paths = [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]] * 5
    found = strategies.get("deepview")(evidence(paths, [300, 310, 0] * 5, sent=1000))
    assert {blame.column for blame in found} <= {0, 1, 2}
    assert len(found) <= 2


def test_the_directions_of_a_link_are_fitted_apart() -> None:
    ahead = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]] * 5
    back = [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]] * 5
    mean = (np.array(ahead) + np.array(back)) / 2
    (found,) = strategies.get("deepview")(
        evidence(
            mean.tolist(), [300, 0, 0, 300] * 5, sent=1000,
            along=ahead, against=back, directed=[True, True, False],
        )
    )  # fmt: skip
    assert (found.column, found.direction) == (0, "a>b")
    assert found.effect == pytest.approx(0.3, abs=0.02)
