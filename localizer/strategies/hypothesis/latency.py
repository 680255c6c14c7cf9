"""How likely a path's added latency is.

A path is later than its own past by the sum of what the culprits on it add, once or twice, plus
noise of its own spread and a spread in proportion to what is added: a queue is not equally long
for all packets. The residual is Student's with tails cut off, so that a wild path does not outvote
the others. Damage is the added latency in microseconds.
"""

from __future__ import annotations

import numpy as np

from localizer.evidence import F64, I32, I64, Evidence
from localizer.strategies.hypothesis.candidates import Candidates
from localizer.strategies.hypothesis.likelihood import Described, Likelihood
from localizer.strategies.hypothesis.parameters import DEFAULT, HypothesisParameters, LatencyModel
from localizer.strategies.hypothesis.rows import Grid, Rows


class LatencyLikelihood(Likelihood):
    """Of paths by how much later than their own past they are, and their noise (R,) [us]."""

    def __init__(self, excess_us: F64, noise_us: F64, model: LatencyModel) -> None:
        self._excess, self._noise, self._model = excess_us, noise_us, model

    def log_f(self, rows: I64, damage: F64) -> F64:
        noise, model = self._noise[rows, None], self._model
        spread = 1.0 + (model.varies * damage / noise) ** 2  # of the variance, over the noise alone
        off = ((self._excess[rows, None] - damage) / noise) ** 2 / spread
        tailed = (model.freedom + 1.0) * np.log1p(off / model.freedom)
        out: F64 = -0.5 * (np.minimum(tailed, model.most_residual**2) + np.log(spread))
        return out

    def described(self) -> Described:
        model = self._model
        most = model.most_residual**2
        return 1, self._excess, self._noise, model.varies, model.freedom, most


class LatencyRows(Rows):
    """All paths that were compared with their past."""

    def __init__(
        self, evidence: Evidence, choices: Candidates, parameters: HypothesisParameters = DEFAULT
    ) -> None:
        paths = np.flatnonzero(evidence.sent > 0)
        self._model = parameters.latency
        self._noise = evidence.noise_us[paths]
        excess = evidence.excess_us[paths]
        likelihood = LatencyLikelihood(excess, self._noise, self._model)
        super().__init__(choices, choices.of_paths(evidence, paths), likelihood, len(paths),
                         parameters.search.most_atoms)  # fmt: skip
        self._healthy_us = evidence.healthy_us
        self._largest = _largest(np.abs(excess), evidence.source[paths], self._model)

    def grid(self) -> Grid:
        model = self._model
        healthy = self._healthy_us
        if healthy is None:
            noise = float(np.median(self._noise)) if len(self._noise) else 1.0
            healthy = model.healthy_noise * noise
        most = max(self._largest, 4 * healthy)
        steps = min(model.most_steps, 2 + int(np.log(most / healthy) / np.log(model.factor)))
        sizes = np.concatenate([[healthy], np.geomspace(1.3 * healthy, most, steps)])
        some = sizes[len(sizes) // 2 :: 2]
        fine = np.meshgrid(sizes[len(sizes) // 3 :: 2], [0.75, 0.5, 0.35, 0.2])
        return Grid(
            np.concatenate([sizes, some]),
            np.concatenate([np.ones(len(sizes)), np.full(len(some), model.some)]),
            (fine[0].ravel(), fine[1].ravel()),
        )

    def damage(self, sizes: F64) -> F64:
        return sizes

    def weights(self) -> F64:
        return np.ones(self.paths)

    def bulk(self, sizes: F64, shares: F64) -> F64:
        return np.zeros((len(self.choices), len(sizes)))

    def bulk_of(self, which: int, sizes: F64, shares: F64) -> F64:
        return np.zeros(len(sizes))


def _largest(excess_us: F64, source: I32, model: LatencyModel) -> float:
    """The largest excess that sizes are tried up to [us], 1 at least.

    One host that reports absurd times must not stretch the grid until no real size is left on it:
    its excess counts up to so many times that of the second largest. Not of the third: two may be
    all that probe a component.
    """
    hosts = np.zeros(int(source.max(initial=-1)) + 1)
    np.maximum.at(hosts, source, excess_us)
    top = np.sort(hosts)[::-1]
    largest = float(np.max(top, initial=1.0))
    if len(top) < model.witnesses:
        return largest
    return min(largest, max(1.0, model.absurd * float(top[model.witnesses - 1])))
