"""Deepview: the sparsest set of components whose survival probabilities explain the losses.

A probe survives a path when it survives each component on it: 1 - e_i/n_i = prod p_j. In logs this
is linear, y = X b with b_j = ln p_j <= 0. Few components fail at once, so b is estimated by a Lasso
constrained to b <= 0, and blame is a hypothesis test, not a threshold: H0 b_j = mean(b) against
HA b_j < mean(b). Added latency is linear in the same way, with y = -excess.

Source     Zhang et al., Deepview (NSDI 2018). Not published there and chosen here: the penalty (the
           noise level of each column, after Bickel, Ritov & Tsybakov 2009), the weights (n_i, as
           the variance of y_i falls with n_i), the statistic (one-sided t of the re-fitted
           weighted least squares) and the correction (Benjamini-Hochberg).
"""

from __future__ import annotations

import numpy as np
import statsmodels.api as sm
from scipy import sparse
from statsmodels.stats.multitest import multipletests

from localizer.evidence import F64, I64, Blame, Evidence
from localizer.strategies import strategy

PENALTY = 3.0  # standard deviations of the healthy noise that a column must rise above
LEVEL = 1e-3  # false discovery rate of the hypothesis tests
SWEEPS = 200


@strategy("deepview")
def deepview(evidence: Evidence) -> list[Blame]:
    """Classes whose log survival is below the mean of all, strongest first."""
    response, weight, spread = _response(evidence)
    columns = _candidates(evidence)
    if not len(columns):
        return []
    share = evidence.incidence[:, columns].tocsc()
    rows = np.flatnonzero((share.sum(axis=1) > 0) & (weight > 0))
    share, response, weight, spread = (
        share[rows].tocsc(), response[rows], weight[rows], spread[rows]
    )  # fmt: skip
    penalty = PENALTY * np.sqrt(share.power(2).T @ (weight**2 * spread**2))
    magnitude = _lasso(share, response, weight, np.asarray(penalty))
    support = _independent(share, weight, magnitude)
    everyone = evidence.incidence.shape[1]
    while len(support):
        size, p = _test(share[:, support], response, weight, everyone)
        keep = multipletests(p, alpha=LEVEL, method="fdr_bh")[0] & (size > 0)
        if keep.all():
            order = np.lexsort((-size, p))  # surest first: it explains its paths before others do
            return [
                Blame(int(columns[support[i]]), _effect(size[i], evidence.latency), float(p[i]))
                for i in order
            ]
        support = support[keep]
    return []


def _response(evidence: Evidence) -> tuple[F64, F64, F64]:
    """(P,) response >= 0, weight and healthy standard deviation of each path."""
    if evidence.latency:
        quiet = 1.0 / evidence.noise_us**2
        return np.maximum(evidence.excess_us, 0.0), quiet, evidence.noise_us
    sent = evidence.sent.astype(np.float64)
    survived = np.maximum(sent - evidence.lost, 0.5)  # a path that lost all still has a logarithm
    response = np.where(sent > 0, -np.log(survived / np.maximum(sent, 0.5)), 0.0)
    spread = np.sqrt(max(evidence.background, 1e-4) / np.maximum(sent, 1.0))
    return np.maximum(response, 0.0), sent, spread


def _candidates(evidence: Evidence) -> I64:
    """Columns that at least one bad path crosses: all others have b = 0 in the optimum."""
    crossed = evidence.incidence.T @ evidence.bad.astype(np.float64)
    return np.flatnonzero(np.asarray(crossed) > 0)


def _lasso(share: sparse.csc_array, response: F64, weight: F64, penalty: F64) -> F64:
    """argmin over m >= 0 of 1/2 sum w (y - X m)^2 + sum penalty m, by coordinate descent."""
    gram = (share.T @ share.multiply(weight[:, None])).toarray()
    target = np.asarray(share.T @ (weight * response))
    m = np.zeros(len(target))
    slope = target - penalty
    diagonal = np.diag(gram)
    for _ in range(SWEEPS):
        largest = 0.0
        for j in np.flatnonzero(diagonal > 0):
            new = max(0.0, m[j] + slope[j] / diagonal[j])
            step = new - m[j]
            if step:
                slope -= step * gram[:, j]
                m[j] = new
                largest = max(largest, abs(step))
        if largest < 1e-6:
            break
    return m


def _independent(share: sparse.csc_array, weight: F64, magnitude: F64) -> I64:
    """Columns that the Lasso kept, strongest first, less those that stronger ones add up to.

    The columns of a fabric are often linearly dependent (the rnics behind a ToR make up the ToR's),
    and a re-fit of dependent columns has no single answer.
    """
    kept = np.flatnonzero(magnitude > 1e-9)
    kept = kept[np.argsort(-magnitude[kept], kind="stable")]
    part = share[:, kept]
    gram = (part.T @ part.multiply(weight[:, None])).toarray()
    basis = np.zeros((0, len(kept)))  # rows of the Cholesky factor of the accepted columns
    chosen = []
    for j in range(len(kept)):
        left = gram[j] - basis[:, j] @ basis
        if left[j] > 1e-9 * gram[j, j]:
            basis = np.vstack([basis, left / np.sqrt(left[j])])
            chosen.append(j)
    return np.sort(kept[chosen])


def _test(share: sparse.csc_array, response: F64, weight: F64, everyone: int) -> tuple[F64, F64]:
    """Size (positive) and one-sided p of each column in a re-fit; H0: it equals the mean of all."""
    fit = sm.WLS(-response, share.toarray(), weights=weight).fit()
    beta = np.asarray(fit.params)
    mean = beta.sum() / everyone  # components outside the support have b = 0
    contrast = np.eye(len(beta)) - 1.0 / everyone
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (beta - mean) / np.sqrt(np.diag(contrast @ np.asarray(fit.cov_params()) @ contrast.T))
    from scipy import stats

    p = stats.t.cdf(t, max(fit.df_resid, 1))
    return -beta, np.where(np.isfinite(p), p, np.where(beta < mean, 0.0, 1.0))


def _effect(size: float, latency: bool) -> float:
    return float(size) if latency else float(1.0 - np.exp(-size))
