"""Loss and unreachability, pooled per component, against the loss baseline of the fabric. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.baselines.loss import LossBaseline
from schemas.parameters.parameter import parameter

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LossParameters:
    """least_excess  loss above the baseline below which a component is no incident, however
                  significant it is
    least_rise    the same for the rise of a component's loss above its own past
    gap           time between a window and its past, in lengths of the window
    prior_probes  probes that the fabric's loss is worth beside a component's own past
    suspicious    p-value, as if the rest of the fabric had not changed, below which
    told_apart    so many classes are told from the rest path by path, which costs time
    steady        p-value below which a path lost at some times of a window only
    burst         probes at once that share their fate
    """

    least_excess: float = parameter(
        0.004, unit="1", source="chosen: make scorecard (recall of loss, false incidents)"
    )
    least_rise: float = parameter(
        5e-4, unit="1", source="chosen: half of the smallest gray loss that is to be named, 0.1 %"
    )
    gap: float = parameter(
        1.0, unit="1", source="chosen: as long as the oldest bin of a window is at most"
    )
    prior_probes: float = parameter(
        1e3, unit="probes", source="chosen: pytest tests/localizer/detectors (gray loss)"
    )
    suspicious: float = parameter(
        1e-4, unit="1", source="chosen: far above every level of the alarm budget"
    )
    told_apart: int = parameter(32, unit="classes", source="chosen: make bench (row detect)")
    steady: float = parameter(
        1e-3, unit="1", source="chosen: pytest tests/localizer/detectors (unsteady paths)"
    )
    burst: float = parameter(
        4.0, unit="probes", source="chosen: the fewest of which the loss of all is no chance"
    )


DEFAULT: Final = LossParameters()


def excess_p_values(lost: F64, sent: F64, rate: float, dispersion: float = 1.0) -> F64:
    """P(K >= lost) for each pooled count under the baseline; 1 where nothing was lost.

    lost, sent  (C,) may be fractional (shares of ECMP paths)
    rate        loss probability under H0 [1]
    dispersion  counts are divided by it: a beta-binomial of that variance ratio has about so many
                independent trials
    Source      upper tail of the binomial by the incomplete beta function; quasi-likelihood:
                McCullagh & Nelder 1989, section 4.5
    """
    out = np.ones(len(lost))
    some = np.flatnonzero(lost > 0)  # most lose nothing, and the function is expensive
    k, n = lost[some] / dispersion, np.maximum(sent, lost)[some] / dispersion
    out[some] = np.minimum(special.betainc(k, n - k + 1.0, rate), 1.0)
    return out


def alarming(
    sent: F64,
    lost: F64,
    baseline: LossBaseline,
    level: float,
    parameters: LossParameters = DEFAULT,
) -> Bool:
    """(C,) components whose pooled loss is both significant at ``level`` and material."""
    excess = lost / np.maximum(sent, 1e-9) - baseline.rate
    out: Bool = excess > parameters.least_excess
    p = excess_p_values(lost[out], sent[out], baseline.rate, baseline.dispersion)
    out[out] = p < level
    return out


def rise_p_values(
    lost: F64, sent: F64, past_lost: F64, past_sent: F64, common: F64, dispersion: float = 1.0
) -> F64:
    """P(K >= lost) for each count, given its own past and that nothing has changed.

    lost, sent            (C,) of the newest window; fractional where routes are shared out
    past_lost, past_sent  (C,) of the time before
    common                (C,) factor by which the rest of the fabric loses more than in that time
    dispersion            counts are divided by it, as in ``excess_p_values``
    Given the sum of two Poisson counts, the newer one is binomial with the share of its time, so
    the test is exact however little of the past is known.
    Source  Przyborowski & Wilenski, Biometrika 1940
    """
    k, before = lost / dispersion, past_lost / dispersion
    newer = sent * common
    share = newer / np.maximum(newer + past_sent, 1e-9)
    out = np.ones(len(lost))
    some = np.flatnonzero(k > 0)
    out[some] = special.betainc(k[some], before[some] + 1.0, share[some])
    return np.minimum(out, 1.0)


def log_likelihood_ratio(lost: float, sent: float, rate: float, healthy: float) -> float:
    """ln of how much likelier so many losses are at a loss ``rate`` than at the healthy one.

    Both rates are in (0, 1); counts may be fractional.
    """
    rate = min(rate, 1.0 - 1e-9)
    return float(
        lost * np.log(rate / healthy) + (sent - lost) * (np.log1p(-rate) - np.log1p(-healthy))
    )


def unsteady(sent: I64, lost: I64, parameters: LossParameters = DEFAULT) -> Bool:
    """(P,) paths that do not lose with one probability throughout a window.

    sent, lost  (B, P) probes of each part of the window, which may differ in length
    A fault that began or ended within the window hits the bursts of some paths and not those of
    others, by the time at which they were sent; no rate of a component explains that.
    Source  likelihood ratio test of homogeneity (Wilks 1938): G = 2 sum k ln(k / expected), which
            for few losses errs on the side of homogeneity, where Pearson's statistic does not
    """
    n, k = sent.astype(np.float64), lost.astype(np.float64)
    rate = k.sum(axis=0) / np.maximum(n.sum(axis=0), 1.0)
    of_lost, of_answered = special.rel_entr(k, n * rate), special.rel_entr(n - k, n * (1.0 - rate))
    freedom = np.maximum((n > 0).sum(axis=0) - 1, 1)
    most = special.chdtri(np.arange(1, max(len(n), 2)), parameters.steady)[freedom - 1]
    out: Bool = 2.0 * (of_lost + of_answered).sum(axis=0) > most
    return out
