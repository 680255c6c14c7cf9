"""The sparsest set of culprits that explains the evidence: forward, re-fit, backward.

The candidate that raises the log-likelihood most is added, the rates of all chosen ones are fitted
again, and so on until none adds enough. Then each one must stand up again without itself, against
every other candidate: what the first greedy steps took by mistake is put right.

Source  forward-backward selection by likelihood ratio (Wilks 1938; Zhang 2011).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localizer.evidence import F64
from localizer.strategies.hypothesis.rows import Culprit, Rows
from localizer.strategies.hypothesis.selection import Selection

#: By how many nats an alternative may be worse than the culprit to be weighed at all.
IMPROBABLE = -12.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """A culprit, and the nats by which it raises the log-likelihood above a healthy component's.

    classes  probability of each class (column -> probability, sum 1) to be what explains the paths
             of this culprit, all other culprits being as they are
    """

    hit: Culprit
    gain: float
    classes: dict[int, float]


def search(rows: Rows, prior: F64, price: Callable[[int], float], most: int) -> list[Chosen]:
    """Choose culprits.

    prior    (K,) log odds [nat] of each candidate over an ordinary one
    price    nats that a candidate must bring as one of so many
    most     culprits
    """
    state = Selection(rows, prior)
    while len(state.hits) < most:
        best = state.best()
        if best is None or best[1] < price(len(state.hits) + 1):
            break
        state.add(best[0])
        if rows.learn():
            state.start_again()
    if len(state.hits) > 1:
        for hit in list(state.hits):
            state.refit(hit)
        for hit in list(state.hits):
            _stand_up(state, hit, price)
        for which in state.challengers():
            _challenge(state, which, price(len(state.hits)))
    worth = [(hit, state.worth_of(hit)) for hit in state.hits]
    return [
        Chosen(hit, gain, _alternatives(state, hit, gain))
        for hit, gain in worth
        if gain >= price(len(worth)) and state.backed(hit, worth, price(len(worth)))
    ]


def _alternatives(state: Selection, hit: Culprit, gain: float) -> dict[int, float]:
    """Posterior of the classes that could stand where a culprit stands, its own included.

    Each class is as likely as its best candidate, in whichever direction. What an open incident
    lends to its component counts for nothing here. Improbable classes are left out.
    """
    state.remove(hit)
    score = state.score()
    state.put_back(hit)
    choices = state.rows.choices
    own = int(choices.column[hit.which])
    taken = {int(choices.column[other.which]) for other in state.hits} - {own}
    score[np.isin(choices.column, list(taken))] = -np.inf
    score[hit.which] = max(score[hit.which], gain)
    near = np.flatnonzero(score > score[choices.column == own].max() + IMPROBABLE)
    best: dict[int, float] = {}
    for which in near.tolist():
        column = int(choices.column[which])
        best[column] = max(best.get(column, -np.inf), float(score[which]))
    top = max(best.values())
    weight = {column: float(np.exp(nats - top)) for column, nats in best.items()}
    total = sum(weight.values())
    return {column: each / total for column, each in weight.items()}


def _stand_up(state: Selection, hit: Culprit, price: Callable[[int], float]) -> None:
    """Each must stand up again without itself, against every other candidate."""
    state.remove(hit)
    best = state.best()
    if best is not None and best[1] >= price(len(state.hits) + 1):
        if best[0] == hit.which:
            state.put_back(hit)
        else:
            state.add(best[0])


def _challenge(state: Selection, which: int, price: float) -> None:
    """Let a candidate in, drop whom it makes superfluous, and keep that if it explains more."""
    if any(hit.which == which for hit in state.hits):
        return
    before, known = state.objective(price), state.snapshot()
    hit = state.add(which)
    for other in [*state.neighbours(hit), hit]:
        if state.worth_of(other) < price:
            state.remove(other)
    if state.objective(price) <= before:
        state.restore(known)
