"""A network in good health: never silent, never quite still.

Round trips are log-normal around a median that grows with the switches crossed and differs a
little from five-tuple to five-tuple; they drift with the time of day and swell together when a
job's training iteration fills the fabric. Every link loses a few packets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from testbed.mixing import F64, mix, uniform
from testbed.network import Network
from testbed.skeleton import OVERLAY, Paths

_HOST_US: Final = 9.0  # both rnics and both hosts, round trip
_SWITCH_US: Final = 0.9  # one crossing of a switch
_VSWITCH_US: Final = 2.0  # tunnel in and out, round trip
_DAY_S: Final = 86400.0


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How restless the healthy network is.

    rtt_sigma         of ln(round trip) between probes of a path [1]
    path_sigma        of ln(median) between five-tuples of equal hop count [1]
    diurnal           amplitude of the daily drift, share of the median
    burst_period_s    training iteration; each job has its own period within 10 % and phase
    burst_length_s    shortest and longest congestion burst [s]
    burst_excess      smallest and largest excess at a burst's height, share of the median
    burst_paths       share of a job's five-tuples that a burst reaches
    link_loss         background loss of a link in each direction, log-uniform [1]
    clock_sigma_ms    of hosts' clock offsets [ms]
    """

    rtt_sigma: float = 0.06
    path_sigma: float = 0.05
    diurnal: float = 0.05
    burst_period_s: float = 30.0
    burst_length_s: tuple[float, float] = (2.0, 6.0)
    burst_excess: tuple[float, float] = (0.2, 1.0)
    burst_paths: float = 0.6
    link_loss: tuple[float, float] = (1e-7, 5e-4)
    clock_sigma_ms: float = 0.5

    def __post_init__(self) -> None:
        for name in ("burst_length_s", "burst_excess", "link_loss"):
            low, high = getattr(self, name)
            if not 0 <= low <= high:
                raise ValueError(f"noise: {name} is [{low}, {high}]; give 0 <= low <= high")
        if self.link_loss[1] > 0.5 or (self.link_loss[0] == 0 < self.link_loss[1]):
            raise ValueError("noise: link_loss is log-uniform; give 0 < low <= high <= 0.5")
        if self.burst_period_s <= 0:
            raise ValueError(f"noise: burst_period_s is {self.burst_period_s}; give more than 0")


@dataclass(frozen=True, eq=False)
class Baseline:
    """What is constant about healthy five-tuple paths (P) and hosts (H).

    log_median_us  (P,) ln of the median round trip outside bursts
    log_keep       (P,) ln of the probability that probe and reply both arrive
    reach          (P,) how much of its job's bursts a path feels, 0..1
    job            (P,) job index, -1 for none
    clock_ns       (H,) clock offset of the host
    """

    noise: Noise
    seed: int
    log_median_us: F64
    log_keep: F64
    reach: F64
    job: NDArray[np.int32]
    jobs: int
    clock_ns: NDArray[np.int64]

    def log_median_at(self, rows: NDArray[np.int64], second: int, start_s: float) -> F64:
        """(N,) ln of the median round trip [us] of paths ``rows`` in one second."""
        turn = 2 * np.pi * (start_s + second) / _DAY_S
        drift = np.log1p(self.noise.diurnal * np.sin(turn))
        excess = np.append(job_burst(self.noise, self.seed, self.jobs, second), 0.0)
        out: F64 = self.log_median_us[rows] + drift
        if excess.any():
            out += np.log1p(excess[self.job[rows]] * self.reach[rows])
        return out


def baseline(network: Network, paths: Paths, noise: Noise, seed: int) -> Baseline:
    """Draws every constant by hash of what it belongs to, so five-tuples keep theirs."""
    crossed = (paths.forward_switches >= 0).sum(axis=1) + (paths.reply_switches >= 0).sum(axis=1)
    median = _HOST_US + _SWITCH_US * crossed + _VSWITCH_US * (paths.layer == OVERLAY)
    identity = mix(paths.layer, paths.forward_flow)
    reached = uniform(seed, 5, identity) < noise.burst_paths
    loss = np.log1p(-link_loss(network, noise, seed))
    clock = np.random.default_rng([seed, 8]).standard_normal(len(network.hosts))
    return Baseline(
        noise=noise,
        seed=seed,
        log_median_us=np.log(median) + noise.path_sigma * _normal(seed, 4, identity),
        log_keep=loss[paths.forward].sum(axis=1) + loss[paths.reply].sum(axis=1),
        reach=np.where(reached, 0.3 + 0.7 * uniform(seed, 6, identity), 0.0),
        job=paths.job,
        jobs=len(network.jobs),
        clock_ns=(clock * noise.clock_sigma_ms * 1e6).astype(np.int64),
    )


def link_loss(network: Network, noise: Noise, seed: int) -> F64:
    """(K + 1,) background loss per crossing of each component; the last, for padding, is 0."""
    low, high = noise.link_loss
    out = np.zeros(len(network.components) + 1)
    if high > 0:
        links = np.array(
            [i for i, name in enumerate(network.components) if name.startswith("link:")], np.int64
        )
        out[links] = low * (high / low) ** uniform(seed, 7, links)
    return out


def job_burst(noise: Noise, seed: int, jobs: int, second: int) -> F64:
    """(J,) excess at the height of the jobs' congestion in this second, share of the median."""
    job = np.arange(jobs)
    period = noise.burst_period_s * (0.9 + 0.2 * uniform(seed, 9, job))
    at = (second + 0.5) / period + uniform(seed, 10, job)
    cycle = np.floor(at).astype(np.int64)
    into_s = (at - cycle) * period
    shortest, longest = noise.burst_length_s
    length = shortest + (longest - shortest) * uniform(seed, 11, job, cycle)
    low, high = noise.burst_excess
    height = low + (high - low) * uniform(seed, 12, job, cycle)
    return np.where(into_s < length, height, 0.0)


def _normal(*parts: object) -> F64:
    """Standard normal draws by hash (Box-Muller)."""
    first = uniform(*parts, 1)  # type: ignore[arg-type]  # integers and arrays of them
    second = uniform(*parts, 2)  # type: ignore[arg-type]  # integers and arrays of them
    out: F64 = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
    return out
