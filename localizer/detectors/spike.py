"""Steps of latency: the newest five seconds against what is usual in windows of 30 s. Pure.

A window of 30 s needs a quarter of a minute to show a step of latency. A path whose every answer of
five seconds is half as slow again as usual, and slower than all but one of the worst answers of ten
whole windows, is flagged at once: bursts of training come once in each window or two, so the worst
answers of the windows know them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.baselines.robust import MAD_TO_SIGMA
from localizer.detectors.latency.deviation import LatencyDeviation
from schemas.parameters.parameter import parameter

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SpikeParameters:
    """When the newest seconds of a path count as slow.

    recent_s       seconds in each of which the path must be slow
    factor         slow is more than this, in the path's own usual round trip
    least_answers  seconds with an answer among them
    healthy_share  share of healthy paths that may look so; at the height of bursts more do
    noise_share    a path's noise is at least this share of its usual round trip,
    noise_us       and at least this
    """

    recent_s: int = parameter(
        5, unit="s", source="chosen: make scorecard (time to detection of latency)"
    )
    factor: float = parameter(
        1.5, unit="1", source="chosen: pytest tests/localizer/detectors (spikes)"
    )
    least_answers: int = parameter(
        2, unit="s", source="chosen: pytest tests/localizer/detectors (spikes)"
    )
    healthy_share: float = parameter(
        0.02, unit="1", source="chosen: make scorecard (false incidents of latency)"
    )
    noise_share: float = parameter(
        0.05, unit="1", source="chosen: pytest tests/localizer/detectors (spikes)"
    )
    noise_us: float = parameter(
        0.5, unit="us", source="chosen: pytest tests/localizer/detectors (spikes)"
    )


DEFAULT: Final = SpikeParameters()


def any_slow(
    rtt_us: F32, reference: F32, ceiling: F32, parameters: SpikeParameters = DEFAULT
) -> bool:
    """Whether any of n round trips is so slow that it may be part of a spike.

    rtt_us              (n,) of the newest second [us]
    reference, ceiling  (n,) as of ``spike``
    """
    return bool((rtt_us > _bound(reference, ceiling, parameters)).any())


def _bound(reference: F32, ceiling: F32, parameters: SpikeParameters) -> F32:
    """(P,) round trip [us] above which a path is slow; inf where that is unknown."""
    known = np.isfinite(reference) & np.isfinite(ceiling)
    bound: F32 = np.where(known, np.fmax(parameters.factor * reference, ceiling), np.inf)
    return bound


def spike(
    rtt_us: F32,
    reference: F32,
    ceiling: F32,
    layer: npt.NDArray[np.int8],
    parameters: SpikeParameters = DEFAULT,
) -> LatencyDeviation | None:
    """Paths that are slow in each of the newest seconds; None where hardly any is.

    rtt_us              (S, P) mean round trip in each of the newest seconds [us], 0: no answer
    reference, ceiling  (P,) of ``LatencyBaseline`` [us]; NaN where unknown
    layer               (P,) code of the layer, for the cross-section of healthy shifts
    """
    bound = _bound(reference, ceiling, parameters)
    if not (rtt_us[-1] > bound).any():
        return None
    answers = (rtt_us > 0).sum(axis=0)
    lowest = np.where(rtt_us > 0, rtt_us, np.inf).min(axis=0)
    known = np.isfinite(reference) & np.isfinite(ceiling)
    valid = known & (answers >= parameters.least_answers)
    flagged = valid & (lowest > bound)
    usual = np.where(valid, reference, 1.0).astype(np.float64)
    excess = np.where(valid, rtt_us.sum(axis=0) / np.maximum(answers, 1) - usual, 0.0)
    noise = np.maximum(parameters.noise_share * usual, parameters.noise_us)
    for code in np.unique(layer[valid]):
        here = valid & (layer == code)
        spread = MAD_TO_SIGMA * np.median(np.abs(excess[here] - np.median(excess[here])))
        noise[here] = np.maximum(noise[here], spread)
    lof = np.full(len(valid), np.nan, np.float32)
    return LatencyDeviation(valid, excess, noise, flagged, lof, parameters.healthy_share)
