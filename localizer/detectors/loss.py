"""Loss and unreachability, pooled per component, against the fabric's learnt background."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: A component that loses less than this of its round trips is not an incident, however sure we are.
MATERIAL = 0.004
#: The background is never believed to be cleaner than this: it guards the first minutes.
CLEANEST = 2e-4


class LossBaseline:
    """Healthy loss of a round trip and its over-dispersion, learnt from unalarmed panes.

    rate        mean loss probability [1], exponentially forgetting
    dispersion  variance of pooled counts over the binomial's, >= 1: congestion is correlated
    """

    def __init__(self, memory_s: float = 600.0) -> None:
        self._keep = float(np.exp(-1.0 / memory_s))
        self._lost = CLEANEST * 1e4
        self._sent = 1e4  # worth of the prior [probes]
        self._ratio = 1.0

    @property
    def rate(self) -> float:
        return max(self._lost / self._sent, CLEANEST)

    @property
    def dispersion(self) -> float:
        return max(1.0, self._ratio)

    def learn(self, sent: float, lost: float, each_sent: F64, each_lost: F64) -> None:
        """Take one healthy pane.

        sent, lost            of the fabric
        each_sent, each_lost  (C,) pooled per component
        """
        self._lost = self._keep * self._lost + lost
        self._sent = self._keep * self._sent + sent
        expected = each_sent * self.rate
        if (heavy := expected > 0.05).any():
            square = (each_lost[heavy] - expected[heavy]) ** 2 / expected[heavy]
            self._ratio = 0.99 * self._ratio + 0.01 * float(np.minimum(square, 100.0).mean())


def upper_tail(lost: F64, sent: F64, rate: float, dispersion: float = 1.0) -> F64:
    """P(K >= lost) for each pooled count under the background; 1 where nothing was lost.

    lost, sent  (C,) may be fractional (shares of ECMP paths)
    rate        loss probability under H0 [1]
    dispersion  counts are divided by it: a beta-binomial of that variance ratio has about so many
                independent trials (quasi-likelihood, McCullagh & Nelder 1989, section 4.5)
    """
    out = np.ones(len(lost))
    some = np.flatnonzero(lost > 0)  # most lose nothing, and the function is dear
    k, n = lost[some] / dispersion, np.maximum(sent, lost)[some] / dispersion
    out[some] = np.minimum(special.betainc(k, n - k + 1.0, rate), 1.0)
    return out


def pooled(incidence: sparse.csr_array, values: I64 | F64) -> F64:
    """(C,) sum over paths, weighted by the share that crosses each component."""
    return np.asarray(incidence.T @ values.astype(np.float64)).ravel()


def alarming(sent: F64, lost: F64, background: LossBaseline, level: float) -> npt.NDArray[np.bool_]:
    """(C,) components whose pooled loss is both significant and material."""
    out: npt.NDArray[np.bool_] = lost / np.maximum(sent, 1e-9) - background.rate > MATERIAL
    p = upper_tail(lost[out], sent[out], background.rate, background.dispersion)
    out[out] = p < level
    return out
