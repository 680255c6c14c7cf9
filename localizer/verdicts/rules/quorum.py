"""The quorum of source hosts: no single host may cause a verdict on the network."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.baselines.loss import LossBaseline
from localizer.detectors.loss import excess_p_values

#: No single source host may cause a verdict on the network.
LEAST: Final = 2

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


def needed(probing: int, most: int) -> int:
    """How many source hosts must see a fault: ``most``, or all that probe it where those are fewer,
    but two at least.

    The containers of a small job are probed by one or two other hosts and by no more.
    """
    return min(most, max(LEAST, probing))


def hosts(source: I32, rows: Bool) -> int:
    """Source hosts of some paths [count]."""
    return len(np.unique(source[rows]))


def given_answers(weight: F64, sent: I64, lost: I64, rate: float) -> F64:
    """(P,) probability that a path crosses what loses at a rate, if it has lost nothing: where its
    route is unknown, answers say that it leads elsewhere; they do not contradict those who lost.

    weight  (P,) the same before any probe; sent, lost (P,)
    """
    survives = (1.0 - min(rate, 1.0)) ** sent
    crosses = weight * survives
    after = crosses / np.maximum(crosses + 1.0 - weight, 1e-300)
    return np.where((lost == 0) & (weight < 1.0), after, weight)


def probing(source: I32, weight: F64) -> int:
    """Source hosts that more likely than not cross a component with one path at least [count].

    source (P,); weight (P,) probability that a probe of the path crosses it
    """
    with np.errstate(divide="ignore"):  # a path that crosses it for sure: ln 0
        never = np.bincount(source, np.log1p(-weight))
    return int((never <= np.log(0.5)).sum())


def enough(
    source: I32, lost: I64, sent: I64, weight: F64, background: LossBaseline, least: int
) -> bool:
    """Whether ``least`` source hosts saw losses, and the evidence stands without the loudest one.

    source, lost, sent  (P,); weight (P,) probability that a probe of the path crosses what is to
                        blame, 0 for paths that do not count
    """
    hurt = (weight > 0) & (lost > 0)
    if hosts(source, hurt) < least:
        return False
    rest = weight * (source != loudest(source, lost, weight))
    k, n = float(rest @ lost), float(rest @ sent)
    return bool(excess_p_values(np.array([k]), np.array([n]), background.rate)[0] < 1e-4)


def contradicted(source: I32, lost: I64, sent: I64, weight: F64, level: float) -> bool:
    """Whether the others lose less than the source host with the most losses, by more than chance.

    source, lost, sent  (P,) since that host has lost; weight as for ``enough``
    level               largest p-value of what chance does not explain
    True if no other host probes it: then none will ever tell.
    """
    loud = source == loudest(source, lost, weight)
    own, rest = weight * loud, weight * ~loud
    if not rest.any():
        return True
    k, n = float(rest @ lost), float(rest @ sent)
    rate = float(own @ lost) / max(float(own @ sent), 1.0)
    # P(K <= k) of a binomial, by the incomplete beta function: expected counts are fractional.
    return n > k and bool(special.betaincc(k + 1.0, n - k, min(rate, 1.0)) < level)


def loudest(source: I32, lost: I64, weight: F64) -> int:
    """The source host with the most lost probes, of the paths (P,) by their weight."""
    return int(np.argmax(np.bincount(source, weight * lost)))


def per_pair(pair: I64, valid: Bool) -> F64:
    """(P,) weight that gives each endpoint pair one vote, split over its valid paths."""
    size = np.bincount(pair[valid], minlength=int(pair.max(initial=-1)) + 1)
    return np.where(valid, 1.0 / np.maximum(size[pair], 1), 0.0)
