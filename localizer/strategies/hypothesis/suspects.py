"""What candidates that were not chosen may do: too little evidence each, but not too little in all.

A probe lost on a link that is bad, but not significantly so, would be counted as healthy loss, and
the healthy loss then hides the next small fault. So each class is bad with a probability of its
own: how many classes are bad, and of what size they are, is learnt from all classes that are left.

Source  empirical Bayes for two groups (Efron 2008); its mixing distribution by EM on a grid of
        sizes (Laird 1978).
"""

from __future__ import annotations

import numpy as np

from localizer.evidence import F64, I64, Bool
from localizer.strategies.hypothesis.candidates import Entries


def expected_damage(nats: F64, damage: F64, column: I64, chosen: Bool, steps: int) -> F64:
    """(K,) damage of one crossing: of each size, times the probability that the class has it.

    nats     (K, G) log-likelihood ratio of each candidate at each size, over a healthy one
    damage   (G,) of one crossing, for each size
    column   (K,) class of each candidate; a class is bad in one of its ways at most
    chosen   (K,) candidates whose class has a culprit: nothing more is expected of them
    steps    of EM, from the share of classes that were chosen and all sizes alike
    """
    columns, place = np.unique(column, return_inverse=True)
    top = np.zeros(len(columns))
    np.maximum.at(top, place, nats.max(axis=1))
    ratio = np.where(chosen[:, None], 0.0, np.exp(nats - top[place, None]))
    each = np.zeros((len(columns), len(damage)))
    np.add.at(each, place, ratio)
    left = np.ones(len(columns), bool)
    left[place[chosen]] = False
    bad = (len(left) - left.sum() + 0.5) / (len(left) + 1.0)
    weight = np.full(len(damage), bad / len(damage))
    for _ in range(steps if left.any() else 0):
        likely = (1.0 - weight.sum()) * np.exp(-top) + each @ weight
        weight = weight * (each[left] / likely[left, None]).mean(axis=0)
    likely = (1.0 - weight.sum()) * np.exp(-top) + each @ weight
    out: F64 = (ratio @ (weight * damage)) / np.maximum(likely[place], 1e-300)
    return out


def worst(entries: Entries, damage: F64, paths: int) -> F64:
    """(paths,) damage that the worst candidate on each path does to it, damage (K,) a crossing.

    Not the sum: each was suspected as if it were alone, for the same lost probes as the others.
    """
    out = np.zeros(paths)
    if len(entries.row):
        crossed = (entries.once + 2.0 * entries.twice) * damage[entries.which]
        first = np.flatnonzero(np.diff(entries.row, prepend=-1))
        out[entries.row[first]] = np.maximum.reduceat(crossed, first)
    return out
