"""The healthy network: round trips, congestion bursts, background loss, clock offsets.

Round trips are log-normal around a median that grows with the number of switches and differs
slightly between five-tuples. They drift with the time of day, and grow together when a training
iteration of a job congests the fabric. Every link loses a few packets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from testbed.simulator.counter_rng import F64, mix, uniform
from testbed.simulator.network import Network
from testbed.workload.skeleton import OVERLAY, Paths

_HOST_US: Final = 9.0  # both rnics and both hosts, round trip
_SWITCH_US: Final = 0.9  # one crossing of a switch
_VSWITCH_US: Final = 2.0  # tunnel in and out, round trip
_DAY_S: Final = 86400.0
_DRAINING: Final = 0.8
_DRAINED_S: Final = 10
_CHUNK: Final = 1 << 16


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the healthy network.

    rtt_sigma         of ln(round trip) between probes of a path [1]
    path_sigma        of ln(median) between five-tuples of equal hop count [1]
    diurnal           amplitude of the daily drift, share of the median
    burst_period_s    training iteration; each job has its own period within 10 % and phase
    burst_length_s    shortest and longest congestion burst [s]
    burst_excess      smallest and largest excess at a burst's height, share of the median
    burst_paths       share of a job's five-tuples that a burst reaches
    burst_loss        packets lost per packet and unit of a burst's excess on the path [1]
    link_loss         background loss of a link, drawn for each direction: log-uniform, or uniform
                      from 0 [1]
    clock_sigma_ms    of hosts' clock offsets [ms]
    late_agents       share of hosts whose records come ``late_s`` seconds late
    """

    rtt_sigma: float = 0.06
    path_sigma: float = 0.05
    diurnal: float = 0.05
    burst_period_s: float = 30.0
    burst_length_s: tuple[float, float] = (2.0, 6.0)
    burst_excess: tuple[float, float] = (0.2, 1.0)
    burst_paths: float = 0.6
    burst_loss: float = 0.0
    link_loss: tuple[float, float] = (1e-7, 5e-4)
    clock_sigma_ms: float = 0.5
    late_agents: float = 0.0
    late_s: int = 5

    def __post_init__(self) -> None:
        for name in ("burst_length_s", "burst_excess", "link_loss"):
            low, high = getattr(self, name)
            if not 0 <= low <= high:
                raise ValueError(f"noise: {name} is [{low}, {high}]; give 0 <= low <= high")
        if self.link_loss[1] > 0.5 or not 0 <= self.burst_loss <= 0.5:
            raise ValueError("noise: link_loss and burst_loss are shares; give at most 0.5")
        if not 0 <= self.late_agents < 0.5 or self.late_s < 1:
            raise ValueError("noise: give late_agents as a share below 0.5, late_s at least 1")
        if self.burst_period_s <= 0:
            raise ValueError(f"noise: burst_period_s is {self.burst_period_s}; give more than 0")


@dataclass(frozen=True, eq=False)
class Baseline:
    """The constants of healthy five-tuple paths (P) and hosts (H).

    log_median_us  (P,) ln of the median round trip outside bursts
    log_keep       (P,) ln of the probability that probe and reply both arrive
    reach          (P,) share of its job's bursts that a path experiences, 0..1
    job            (P,) job index, -1 for none
    clock_ns       (H,) clock offset of the host
    late           (H,) hosts whose records arrive late
    """

    noise: Noise
    seed: int
    log_median_us: F64
    log_keep: F64
    reach: F64
    job: NDArray[np.int32]
    jobs: int
    clock_ns: NDArray[np.int64]
    late: NDArray[np.bool_]

    def log_median_at(self, rows: NDArray[np.int64], second: int, start_s: float) -> F64:
        """(N,) ln of the median round trip [us] of paths ``rows`` in one second."""
        turn = 2 * np.pi * (start_s + second) / _DAY_S
        drift = np.log1p(self.noise.diurnal * np.sin(turn))
        out: F64 = self.log_median_us[rows] + drift
        excess = self._excess(rows, second)
        if excess is not None:
            out += np.log1p(excess)
        return out

    def burst_keep_at(self, rows: NDArray[np.int64], second: int) -> F64 | None:
        """(N,) share of packets that full queues forward; None where no packet is dropped."""
        excess = self._excess(rows, second) if self.noise.burst_loss else None
        return None if excess is None else np.exp(-self.noise.burst_loss * excess)

    def _excess(self, rows: NDArray[np.int64], second: int) -> F64 | None:
        """(N,) congestion of each path, as a share of the median; None while no job bursts."""
        excess = np.append(job_burst(self.noise, self.seed, self.jobs, second), 0.0)
        return excess[self.job[rows]] * self.reach[rows] if excess.any() else None


