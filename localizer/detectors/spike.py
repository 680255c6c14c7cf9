"""Spikes and change points: the newest five seconds against the twenty-five before them. Pure.

Windows of 30 s need a quarter of a minute to see a step of latency. A path whose every answer of
five seconds is half as slow again as usual, and slower than all but one of the worst answers of ten
whole windows, need not wait for that: bursts of training come once in each window or two, so the
worst answers of the windows know them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.detectors.latency import LatencyDeviation

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

RECENT_S: Final = 5
BEFORE_S: Final = 25
FACTOR = 1.5  # of the path's own round trip
FEWEST = 2  # answers within RECENT_S
QUIETEST = 0.02  # share of healthy paths that may look so, and at the height of bursts more


def spike(
    rtt_us: F32, reference: F32, ceiling: F32, layer: npt.NDArray[np.int8]
) -> LatencyDeviation | None:
    """Paths that are slow in each of the newest seconds; None where hardly any is.

    rtt_us              (S, P) mean round trip in each of the newest seconds [us], 0: no answer
    reference, ceiling  (P,) of ``LatencyMemory`` [us]; NaN where unknown
    layer               (P,) code of the layer, for the cross-section of healthy shifts
    """
    known = np.isfinite(reference) & np.isfinite(ceiling)
    bar = np.where(known, np.fmax(FACTOR * reference, ceiling), np.inf)
    if not (rtt_us[-1] > bar).any():
        return None
    answers = (rtt_us > 0).sum(axis=0)
    lowest = np.where(rtt_us > 0, rtt_us, np.inf).min(axis=0)
    valid = known & (answers >= FEWEST)
    flagged = valid & (lowest > bar)
    usual = np.where(valid, reference, 1.0).astype(np.float64)
    excess = np.where(valid, rtt_us.sum(axis=0) / np.maximum(answers, 1) - usual, 0.0)
    noise = np.maximum(0.05 * usual, 0.5)
    for code in np.unique(layer[valid]):
        here = valid & (layer == code)
        crowd = 1.4826 * np.median(np.abs(excess[here] - np.median(excess[here])))
        noise[here] = np.maximum(noise[here], crowd)
    return LatencyDeviation(
        valid, excess, noise, flagged, np.full(len(valid), np.nan, np.float32), QUIETEST
    )


def rate_ratio_p(recent: tuple[int, int], before: tuple[int, int]) -> float:
    """P(so many of all losses are recent) if nothing has changed.

    recent, before  (lost, sent) of two stretches of time
    Source  conditional test of two rates: Przyborowski, Wilenski, Biometrika 31 (1940)
    """
    (lost, sent), (lost_before, sent_before) = recent, before
    if not lost or not sent:
        return 1.0
    share = sent / (sent + sent_before)
    return float(special.bdtrc(lost - 1, lost + lost_before, share))


def change_of_level(values: F64, weight: F64) -> int:
    """Index of the first value of a new level: the likeliest single change of a mean.

    values  (S,) series; weight (S,) how well each value is known, 0: not at all
    Source  Gaussian likelihood of one change in mean (Page 1955; Hinkley 1970): the cut that leaves
            the least squares within the two parts
    """
    weight = np.where(np.isfinite(values), weight, 0.0)
    values = np.where(weight > 0, values, 0.0)
    ahead_w, ahead = np.cumsum(weight)[:-1], np.cumsum(weight * values)[:-1]
    after_w, after = weight.sum() - ahead_w, float(weight @ values) - ahead
    gain = np.where(
        (ahead_w > 0) & (after_w > 0),
        ahead**2 / np.maximum(ahead_w, 1e-12) + after**2 / np.maximum(after_w, 1e-12),
        -np.inf,
    )
    return int(np.argmax(gain)) + 1 if len(gain) and np.isfinite(gain).any() else 0


def change_of_rate(lost: F64, sent: F64) -> int:
    """Index of the first second of a new loss rate: the likeliest single change of a binomial's.

    lost, sent  (S,) counts
    """
    k, n = np.cumsum(lost), np.cumsum(sent)
    gain = (_log_likelihood(k, n) + _log_likelihood(k[-1] - k, n[-1] - n))[:-1]
    return int(np.argmax(gain)) + 1 if len(gain) and gain.max() > -np.inf else 0


def _log_likelihood(lost: F64, sent: F64) -> F64:
    """Of a binomial at its own best rate [nat]; no counts say nothing."""
    rate = lost / np.maximum(sent, 1e-12)
    out: F64 = special.xlogy(lost, rate) + special.xlogy(sent - lost, 1.0 - rate)
    return out
