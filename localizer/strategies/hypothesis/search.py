"""The sparsest set of culprits that explains the evidence: forward, re-fit, backward.

The candidate that raises the log-likelihood most is added, the rates of all chosen ones are fitted
again, and so on until none adds enough. Then each culprit is removed, all candidates are tested
again, and it is kept only if it is still the best of them: this corrects mistakes of the first
greedy steps.

Source  forward-backward selection by likelihood ratio (Wilks 1938; Zhang 2011).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from localizer.evidence import F64
from localizer.strategies.hypothesis.parameters import (
    DEFAULT,
    HypothesisParameters,
    SearchParameters,
)
from localizer.strategies.hypothesis.rows import Culprit, Rows
from localizer.strategies.hypothesis.selection import Selection


def search(
    rows: Rows,
    prior: F64,
    price: Callable[[int], float],
    parameters: HypothesisParameters = DEFAULT,
) -> list[Culprit]:
    """Choose culprits.

    prior    (K,) log odds [nat] of each candidate over an ordinary one
    price    nats that a candidate must bring as one of so many
    returns  the culprits, in the order in which they were chosen, with gain and classes
    """
    state = Selection(rows, prior, parameters.search)
    while len(state.culprits) < parameters.most:
        best = state.best()
        if best is None or best[1] < price(len(state.culprits) + 1):
            break
        state.add(best[0])
        if rows.learn():
            state.start_again()
    if len(state.culprits) > 1:
        state.refit_all()
        for culprit in list(state.culprits):
            _test_again(state, culprit, price)
        for which in state.challengers():
            _challenge(state, which, price(len(state.culprits)))
    worth = [(culprit, state.worth_of(culprit)) for culprit in state.culprits]
    return [
        replace(
            culprit,
            gain=gain,
            classes=_alternatives(state, culprit, gain, parameters.search),
        )
        for culprit, gain in worth
        if gain >= price(len(worth)) and state.backed(culprit, worth, price(len(worth)))
    ]


def _alternatives(
    state: Selection, culprit: Culprit, gain: float, parameters: SearchParameters
) -> dict[int, float]:
    """Posterior of the classes that could stand where a culprit stands, its own included.

    Each class is as likely as its best candidate, in whichever direction, at the size that fits it
    best: what the grid tries misses that by several nats. Of a link that was chosen in both
    directions both are left out, so that another link is compared with all of it. Where evidence is
    alike, one fit serves all; those that the grid puts behind the first few are as far behind as it
    shows. The prior of open incidents is left out here. Improbable classes are left out.
    """
    choices = state.rows.choices
    own = int(choices.column[culprit.which])
    mine = [each for each in state.culprits if int(choices.column[each.which]) == own]
    score = state.score_without(mine).copy()
    taken = {int(choices.column[other.which]) for other in state.culprits} - {own}
    score[np.isin(choices.column, list(taken))] = -np.inf
    near = np.flatnonzero(score > score[choices.column == own].max() + parameters.improbable)
    near = near[np.argsort(-score[near], kind="stable")]
    _, first, alike = np.unique(np.round(score[near], 6), return_index=True, return_inverse=True)
    tried = np.sort(first)[: parameters.fitted]
    missed = np.array(state.worth_instead(mine, near[tried].tolist())) - score[near[tried]]
    misses = np.full(len(first), missed.min(initial=0.0))
    misses[alike[tried]] = missed
    best = {own: gain if len(mine) == 1 else -np.inf}
    for which, nats in zip(near.tolist(), (score[near] + misses[alike]).tolist(), strict=True):
        column = int(choices.column[which])
        best[column] = max(best.get(column, -np.inf), nats)
    top = max(best.values())
    weight = {
        column: float(np.exp(nats - top))
        for column, nats in best.items() if nats > top + parameters.improbable
    }  # fmt: skip
    total = sum(weight.values())
    return {column: each / total for column, each in weight.items()}


def _test_again(state: Selection, culprit: Culprit, price: Callable[[int], float]) -> None:
    """Choose the best candidate in place of a culprit, if it pays its price: itself perhaps."""
    best = state.best_instead(culprit)
    if best is not None and best[0] == culprit.which and best[1] >= price(len(state.culprits)):
        return
    state.remove(culprit)
    if best is not None and best[1] >= price(len(state.culprits) + 1):
        state.add(best[0])


def _challenge(state: Selection, which: int, price: float) -> None:
    """Add a candidate and drop the culprits that it makes superfluous, if that explains more."""
    if any(culprit.which == which for culprit in state.culprits):
        return
    before, known = state.objective(price), state.snapshot()
    culprit = state.add(which)
    for other in [*state.neighbours(culprit), culprit]:
        if state.worth_of(other) < price:
            state.remove(other)
    if state.objective(price) <= before:
        state.restore(known)
