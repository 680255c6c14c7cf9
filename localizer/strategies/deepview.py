"""Deepview: the sparsest set of components whose survival probabilities explain the losses.

A probe survives a path when it survives each component on it: 1 - e_i/n_i = prod p_j. In logs this
is linear, y = X b with b_j = ln p_j <= 0. Few components fail at once, so b is estimated by a Lasso
constrained to b <= 0, and blame is a hypothesis test, not a threshold: H0 b_j = mean(b) against
HA b_j < mean(b). Added latency is linear in the same way, with y = -excess.

Source     Zhang et al., Deepview (NSDI 2018). Not published there and chosen here: the penalty (the
           noise level of each column, after Bickel, Ritov & Tsybakov 2009), the weights (n_i, as
           the variance of y_i falls with n_i), the statistic (one-sided t of the re-fitted
           weighted least squares) and the correction (Benjamini-Hochberg). The directions of a link
           have a b each where the evidence tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import linalg, sparse, special

from localizer.evidence import F64, I64, Attribution, Bool, Evidence
from localizer.strategies.crossing import clipped, crossing, merged
from localizer.strategies.registry import strategy, vary
from schemas.parameters.parameter import parameter

_BATCH: Final = 256  # columns that join the Lasso at a time, steepest first
_CHOSEN: Final = "chosen: make scorecard (F1 of the published settings); the paper leaves it open"


@dataclass(frozen=True, slots=True)
class DeepviewParameters:
    """What the paper leaves open.

    penalty      standard deviations of the healthy noise that a column must rise above
    level        false discovery rate of the hypothesis tests
    by_variance  weight by 1 / var(y_i) = n_i (n_i - e_i) / e_i instead of n_i
    known        leave out paths whose route is not known, unless all are such
    sweeps       coordinate descent stops after so many,
    settled      or when no coefficient changes by more
    """

    penalty: float = parameter(3.0, unit="1", source=_CHOSEN)
    level: float = parameter(1e-3, unit="1", source=_CHOSEN)
    by_variance: bool = parameter(False, unit="flag", source=_CHOSEN)
    known: bool = parameter(False, unit="flag", source=_CHOSEN)
    sweeps: int = parameter(
        200, unit="count", source="chosen: pytest tests/localizer/strategies (deepview)"
    )
    settled: float = parameter(
        1e-6, unit="1", source="chosen: pytest tests/localizer/strategies (deepview)"
    )

    @property
    def label(self) -> str:
        """Name of this variant."""
        return (
            f"penalty={self.penalty}, level={self.level}, by_variance={self.by_variance}, "
            f"known={self.known}"
        )


DEFAULT: Final = DeepviewParameters()
SWEEP = tuple(
    DeepviewParameters(penalty, level, by_variance, known)
    for penalty in (1.0, 3.0)
    for level in (1e-4, 1e-3, 1e-2, 5e-2)
    for by_variance in (False, True)
    for known in (False, True)
)


@strategy("deepview")
def deepview(evidence: Evidence) -> list[Attribution]:
    """Classes whose log survival is below the mean of all, strongest first."""
    return attribute(evidence, DEFAULT)


def attribute(evidence: Evidence, parameters: DeepviewParameters) -> list[Attribution]:
    """Deepview with other parameters."""
    share, column, way = _suspects(evidence)
    response, weight, spread = _response(evidence, by_variance=parameters.by_variance)
    if parameters.known:
        known = crossing(evidence, ways=True).known
        weight = np.where(known, weight, 0.0) if known.any() else weight
    everyone = share.shape[1]
    columns = _candidates(share, evidence.bad & (weight > 0))
    if not len(columns):
        return []
    share = share[:, columns].tocsc()
    rows = np.flatnonzero((share.sum(axis=1) > 0) & (weight > 0))
    share, response, weight, spread = (
        share[rows].tocsc(), response[rows], weight[rows], spread[rows]
    )  # fmt: skip
    penalty = parameters.penalty * np.sqrt(share.power(2).T @ (weight**2 * spread**2))
    magnitude = lasso(share, response, weight, np.asarray(penalty), parameters)
    # Here, since it imports pandas, a fifth of the CPU time in which a stream worker starts.
    from statsmodels.stats.multitest import multipletests

    support = _independent(share, weight, magnitude)
    while len(support):
        size, p = refit(share[:, support], response, weight, everyone)
        keep = multipletests(p, alpha=parameters.level, method="fdr_bh")[0] & (size > 0)
        if keep.all():
            order = np.lexsort((-size, p))  # surest first: it explains its paths before others do
            chosen = columns[support[order]]
            effect = size[order] if evidence.latency else 1.0 - np.exp(-size[order])
            found = zip(column[chosen].tolist(), way[chosen].tolist(), effect.tolist(), strict=True)
            return merged(list(found), p[order], latency=evidence.latency)
        support = support[keep]
    return []


def _suspects(evidence: Evidence) -> tuple[sparse.csr_array, I64, I64]:
    """(P, K) shares, class and way (0: either) of each suspect: links by direction where probed."""
    classes = evidence.incidence.shape[1]
    ahead, back, directed = evidence.forward, evidence.reverse, evidence.directed
    if ahead is None or back is None or directed is None or not directed.any():
        return evidence.incidence.tocsr(), np.arange(classes), np.zeros(classes, np.int64)
    one, two = np.flatnonzero(~directed), np.flatnonzero(directed)
    parts = [evidence.incidence.tocsr()[:, one], ahead.tocsr()[:, two], back.tocsr()[:, two]]
    way = np.repeat([0, 1, 2], [len(one), len(two), len(two)])
    column = np.concatenate([one, two, two])
    return sparse.csr_array(sparse.hstack(parts, format="csr")), column, way


def _response(evidence: Evidence, *, by_variance: bool) -> tuple[F64, F64, F64]:
    """(P,) response >= 0, weight and healthy standard deviation of each path."""
    if evidence.latency:
        quiet = 1.0 / evidence.noise_us**2
        late = np.maximum(clipped(evidence), 0.0) * evidence.noise_us
        return late, quiet, evidence.noise_us
    sent = evidence.sent.astype(np.float64)
    survived = np.maximum(sent - evidence.lost, 0.5)  # a path that lost all still has a logarithm
    response = np.where(sent > 0, -np.log(survived / np.maximum(sent, 0.5)), 0.0)
    spread = np.sqrt(max(evidence.background, 1e-4) / np.maximum(sent, 1.0))
    weight = sent
    if by_variance:
        weight = np.where(sent > 0, sent * survived / (evidence.lost + 0.5), 0.0)
    return np.maximum(response, 0.0), weight, spread


def _candidates(share: sparse.csr_array, bad: Bool) -> I64:
    """Columns that at least one bad path crosses: all others have b = 0 in the optimum."""
    crossed = share.T @ bad.astype(np.float64)
    return np.flatnonzero(np.asarray(crossed) > 0)


def lasso(
    share: sparse.csc_array,
    response: F64,
    weight: F64,
    penalty: F64,
    parameters: DeepviewParameters = DEFAULT,
) -> F64:
    """argmin over m >= 0 of 1/2 sum w (y - X m)^2 + sum penalty m, by coordinate descent.

    Only the columns that are not zero take part in the sweeps; the others join when their slope
    says that they would leave zero, and the optimum is that of all columns.
    """
    diagonal = np.asarray(share.power(2).T @ weight)
    slope = np.asarray(share.T @ (weight * response)) - penalty
    m = np.zeros(len(diagonal))
    active: list[int] = []
    gram = np.zeros((0, 0))
    for _ in range(parameters.sweeps):
        joining = np.flatnonzero(
            (m == 0) & (slope > parameters.settled * diagonal) & (diagonal > 0)
        )
        joining = np.setdiff1d(joining, active)
        if not len(joining):
            break
        active += joining[np.argsort(-(slope[joining] ** 2) / diagonal[joining])][:_BATCH].tolist()
        part = share[:, active]
        gram = _gram(part, weight)
        slope[active] = _descend(gram, m, slope[active], np.array(active), parameters)
        slope = np.asarray(share.T @ (weight * (response - part @ m[active]))) - penalty
    return m


def _descend(gram: F64, m: F64, slope: F64, active: I64, parameters: DeepviewParameters) -> F64:
    """Sweep over the active columns until they settle; changes ``m``, returns their slopes."""
    diagonal = np.diag(gram)
    values = m[active]
    for _ in range(parameters.sweeps):
        largest = 0.0
        for j in range(len(active)):
            new = max(0.0, values[j] + slope[j] / diagonal[j])
            step = new - values[j]
            if step:
                slope -= step * gram[j]
                values[j] = new
                largest = max(largest, abs(step))
        if largest < parameters.settled:
            break
    m[active] = values
    return slope


def _gram(share: sparse.csc_array, weight: F64) -> F64:
    """(K, K) X' W X, dense."""
    return np.asarray((share.T @ share.multiply(weight[:, None])).toarray())


