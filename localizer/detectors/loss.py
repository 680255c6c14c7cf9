"""Loss and unreachability, pooled per component, against the loss baseline of the fabric. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.baselines.loss import LossBaseline
from schemas.parameters.parameter import parameter

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LossParameters:
    """least_excess  loss above the baseline below which a component is no incident, however
    significant it is"""

    least_excess: float = parameter(
        0.004, unit="1", source="chosen: make scorecard (recall of loss, false incidents)"
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
) -> npt.NDArray[np.bool_]:
    """(C,) components whose pooled loss is both significant at ``level`` and material."""
    excess = lost / np.maximum(sent, 1e-9) - baseline.rate
    out: npt.NDArray[np.bool_] = excess > parameters.least_excess
    p = excess_p_values(lost[out], sent[out], baseline.rate, baseline.dispersion)
    out[out] = p < level
    return out
