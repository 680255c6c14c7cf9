"""The default: one likelihood for all components, chosen stepwise and fitted together.

A probe survives path i with probability (1 - p0) prod_c (1 - q_c)^x_ic: p0 the healthy background,
q_c the loss of a component, x_ic the share of the path's traversals that cross it. Components that
fail together are found one by one: the class that raises the log-likelihood most is added, then the
rates of all chosen classes are fitted again, until no class adds enough.

The log-likelihood ratio of adding class c at rate q is, with r_i the path's loss so far and r_i(q)
its loss with c added,

    ln(1 - q) sum_i x_ic (sent_i - lost_i)  +  sum_{i: lost_i > 0} lost_i ln(r_i(q) / r_i)

Answered probes enter only through one number per class, so the cost is that of the few paths that
lost something. Added latency is fitted by least squares in noise units in the same stepwise way.

Source  binomial model of 007 and NetBouncer, forward selection by likelihood ratio (Wilks 1938);
        the p-value is chi-square with one degree of freedom, times the classes tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from localizer.evidence import F64, I64, Blame, Evidence
from localizer.strategies import strategy

LEVEL = 1e-4
MOST = 64
REFITS = 3
#: Log-odds [nat] that trouble is that of an open incident rather than a new one: in a single second
#: a link and its switch may fit alike, and a name must not flicker. Flock's prior for a blamed
#: component is of that size (15 on known paths).
INCUMBENT = 10.0
#: Rates that a class is tried at [1]; refined by one parabola-free zoom afterwards.
RATES = np.concatenate([np.geomspace(1e-4, 0.5, 28), [0.6, 0.7, 0.8, 0.9, 0.97, 0.999]])


@strategy("hypothesis")
def hypothesis(evidence: Evidence) -> list[Blame]:
    """Classes in the order in which they were chosen, with their jointly fitted effects."""
    return _fit_latency(evidence) if evidence.latency else _fit_loss(evidence)


@dataclass(slots=True)
class _Lossy:
    """The paths that lost something, as triplets of the incidence over candidate classes.

    path, column, share  (n,) row among lossy paths, candidate, x; answered (K,) sum x (sent - lost)
    lost (L,); survive (L,) (1 - p0) prod (1 - q)^x over the classes chosen so far
    """

    path: I64
    column: I64
    share: F64
    answered: F64
    lost: F64
    survive: F64
    classes: int

    def gain(self, rates: F64) -> F64:
        """(K, G) log-likelihood ratio [nat] of adding each candidate at each rate."""
        before = 1.0 - self.survive[self.path, None]
        after = 1.0 - self.survive[self.path, None] * (1.0 - rates) ** self.share[:, None]
        each = self.lost[self.path, None] * np.log(after / before)
        out = self.answered[:, None] * np.log1p(-rates)
        for g in range(len(rates)):
            out[:, g] += np.bincount(self.column, each[:, g], self.classes)
        return out

    def one(self, column: int, rates: F64) -> F64:
        """(G,) the same for one candidate."""
        mine = self.column == column
        path, share = self.path[mine], self.share[mine]
        before = 1.0 - self.survive[path, None]
        after = 1.0 - self.survive[path, None] * (1.0 - rates) ** share[:, None]
        each = (self.lost[path, None] * np.log(after / before)).sum(axis=0)
        total: F64 = self.answered[column] * np.log1p(-rates) + each
        return total

    def apply(self, column: int, rate: float, power: float) -> None:
        """Multiply the survival by (1 - rate)^(power x) of one class; power -1 takes it back."""
        mine = self.column == column
        self.survive[self.path[mine]] *= (1.0 - rate) ** (power * self.share[mine])


def _fit_loss(evidence: Evidence) -> list[Blame]:
    incidence = evidence.incidence
    touched = np.asarray(incidence.T @ evidence.bad.astype(float)).ravel() > 0
    columns = np.flatnonzero(touched)
    lossy = np.flatnonzero((evidence.lost > 0) & (evidence.sent > 0))
    if not len(columns) or not len(lossy):
        return []
    triplets = incidence[lossy][:, columns].tocoo()
    answered = np.asarray(incidence.T @ (evidence.sent - evidence.lost).astype(float)).ravel()
    model = _Lossy(
        triplets.row.astype(np.int64), triplets.col.astype(np.int64), triplets.data,
        answered[columns], evidence.lost[lossy].astype(float),
        np.full(len(lossy), 1.0 - evidence.background), len(columns),
    )  # fmt: skip
    prior = np.zeros((len(columns), 1))
    if evidence.suspect is not None:
        prior[evidence.suspect[columns]] = INCUMBENT
    chosen: dict[int, tuple[float, float]] = {}  # candidate -> rate, gain
    while len(chosen) < MOST:
        gain = model.gain(RATES)
        gain[list(chosen)] = -np.inf
        top, at = np.unravel_index(int(np.argmax(gain + prior)), gain.shape)
        rate, best = _zoom(model, int(top), int(at))
        if not _p(best, len(columns)) < LEVEL:
            break
        chosen[int(top)] = (rate, best)
        model.apply(int(top), rate, 1.0)
        _refit(model, chosen)
    strong = sorted(chosen, key=lambda c: -chosen[c][1])
    return [Blame(int(columns[c]), chosen[c][0], _p(chosen[c][1], len(columns))) for c in strong
            if _p(chosen[c][1], len(columns)) < LEVEL]  # fmt: skip


def _zoom(model: _Lossy, column: int, at: int) -> tuple[float, float]:
    """The best rate between the neighbours of a grid point, and its gain."""
    low, high = RATES[max(at - 1, 0)], RATES[min(at + 1, len(RATES) - 1)]
    finer = np.linspace(low, high, 17)
    gain = model.one(column, finer)
    best = int(np.argmax(gain))
    return float(finer[best]), float(gain[best])


def _refit(model: _Lossy, chosen: dict[int, tuple[float, float]]) -> None:
    """Fit each chosen rate again given the others; a class that no longer helps ends near zero."""
    if len(chosen) < 2:
        return
    for _ in range(REFITS):
        for column, (rate, _) in list(chosen.items()):
            model.apply(column, rate, -1.0)
            grid = model.one(column, RATES)
            rate, gain = _zoom(model, column, int(np.argmax(grid)))
            chosen[column] = (rate, gain)
            model.apply(column, rate, 1.0)


def _p(gain: float, classes: int) -> float:
    return min(1.0, float(stats.chi2.sf(2.0 * max(gain, 0.0), 1)) * classes)


def _fit_latency(evidence: Evidence) -> list[Blame]:
    """Non-negative common shifts, each added where it explains most squared noise units."""
    incidence = evidence.incidence
    touched = np.asarray(incidence.T @ evidence.bad.astype(float)).ravel() > 0
    columns = np.flatnonzero(touched)
    if not len(columns):
        return []
    share = incidence[:, columns].tocsc()
    precision: npt.NDArray[np.float64] = np.where(
        evidence.sent > 0, 1.0 / evidence.noise_us**2, 0.0
    )
    square = np.asarray(share.power(2).T @ precision).ravel()
    residual = evidence.excess_us.astype(np.float64).copy()
    blamed: list[Blame] = []
    used: set[int] = set()
    while len(blamed) < MOST:
        cross = np.asarray(share.T @ (precision * residual)).ravel()
        shift = np.maximum(cross / np.maximum(square, 1e-12), 0.0)
        gain = 0.5 * shift * cross
        gain[list(used)] = 0.0
        top = int(np.argmax(gain))
        p = _p(float(gain[top]), len(columns))
        if not p < LEVEL:
            break
        used.add(top)
        blamed.append(Blame(int(columns[top]), float(shift[top]), p))
        residual -= shift[top] * np.asarray(share[:, [top]].todense()).ravel()
    return blamed
