"""The default: one likelihood for all components, its culprits chosen stepwise, fitted together.

docs/localization.md derives the model; ``localizer.strategies.hypothesis`` holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import special

from localizer.evidence import F64, Attribution, Evidence
from localizer.strategies.hypothesis.candidates import (
    BOTH,
    DIRECTION,
    TUNNELLED,
    Candidates,
    candidates,
)
from localizer.strategies.hypothesis.latency import LatencyRows
from localizer.strategies.hypothesis.loss import LossRows
from localizer.strategies.hypothesis.parameters import DEFAULT, HypothesisParameters
from localizer.strategies.hypothesis.rows import Culprit
from localizer.strategies.hypothesis.search import search
from localizer.strategies.registry import strategy


@strategy("hypothesis")
def hypothesis(evidence: Evidence, parameters: HypothesisParameters = DEFAULT) -> list[Attribution]:
    """Classes in the order of the evidence for them, with their jointly fitted effects."""
    least = parameters.latency.least_slow if evidence.latency else 0.0
    choices = candidates(evidence, least, tunnels=evidence.latency)
    if not len(choices):
        return []
    model = LatencyRows if evidence.latency else LossRows
    rows = model(evidence, choices, parameters)
    prior, price = _prior(evidence, choices, parameters), _price(choices, parameters.level)
    found = search(rows, prior, price, parameters)
    return _attributions(choices, found, _added if evidence.latency else _lost)


def _price(choices: Candidates, level: float) -> Callable[[int], float]:
    """Nats that a candidate must bring as one of so many: Benjamini & Hochberg's step-up."""

    @cache
    def price(found: int) -> float:
        return float(special.chdtri(1, min(level * found / choices.tried, 0.5))) / 2.0

    return price


def _prior(evidence: Evidence, choices: Candidates, parameters: HypothesisParameters) -> F64:
    """(K,) log-odds [nat] of each candidate over an ordinary one."""
    prior = np.where(choices.mode == BOTH, 0.0, parameters.narrow)
    if evidence.suspect is not None:
        prior = prior + parameters.incumbent * evidence.suspect[choices.column]
    return prior


def _attributions(
    choices: Candidates,
    found: list[Culprit],
    effect: Callable[[list[tuple[Culprit, int]]], float],
) -> list[Attribution]:
    """One per class: a class may have been chosen in each direction, with sizes of its own.

    effect  of culprits, each crossed so often, on a path that crosses the class fully
    """
    by_column: dict[int, list[Culprit]] = {}
    for culprit in sorted(found, key=lambda culprit: -culprit.gain):
        by_column.setdefault(int(choices.column[culprit.which]), []).append(culprit)
    out = []
    for column, culprits in by_column.items():
        modes = [int(choices.mode[each.which]) for each in culprits]
        times = [2 if mode in (BOTH, TUNNELLED) else 1 for mode in modes]
        first = culprits[0]
        p = float(special.chdtrc(1, 2.0 * max(first.gain, 0.0))) * choices.tried
        out.append(Attribution(
            column, effect(list(zip(culprits, times, strict=True))), min(1.0, p),
            direction=DIRECTION[modes[0]] if len(set(modes)) == 1 else "both",
            share=first.share, tunnelled=all(mode == TUNNELLED for mode in modes),
            classes=first.classes,
        ))  # fmt: skip
    return out


def _lost(culprits: list[tuple[Culprit, int]]) -> float:
    """Loss probability of a path that crosses each culprit so often [1]."""
    survive = [1.0 - each.share * (1.0 - (1.0 - each.size) ** times) for each, times in culprits]
    return float(1.0 - np.prod(survive))


def _added(culprits: list[tuple[Culprit, int]]) -> float:
    """Latency that the culprits add to a path that crosses each so often [us]."""
    return float(sum(times * each.size * each.share for each, times in culprits))
