"""How likely a path's losses are.

A probe survives path i with probability s = (1 - p0) prod_c (1 - q_c)^m_ic, p0 the healthy loss of
a round trip and m_ic in {0, 1, 2} how often probe and answer cross component c; the path's
likelihood is s^(sent - lost) (1 - s)^lost. Damage is -ln of the product. Paths that lost nothing
need no atoms: whatever else they cross, a candidate changes their likelihood by
(1 - q)^(m sent), so they are only counted.

Source  the binomial model of NetBouncer (NSDI 2019) and Deepview (NSDI 2018).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from localizer.detectors.loss import excess_p_values
from localizer.evidence import F64, I64, Bool, Evidence
from localizer.strategies.hypothesis.candidates import Candidates
from localizer.strategies.hypothesis.likelihood import Described, Likelihood
from localizer.strategies.hypothesis.parameters import DEFAULT, HypothesisParameters, LossModel
from localizer.strategies.hypothesis.rows import Grid, Rows

_SURVIVAL: Final = 1.0 - 1e-12  # highest that a path's losses are compared with
_HIGH: Final = np.array([0.7, 0.9, 0.999])
_PARTIAL: Final = tuple(
    grid.ravel() for grid in np.meshgrid([0.4, 0.8, 0.999], [0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0.12])
)


class LossLikelihood(Likelihood):
    """Of paths by what was answered and lost (R,), and the healthy loss of a round trip."""

    def __init__(self, answered: F64, lost: F64, healthy_loss: float) -> None:
        self._answered, self._lost = answered, lost
        self.healthy_loss = healthy_loss

    def log_f(self, rows: I64, damage: F64) -> F64:
        survive = np.log1p(-self.healthy_loss) - damage
        broken = np.log(-np.expm1(np.minimum(survive, _SURVIVAL - 1)))
        out: F64 = self._answered[rows, None] * survive + self._lost[rows, None] * broken
        return out

    def log_more(self, rows: I64, damage: F64, more: F64) -> F64:
        """As ``log_f``, with half the exponentials: a sum of damages is a product of survivals."""
        answered, lost = self._answered[rows, None, None], self._lost[rows, None, None]
        before = np.log1p(-self.healthy_loss) - damage
        out: F64 = np.exp(before)[:, :, None] * np.exp(-more)
        np.minimum(out, _SURVIVAL, out=out)
        np.log1p(np.negative(out, out=out), out=out)
        out *= lost
        out += answered * before[:, :, None]
        out -= answered * more
        return out

    def described(self) -> Described:
        return 0, self._answered, self._lost, float(np.log1p(-self.healthy_loss)), 0.0, 0.0


class LossRows(Rows):
    """The paths that lost something; those that did not are counted by what they sent."""

    def __init__(
        self, evidence: Evidence, choices: Candidates, parameters: HypothesisParameters = DEFAULT
    ) -> None:
        lossy = np.flatnonzero((evidence.sent > 0) & (evidence.lost > 0))
        self._lost = evidence.lost[lossy].astype(np.float64)
        self._answered = evidence.sent[lossy] - self._lost
        self._losses = LossLikelihood(
            self._answered, self._lost, _first_guess(evidence, parameters.loss)
        )
        super().__init__(choices, choices.of_paths(evidence, lossy), self._losses, len(lossy),
                         parameters.search.most_atoms)  # fmt: skip
        self._model = parameters.loss
        self._sent = float(evidence.sent.sum())
        self._baseline = evidence.background
        clean = (evidence.sent > 0) & (evidence.lost == 0)
        sent, kind = np.unique(evidence.sent, return_inverse=True)
        self._counts, self._share, kind = choices.of_kinds(evidence, np.where(clean, kind, -1))
        self._kind_sent = sent[kind].astype(np.float64)
        #: Crossings of a round trip, on average: each may lose its part of the healthy_loss.
        crossed = evidence.crossings.pooled(np.ones(len(evidence.sent))).sum()
        self._length = max(1.0, 2.0 * float(crossed) / len(evidence.sent))

    @property
    def healthy_loss(self) -> float:
        """Loss of a round trip that crosses no culprit [1]."""
        return self._losses.healthy_loss

    @healthy_loss.setter
    def healthy_loss(self, loss: float) -> None:
        self._losses.healthy_loss = loss

    def grid(self) -> Grid:
        healthy = min(self._model.uneven * self.healthy_loss / self._length, 0.02)
        low = np.geomspace(1.3 * healthy, 0.5, self._model.steps - 1)
        sizes = np.concatenate([[healthy], low, _HIGH, [0.999, 0.999]])
        shares = np.concatenate([np.ones(self._model.steps + len(_HIGH)), [0.5, 0.25]])
        return Grid(sizes, shares, (_PARTIAL[0], _PARTIAL[1]))

    def near(self, size: float) -> F64:
        return np.minimum(super().near(size), 0.9995)

    def damage(self, sizes: F64) -> F64:
        return -np.log1p(-sizes)

    def bulk(self, sizes: F64, shares: F64) -> F64:
        return np.asarray(self._counts @ self._each(slice(None), sizes, shares))

    def bulk_of(self, which: int, sizes: F64, shares: F64) -> F64:
        here = slice(self._counts.indptr[which], self._counts.indptr[which + 1])
        each = self._each(self._counts.indices[here], sizes, shares)
        gain: F64 = self._counts.data[here] @ each
        return gain

    def _each(self, at: I64 | slice, sizes: F64, shares: F64) -> F64:
        """(n, G) log-likelihood ratio of one clean path of some sorts."""
        hit = self._share[at, None] * shares
        one = self._kind_sent[at, None] * np.log1p(-sizes)
        out: F64 = np.log1p(np.minimum(hit, 0.9999999) * np.expm1(one))
        return np.where(hit == 1, one, out)  # exact, however small

    def weights(self) -> F64:
        return self._lost

    def impossible(self) -> Bool:
        sent = self._answered + self._lost
        uneven = min(self._model.uneven * self.healthy_loss, 1.0)
        return excess_p_values(self._lost, sent, uneven) < self._model.impossible

    def learn(self) -> bool:
        """Fit the healthy loss to what no culprit explains, by a few steps of EM."""
        before = self.healthy_loss
        for _ in range(self._model.em_steps):
            posterior, damage = self.atoms.posterior()
            survive = np.log1p(-self.healthy_loss) - damage
            part = np.minimum((posterior * self.healthy_loss / -np.expm1(survive)).sum(axis=1), 1.0)
            lost = float(part @ self._lost) + self._baseline * self._model.prior_probes
            self.healthy_loss = min(
                lost / (self._sent + self._model.prior_probes), self._model.most_healthy
            )
        return abs(self.healthy_loss - before) > self._model.refit_change * before


def _first_guess(evidence: Evidence, model: LossModel) -> float:
    """Loss of the median class, faults included: it comes down as they are found."""
    sent = evidence.crossings.pooled(evidence.sent)
    lost = evidence.crossings.pooled(evidence.lost)
    order = np.argsort(lost / np.maximum(sent, 1e-9))
    middle = order[int(np.searchsorted(np.cumsum(sent[order]), 0.5 * sent.sum()))]
    every = float(evidence.sent.sum())
    rate = lost[middle] / max(sent[middle], 1e-9) * every + evidence.background * model.prior_probes
    return float(min(rate / (every + model.prior_probes), model.most_healthy))
