"""Throughput of the rnics of training jobs, second by second.

All iterations of a job are alike: pipeline stages exchange activations and gradients while they
compute, expert groups shuffle tokens, and then each stage reduces its gradients over its
data-parallel replicas in one burst at nearly line rate. Each stage is a little later than the one
before it. Tensor-parallel traffic stays on NVLink and is not part of the figures. Bursts begin with
the congestion bursts of ``baseline``. The rates are chosen round numbers: only their order of
magnitude and their period matter.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.documents import throughput
from testbed.simulator.baseline import iterations
from testbed.simulator.counter_rng import F64, name_hash, uniform
from testbed.simulator.network import I32
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.workload.jobs import Phase, Schedule
from testbed.workload.layouts import ranks
from testbed.workload.skeleton import NEVER

LINE_RATE: Final = 25e9  # 200 Gb/s, in bytes/s
_DP_SHARE: Final = 0.7  # of the line rate, in the burst
_PP_SHARE: Final = 0.06  # of the line rate and per neighbouring stage, while computing
_EP_SHARE: Final = 0.12
_EDGE_STAGE: Final = 1.3  # the first and last stage also hold the embeddings
_TP_SKEW: Final = 0.05  # shards of tensor-parallel ranks differ by up to so much
_STAGE_SHIFT: Final = 0.04  # of an iteration, from stage to stage
_REPLICA_JITTER_S: Final = 0.05
_SPREAD: Final = 0.03  # sigma of ln(bytes) between alike seconds
_CHATTER: Final = 2e6  # storage, control, probes [bytes/s]


class _Traffic(NamedTuple):
    """Rnics (N,) of a phase and what they do in each iteration of ``period_s``.

    start_s    (N,) when an iteration's burst begins, relative to iteration 0 [s]
    burst      (N,) rate within the burst of ``burst_s``, each way [bytes/s]
    computing  (N,) rate for ``compute_s`` after the burst, each way [bytes/s]
    """

    rnic: I32
    begin_s: int
    end_s: int
    period_s: float
    burst_s: float
    compute_s: float
    start_s: F64
    burst: F64
    computing: F64


class Throughput:
    """Throughput of every rnic of a simulation; any second, in any order.

    schedule  instead of the simulation's: jobs with another layout
    start_ns  of second 0, instead of the simulation's: jobs that have run before it began
    """

    def __init__(
        self,
        simulation: Simulation,
        schedule: Schedule | None = None,
        start_ns: int | None = None,
    ) -> None:
        self._simulation = simulation
        self._start_ns = simulation.start_ns if start_ns is None else start_ns
        network = simulation.network
        phases = (schedule or simulation.schedule).phases
        self._phases = [_traffic(simulation, phase) for phase in phases]
        fabric = np.zeros(len(network.rnic_host), np.int8)
        self._names = {
            "fabric": (fabric, pa.array([network.topology.fabric])),
            "node_sn": (network.rnic_host, pa.array(network.hosts)),
            "real_ip": (np.arange(len(fabric), dtype=np.int32), pa.array(network.rnic_names)),
        }

    def second(self, index: int) -> pa.RecordBatch:
        """One row per rnic, columns of ``documents.throughput``; names dictionary-encoded."""
        tx, rx = self.rates(index)
        start_ns = self._start_ns + index * SECOND_NS
        columns = {
            name: pa.DictionaryArray.from_arrays(pa.array(codes), values)
            for name, (codes, values) in self._names.items()
        }
        columns |= {
            "time": pa.array(np.full(len(tx), start_ns, np.int64)),
            "tx_bytes": pa.array(tx),
            "rx_bytes": pa.array(rx),
        }
        return pa.RecordBatch.from_pydict({c.name: columns[c.name] for c in throughput.COLUMNS})

    def rates(self, index: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(R,) bytes sent and (R,) received by each rnic in one second."""
        count = len(self._simulation.network.rnic_host)
        rng = np.random.default_rng([self._simulation.seed, 62, index])
        out = np.zeros((2, count))
        for phase in self._phases:
            if phase.begin_s <= index < phase.end_s:
                carried = phase.burst * _overlap(index, phase, 0.0, phase.burst_s)
                carried += phase.computing * _overlap(index, phase, phase.burst_s, phase.compute_s)
                out[:, phase.rnic] += carried
        out *= np.exp(_SPREAD * rng.standard_normal(out.shape))
        out += rng.exponential(_CHATTER, out.shape)
        tx, rx = np.minimum(out, LINE_RATE).astype(np.int64)
        return tx, rx


def _overlap(second: int, phase: _Traffic, after_s: float, lasts_s: float) -> F64:
    """(N,) seconds that [second, second + 1) shares with windows of ``lasts_s`` that begin
    ``after_s`` after each iteration's start."""

    def until(time_s: int) -> F64:
        since = time_s - phase.start_s - after_s
        whole = np.floor(since / phase.period_s)
        out: F64 = whole * lasts_s + np.minimum(since - whole * phase.period_s, lasts_s)
        return out

    return until(second + 1) - until(second)


def _traffic(simulation: Simulation, phase: Phase) -> _Traffic:
    """The phase's rnics; a job trains only while all of its containers run."""
    network, lives = simulation.network, simulation.schedule.lives
    layout = phase.layout
    job = network.jobs.index(phase.job)
    period, offset = (
        float(each[job]) for each in iterations(simulation.noise, simulation.seed, job + 1)
    )
    seed = (simulation.seed, 63, name_hash(phase.job))
    rnic = _rnics(simulation, phase)
    place = ranks(layout)
    burst_s = min(float(np.mean(simulation.noise.burst_length_s)), period / 4)
    shift = min(_STAGE_SHIFT, 0.4 / layout.pp) * period
    replica = uniform(*seed, place.dp.ravel()) - 0.5
    shard = 1 + _TP_SKEW * (2 * uniform(*seed, place.pp.ravel(), place.tp.ravel()) - 1)
    stage = place.pp.ravel()
    edge = (stage == 0) | (stage == layout.pp - 1)
    burst = _DP_SHARE * np.where(edge & (layout.pp > 1), _EDGE_STAGE, 1.0) * shard
    expert = _EP_SHARE if layout.ep * layout.tp > layout.rails else 0.0
    neighbours = 1.0 * (stage < layout.pp - 1) + (stage > 0)
    computing = (_PP_SHARE * neighbours + expert) * shard * LINE_RATE
    begin = max([phase.from_s, *(lives[index].ready_s for index in phase.members)])
    ends = (min(lives[index].draining_s, lives[index].dies_s) for index in phase.members)
    return _Traffic(
        rnic=rnic.ravel(),
        begin_s=begin,
        end_s=min([phase.until_s, NEVER, *ends]),
        period_s=period,
        burst_s=burst_s,
        compute_s=period - burst_s - 0.1 * period,
        start_s=-offset * period + stage * shift + _REPLICA_JITTER_S * replica,
        burst=burst * LINE_RATE * (layout.stage_hosts > 1),
        computing=computing,
    )


def _rnics(simulation: Simulation, phase: Phase) -> I32:
    """(H, rails) rnic indices of the phase's hosts, in the order of their rails."""
    network = simulation.network
    rows = []
    for index in phase.members:
        own = network.endpoint_rnic[network.endpoint_container == index]
        rows.append(own[np.argsort(network.rnic_rail[own], kind="stable")][: phase.layout.rails])
    return np.array(rows, np.int32)
