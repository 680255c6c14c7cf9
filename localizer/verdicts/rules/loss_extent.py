"""What an attribution of loss says: how much is lost, since when, and whether all of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.explanation.issue_features import OWNS
from localizer.state import FabricState
from localizer.verdicts.parameters import ReachabilityParameters
from schemas.documents.incident import Symptom

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def effect_since(state: FabricState, at: int, since_s: int, share: F64, fitted: float) -> float:
    """Loss since the first bad second; that second itself counts only while it is the only one.

    share   (P,) of the paths in question; those that cross the component fully count
    fitted  what the strategy found over the whole window, for want of such paths
    """
    length = _without_first(state, since_s)
    counts = np.flatnonzero(share >= OWNS)
    sent = int(state.history.total("sent", at, length, counts).sum())
    lost = int(state.history.total("lost", at, length, counts).sum())
    return lost / sent if sent else fitted


def without_most_answered(state: FabricState, at: int, since_s: int, share: F64) -> float:
    """The same without the source host that reports most answers, 0 where too few are left: one
    host that claims answers does not make a component reachable that is silent to all others.
    """
    length = _without_first(state, since_s)
    counts = np.flatnonzero(share >= OWNS)
    sent = state.history.total("sent", at, length, counts)
    lost = state.history.total("lost", at, length, counts)
    source = state.src[counts]
    if not len(source):
        return 0.0
    rest = source != int(np.argmax(np.bincount(source, sent - lost)))
    if len(np.unique(source[rest & (lost > 0)])) < state.options.observers:
        return 0.0
    return float(lost[rest].sum() / max(int(sent[rest].sum()), 1))


def _without_first(state: FabricState, since_s: int) -> int:
    """The seconds that are counted of so many; bins are counted whole."""
    return max(1, since_s - 1) if since_s <= state.history.seconds else since_s


def symptom_of(
    sent: I64, lost: I64, bad: Bool, effect: float, parameters: ReachabilityParameters
) -> Symptom:
    """Unreachability when nothing gets through, or nothing of some five-tuples.

    One lost probe of one says nothing about a five-tuple, so only those with more count.
    """
    probed = bad & (sent >= parameters.silent_probes)
    gone = probed.any() and (lost[probed] >= sent[probed]).mean() >= parameters.total
    return "unconnectivity" if effect >= parameters.total or gone else "loss"


def bad_for(state: FabricState, at: int, length: int, bad: I64) -> int:
    """Seconds since the bad paths began to lose as they did later, not by chance."""
    history = state.history
    onset = state.options.verdicts.reachability.onset
    if length > history.seconds:
        lengths = [each for each in history.lengths(at) if each <= length]
        upto = np.array([int(history.total("lost", at, each, bad).sum()) for each in lengths])
        rate = np.diff(upto, prepend=0) / np.diff(lengths, prepend=0)
        return lengths[int(np.flatnonzero(rate >= onset * rate.max())[-1])]
    lost = history.by_second("lost", at, length, bad)
    return length - int(np.argmax(lost >= max(1.0, onset * lost.max())))
