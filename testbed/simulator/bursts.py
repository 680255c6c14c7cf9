"""Records that sum up several probes of one five-tuple."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from testbed.simulator.counter_rng import F64
from testbed.simulator.records import SUCCESS, TIMEOUT, Burst, Measured

_P99: Final = 2.326  # quantile of the standard normal distribution
_MEDIAN_SPREAD: Final = 1.2533  # of a median of n draws: this times sigma / sqrt(n)


def median_spread(probes: int) -> float:
    """Spread of the median of so many round trips, in that of one."""
    return 1.0 if probes == 1 else _MEDIAN_SPREAD / float(np.sqrt(probes))


def bursts(
    single: Measured,
    keep: F64,
    heard: NDArray[np.bool_],
    several: NDArray[np.bool_],
    probes: int,
    sigma: float,
    rng: np.random.Generator,
) -> Measured:
    """The same N records with ``probes`` probes each.

    single   the first probe of each record, and the median round trip
    keep     (N,) probability that a probe is answered
    heard    (N,) records whose both ends are there; the others are lost as a whole
    several  (N,) records that are bursts; a traceroute is none
    sigma    of ln(round trip) between probes
    """
    sent = np.where(several, probes, 1).astype(np.int32)
    lost = (single.dial == TIMEOUT).astype(np.int32)
    arrived = probes - rng.binomial(probes, np.clip(1.0 - keep, 0.0, 1.0))
    lost = np.where(several, np.where(heard, probes - arrived, probes), lost).astype(np.int32)
    dial = single.dial.copy()
    dial[several & (lost < probes) & (dial == TIMEOUT)] = SUCCESS
    dial[several & (lost == probes)] = TIMEOUT
    answered = np.maximum(sent - lost, 1)
    p50_us = single.latency_us
    p99_us = p50_us * np.exp(_P99 * sigma * (answered > 1))
    mean_us = p50_us * np.exp(sigma**2 / 2 * (answered > 1))
    return Measured(
        dial, np.round(mean_us, 3), single.ping_time,
        Burst(sent, lost, np.round(p50_us, 3), np.round(p99_us, 3)),
    )  # fmt: skip
