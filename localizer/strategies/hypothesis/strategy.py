"""The default: one likelihood for all components, its culprits chosen stepwise, fitted together.

docs/localization.md derives the model; ``localizer.strategies.hypothesis`` holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import stats

from localizer.evidence import F64, Attribution, Evidence
from localizer.strategies.hypothesis.candidates import (
    BOTH,
    DIRECTION,
    TUNNELLED,
    Candidates,
    candidates,
)
from localizer.strategies.hypothesis.latency import ShiftRows
from localizer.strategies.hypothesis.loss import LossRows
from localizer.strategies.hypothesis.rows import Culprit
from localizer.strategies.hypothesis.search import Chosen, search
from localizer.strategies.registry import strategy

#: False discovery rate of the set: Benjamini & Hochberg's step-up over the candidates tried.
LEVEL = 5e-2
MOST = 64
#: Log-odds [nat] that trouble is that of an open incident rather than a new one: in a single second
#: a link and its switch may fit alike, and a name must not flicker. Flock's prior for a blamed
#: component is of that size (15 on known paths).
INCUMBENT = 10.0
#: Log-odds [nat] against a fault in one direction, or of tunnelled packets, only: most hit all.
NARROW = -2.0
#: Share of the paths across a class that must be late before it is looked at.
LEAST_LATE = 0.1


@strategy("hypothesis")
def hypothesis(evidence: Evidence) -> list[Attribution]:
    """Classes in the order of the evidence for them, with their jointly fitted effects."""
    return _latency(evidence) if evidence.latency else _reachability(evidence)


def _reachability(evidence: Evidence) -> list[Attribution]:
    choices = candidates(evidence)
    if not len(choices):
        return []
    rows = LossRows(evidence, choices)
    found = search(rows, _prior(evidence, choices), _price(choices), MOST)
    return _blames(choices, found, _lost)


def _latency(evidence: Evidence) -> list[Attribution]:
    choices = candidates(evidence, LEAST_LATE, tunnels=True)
    if not len(choices):
        return []
    rows = ShiftRows(evidence, choices)
    found = search(rows, _prior(evidence, choices), _price(choices), MOST)
    return _blames(choices, found, _added)


def _price(choices: Candidates) -> Callable[[int], float]:
    """Nats that a candidate must bring as one of so many: Benjamini & Hochberg's step-up."""

    @cache
    def price(found: int) -> float:
        return float(stats.chi2.isf(min(LEVEL * found / choices.tried, 0.5), 1)) / 2.0

    return price


def _prior(evidence: Evidence, choices: Candidates) -> F64:
    prior = np.where(choices.mode == BOTH, 0.0, NARROW)
    if evidence.suspect is not None:
        prior = prior + INCUMBENT * evidence.suspect[choices.column]
    return prior


def _blames(
    choices: Candidates, found: list[Chosen], effect: Callable[[list[tuple[Culprit, int]]], float]
) -> list[Attribution]:
    """One per class: a class may have been chosen in each direction, with sizes of its own.

    effect  what its hits, each crossed so often, do to a path that crosses the class fully
    """
    by_column: dict[int, list[Chosen]] = {}
    for chosen in sorted(found, key=lambda chosen: -chosen.gain):
        by_column.setdefault(int(choices.column[chosen.hit.which]), []).append(chosen)
    blames = []
    for column, parts in by_column.items():
        modes = [int(choices.mode[part.hit.which]) for part in parts]
        crossed = [(part.hit, 2 if mode in (BOTH, TUNNELLED) else 1)
                   for part, mode in zip(parts, modes, strict=True)]  # fmt: skip
        direction = DIRECTION[modes[0]] if len(set(modes)) == 1 else "both"
        p = min(1.0, float(stats.chi2.sf(2.0 * max(parts[0].gain, 0.0), 1)) * choices.tried)
        tunnelled = all(mode == TUNNELLED for mode in modes)
        blames.append(
            Attribution(column, effect(crossed), p, direction, parts[0].hit.share, tunnelled,
                  parts[0].classes)
        )  # fmt: skip
    return blames


def _lost(hits: list[tuple[Culprit, int]]) -> float:
    survive = [1.0 - hit.share * (1.0 - (1.0 - hit.size) ** times) for hit, times in hits]
    return float(1.0 - np.prod(survive))


def _added(hits: list[tuple[Culprit, int]]) -> float:
    return float(sum(times * hit.size * hit.share for hit, times in hits))