def baseline(network: Network, paths: Paths, noise: Noise, seed: int) -> Baseline:
    """Draw every constant by a hash of its path or host, independently of all others."""
    crossed = (paths.forward_switches >= 0).sum(axis=1) + (paths.reply_switches >= 0).sum(axis=1)
    median = _HOST_US + _SWITCH_US * crossed + _VSWITCH_US * (paths.layer == OVERLAY)
    identity = mix(paths.layer, paths.forward_flow)
    reached = uniform(seed, 5, identity) < noise.burst_paths
    clock = np.random.default_rng([seed, 8]).standard_normal(len(network.hosts))
    return Baseline(
        noise=noise,
        seed=seed,
        log_median_us=np.log(median) + noise.path_sigma * _normal(seed, 4, identity),
        log_keep=_log_keep(paths, np.log1p(-link_loss(network, noise, seed))),
        reach=np.where(reached, 0.3 + 0.7 * uniform(seed, 6, identity), 0.0),
        job=paths.job,
        jobs=len(network.jobs),
        clock_ns=(clock * noise.clock_sigma_ms * 1e6).astype(np.int64),
        late=uniform(seed, 13, np.arange(len(network.hosts))) < noise.late_agents,
    )


def link_loss(network: Network, noise: Noise, seed: int) -> F64:
    """(2, K + 1) background loss per crossing of each component, on the way to the neighbour with
    the higher index and to the lower one; the last column, for padding, is 0."""
    low, high = noise.link_loss
    out = np.zeros((2, len(network.components) + 1))
    links = np.array(
        [i for i, name in enumerate(network.components) if name.startswith("link:")], np.int64
    )
    for way, draw in enumerate((uniform(seed, 7, links), uniform(seed, 7, links, 1))):
        out[way, links] = low * (high / low) ** draw if low > 0 else high * draw
    return out


def _log_keep(paths: Paths, log_keep: F64) -> F64:
    """(P,) ln of the healthy arrival probability; log_keep (2, K + 1) as in link_loss."""
    out = np.zeros(len(paths))
    for start in range(0, len(paths), _CHUNK):
        some = slice(start, start + _CHUNK)
        for route in (paths.forward[some], paths.reply[some]):
            before, here, after = route[:, :-2], route[:, 1:-1], route[:, 2:]
            down = (before < 0) | (before > after)  # only a link towards an rnic follows a gap
            out[some] += log_keep[down.astype(np.int64), here].sum(axis=1)
    return out


def iterations(noise: Noise, seed: int, jobs: int) -> tuple[F64, F64]:
    """(J,) length of each job's training iteration [s], (J,) its phase at second 0, 0..1."""
    job = np.arange(jobs)
    period: F64 = noise.burst_period_s * (0.9 + 0.2 * uniform(seed, 9, job))
    return period, uniform(seed, 10, job)


def job_burst(noise: Noise, seed: int, jobs: int, second: int) -> F64:
    """(J,) excess of each job's congestion burst in this second, as a share of the median."""
    job = np.arange(jobs)
    period, offset = iterations(noise, seed, jobs)
    at = (second + 0.5) / period + offset
    cycle = np.floor(at).astype(np.int64)
    into_s = (at - cycle) * period
    shortest, longest = noise.burst_length_s
    length = shortest + (longest - shortest) * uniform(seed, 11, job, cycle)
    low, high = noise.burst_excess
    height = low + (high - low) * uniform(seed, 12, job, cycle)
    return np.where(into_s < length, height, 0.0)


def queue_level(noise: Noise, seed: int, jobs: int, second: int) -> float:
    """Queue level of a switch without congestion control, 0..1: the burst of any job fills the
    queues, and they drain by a fifth each second."""
    levels = [
        _DRAINING**ago for ago in range(_DRAINED_S)
        if jobs and job_burst(noise, seed, jobs, second - ago).any()
    ]  # fmt: skip
    return max(levels, default=0.0)


def _normal(*parts: object) -> F64:
    """Standard normal draws by hash (Box-Muller)."""
    first = uniform(*parts, 1)  # type: ignore[arg-type]  # integers and arrays of them
    second = uniform(*parts, 2)  # type: ignore[arg-type]  # integers and arrays of them
    out: F64 = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
    return out
