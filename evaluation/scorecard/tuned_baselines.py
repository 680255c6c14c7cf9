"""Baselines as their papers mean them to be used: parameters swept on the network at hand.

For each setting the best of a strategy's variants is chosen on tuning seeds and then runs on the
final ones beside the parameters that it ships with. The default strategy is not swept: nobody told
it what network to expect.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from localizer import strategies
from localizer.strategies import Strategy
from testbed.scenarios import published

#: Seeds on which variants are compared; apart from all final ones.
TUNED_ON: Final = range(1, 6)
_MARK: Final = ", swept"


def names() -> list[str]:
    """Labels of all strategies that have variants."""
    return [name + _MARK for name in strategies.names() if strategies.variants(name)]


def is_swept(label: str) -> bool:
    """Whether a row is of a strategy with swept parameters."""
    return label.endswith(_MARK)


def get(label: str, setting: str) -> Strategy:
    """A registered strategy, or with its swept parameters for a setting."""
    if not is_swept(label):
        return strategies.get(label)
    name = label.removesuffix(_MARK)
    return strategies.variants(name)[chosen(setting)[name]]


@cache
def chosen(setting: str) -> dict[str, str]:
    """Strategy -> the label of its variant with the best mean F1 on the tuning seeds; the first of
    equals."""
    drawn = [published.trial(setting, seed) for seed in TUNED_ON]

    def mean_f1(variant: Strategy) -> float:
        return sum(published.score(each, variant(each.evidence))[2] for each in drawn) / len(drawn)

    found = {}
    for name in strategies.names():
        scores = {label: mean_f1(each) for label, each in strategies.variants(name).items()}
        if scores:
            found[name] = max(scores, key=lambda label: scores[label])
    return found
