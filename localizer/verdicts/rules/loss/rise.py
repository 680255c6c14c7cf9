"""Whether a class loses more than in its own past."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.detectors import loss
from localizer.detectors.loss import LossParameters
from localizer.fabric.observability import Classes
from localizer.state.fabric_state import FabricState

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Pasts that a window is compared with, each a test of the alarm budget.
PASTS: Final = 2


@dataclass(frozen=True, slots=True)
class Rise:
    """The newest window of each class against the time before.

    p_values              (K,) that nothing has changed
    above                 (K,) loss above that of the past [1]
    past_sent, past_lost  (K,) probes of the past, with those that the prior is worth
    common                (K,) factor by which the rest of the fabric loses more than before
    rest_then             (K,) loss of the rest of the fabric in the past [1]
    dispersion            of the counts
    """

    p_values: F64
    above: F64
    past_sent: F64
    past_lost: F64
    common: F64
    rest_then: F64
    dispersion: float

    def beside(self, control_lost: float, control_sent: float, usual: float) -> Rise:
        """The same where the rest of the fabric loses no more than a control group.

        control_lost, control_sent  probes of paths that cross no culprit; usual: healthy loss [1]
        Culprits that are found together must not pass for each other's background.
        """
        now = _rate(np.array(control_lost), np.array(control_sent), usual)
        return replace(self, common=np.minimum(self.common, np.maximum(1.0, now / self.rest_then)))

    def or_else(self, other: Rise) -> Rise:
        """For each class the comparison with the smaller p-value."""
        take = other.p_values < self.p_values
        return Rise(
            np.where(take, other.p_values, self.p_values),
            np.where(take, other.above, self.above),
            np.where(take, other.past_sent, self.past_sent),
            np.where(take, other.past_lost, self.past_lost),
            np.where(take, other.common, self.common),
            np.where(take, other.rest_then, self.rest_then),
            self.dispersion,
        )

    def alarming(self, level: float | F64, parameters: LossParameters) -> Bool:
        """(K,) classes whose loss has risen significantly and materially; level may be (K,)."""
        return (self.p_values < level) & (self.above > parameters.least_rise)

    def p_value(self, column: int, lost: float, sent: float, part: float) -> float:
        """P-value of some of the paths of a class, which sent this part of its probes."""
        past = np.array([self.past_lost[column] * part]), np.array([self.past_sent[column] * part])
        common = self.common[column : column + 1]
        newest = np.array([lost]), np.array([sent])
        return float(loss.rise_p_values(*newest, *past, common, self.dispersion)[0])

    def rate(self, column: int) -> float:
        """Loss that is expected of a class [1]."""
        return float(
            self.common[column] * self.past_lost[column] / max(self.past_sent[column], 1e-9)
        )


def rise(
    state: FabricState, at: int, length: int, left: Bool, groups: Classes, sent: F64, lost: F64
) -> Rise:
    """Compare a window with what was counted before it.

    left        (P,) paths that count; sent, lost (K,) pooled over the window
    The past of a class are the bins before the window, what is older than all bins, and some
    probes at the loss of the fabric. What began in the last of these bins is part of the past then,
    so each class is compared with an older past too, and the more telling one of both counts.
    """
    lengths = state.history.lengths(at)
    parameters = state.options.detectors.loss
    ends = sorted({length, older_past(lengths, length, parameters.gap)})
    newest, *older = (_rise(state, at, length, end, left, groups, sent, lost) for end in ends)
    return newest.or_else(older[0]) if older else newest


def _rise(
    state: FabricState, at: int, length: int, past_s: int, left: Bool, groups: Classes,
    sent: F64, lost: F64,
) -> Rise:  # fmt: skip
    """The same with one past, which ended so many seconds ago."""
    parameters, background = state.options.detectors.loss, state.background
    past_sent, past_lost = (each.copy() for each in state.class_loss.of(groups.names))
    fabric_sent, fabric_lost = state.class_loss.fabric_sent, state.class_loss.fabric_lost
    sent_now, lost_now = (state.history.total(name, at, length) * left for name in ("sent", "lost"))
    every_sent, every_lost = float(sent_now.sum()), float(lost_now.sum())
    longest = state.history.lengths(at)[-1]
    if longest > past_s:
        before = [
            (state.history.total(name, at, longest) - state.history.total(name, at, past_s)) * left
            for name in ("sent", "lost")
        ]
        past_sent += groups.pooled(before[0])
        past_lost += groups.pooled(before[1])
        fabric_sent, fabric_lost = (
            fabric_sent + float(before[0].sum()), fabric_lost + float(before[1].sum())
        )  # fmt: skip
    past_sent += parameters.prior_probes
    past_lost += parameters.prior_probes * background.rate
    rest_now = _rate(every_lost - lost, every_sent - sent, background.rate)
    rest_then = _rate(fabric_lost - past_lost, fabric_sent - past_sent, background.rate)
    alone = loss.rise_p_values(
        lost, sent, past_lost, past_sent, np.ones(len(lost)), background.dispersion
    )
    for column in np.argsort(alone, kind="stable")[: parameters.told_apart].tolist():
        if alone[column] < parameters.suspicious:
            rest = rest_without(groups.share(column), sent_now, lost_now, background.rate)
            rest_now[column] = min(rest_now[column], rest)
    common = np.maximum(1.0, rest_now / rest_then)
    p = loss.rise_p_values(lost, sent, past_lost, past_sent, common, background.dispersion)
    above = lost / np.maximum(sent, 1e-9) - common * past_lost / past_sent
    return Rise(p, above, past_sent, past_lost, common, rest_then, background.dispersion)


def rest_without(share: F64, sent: I64, lost: I64, usual: float) -> float:
    """Loss of the rest of the fabric [1], if one class loses more than it: what the class loses on
    paths that cross it perhaps is no loss of the rest.

    share       (P,) of each path's traversals that cross the class
    sent, lost  (P,) probes; usual: healthy loss [1]
    With a loss b of all probes and x more of the class, its share of all losses is
    b sum(s n) + x sum(s^2 n), that of the rest b sum((1 - s) n) + x sum(s (1 - s) n): two equations
    for b and x.
    """
    n, k = float((share * sent).sum()), float((share * lost).sum())
    n_rest, k_rest = float(sent.sum()) - n, float(lost.sum()) - k
    own = float((share**2 * sent).sum())
    known = n_rest * own - n * (n - own)
    if known <= 0.0:  # no route tells the class from the rest
        return float(_rate(np.array(k_rest), np.array(n_rest), usual))
    rest = max(0.0, k_rest * own - k * (n - own)) / known
    return float(_rate(np.array(rest * n_rest), np.array(n_rest), usual))


def older_past(lengths: list[int], window_s: int, gap: float) -> int:
    """Seconds ago at which the older past of a window ends: as long before it as bins and a past
    that is no shorter than the window allow.

    lengths  of all windows, rising [s]
    """
    most = min((1 + gap) * window_s, lengths[-1] - window_s)
    return max([window_s, *(each for each in lengths if each <= most)])


def _rate(lost: F64, sent: F64, usual: float) -> F64:
    """Loss of the rest of the fabric; the usual one where little is known."""
    some = 1.0 / usual
    return (np.maximum(lost, 0.0) + 1.0) / (np.maximum(sent, 0.0) + some)
