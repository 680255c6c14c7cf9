"""Baselines with parameters tuned to the network, as their papers use them.

For each setting, the best of a strategy's variants is chosen on tuning seeds; it then runs on the
final seeds beside the shipped parameters. The default strategy is not tuned: in production it does
not know the network in advance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from localizer import strategies
from localizer.strategies import Strategy
from testbed.scenarios import published
from testbed.scenarios.published import Trial

#: Seeds on which variants are compared; no final seed is among them.
TUNED_ON: Final = range(1, 6)
_MARK: Final = ", swept"  # in results.jsonl and on the page


def names() -> list[str]:
    """Labels of the tuned variants of all strategies that have variants."""
    return [name + _MARK for name in strategies.names() if strategies.variants(name)]


def is_tuned(label: str) -> bool:
    """Whether a label is that of a tuned strategy."""
    return label.endswith(_MARK)


def get(label: str, setting: str) -> Strategy:
    """The strategy of a label; a tuned one has the parameters chosen for this setting."""
    if not is_tuned(label):
        return strategies.get(label)
    name = label.removesuffix(_MARK)
    return strategies.variants(name)[chosen(setting)[name]]


@cache
def chosen(setting: str, draw: Callable[[str, int], Trial] = published.trial) -> dict[str, str]:
    """Strategy -> label of the variant with the best mean F1 on the tuning seeds; of equal ones the
    first."""
    drawn = [draw(setting, seed) for seed in TUNED_ON]

    def mean_f1(variant: Strategy) -> float:
        return sum(published.score(each, variant(each.evidence))[2] for each in drawn) / len(drawn)

    found = {}
    for name in strategies.names():
        scores = {label: mean_f1(each) for label, each in strategies.variants(name).items()}
        if scores:
            found[name] = max(scores, key=lambda label: scores[label])
    return found