def _independent(share: sparse.csc_array, weight: F64, magnitude: F64) -> I64:
    """Columns that the Lasso kept, strongest first, less those that stronger ones add up to.

    The columns of a fabric are often linearly dependent (the rnics behind a ToR make up the ToR's),
    and a re-fit of dependent columns has no single answer.
    """
    kept = np.flatnonzero(magnitude > 1e-9)
    kept = kept[np.argsort(-magnitude[kept], kind="stable")]
    gram = _gram(share[:, kept], weight)
    basis = np.zeros_like(gram)  # rows of the Cholesky factor of the accepted columns
    chosen: list[int] = []
    for j in range(len(kept)):
        count = len(chosen)
        left = gram[j] - basis[:count, j] @ basis[:count]
        if left[j] > 1e-9 * gram[j, j]:
            basis[count] = left / np.sqrt(left[j])
            chosen.append(j)
    return np.sort(kept[chosen])


def refit(share: sparse.csc_array, response: F64, weight: F64, everyone: int) -> tuple[F64, F64]:
    """Size (positive) and one-sided p of each column in a re-fit; H0: it equals the mean of all.

    Weighted least squares by the normal equations: the columns are independent.
    share (P, S); response, weight (P,); everyone: components, those outside the support have b = 0
    """
    paths, count = share.shape
    inverse = linalg.inv(_gram(share, weight))
    size = inverse @ np.asarray(share.T @ (weight * response))
    freedom = max(paths - count, 1)
    noise = float(weight @ (response - share @ size) ** 2) / freedom
    of_mean = inverse.sum(axis=1)
    variance = np.diag(inverse) - 2.0 * of_mean / everyone + of_mean.sum() / everyone**2
    beta = -size
    mean = beta.sum() / everyone
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (beta - mean) / np.sqrt(noise * variance)
    p = special.stdtr(freedom, t)
    return size, np.where(np.isfinite(p), p, np.where(beta < mean, 0.0, 1.0))


vary("deepview", {p.label: partial(attribute, parameters=p) for p in SWEEP})
