"""Simulates the probes of a training cluster, second by second, from a seed.

``Simulation.second(i)`` is a pure function of the simulation and i: seconds can be generated in any
order or in parallel, and the same seed gives the same bytes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.documents.heartbeat import Heartbeat
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology
from testbed.faults.kinds import Fault, check, truth
from testbed.scoring.truth import Truth
from testbed.simulator.agents import STARVED_LOSS, Moment, beats, heartbeats, starved_moments
from testbed.simulator.baseline import Baseline, Noise, queue_level
from testbed.simulator.bursts import bursts, median_spread
from testbed.simulator.fault_effects import FaultEffects
from testbed.simulator.network import Network
from testbed.simulator.network import build as build_network
from testbed.simulator.records import REFUSED, SUCCESS, TIMEOUT, Measured
from testbed.workload.jobs import Schedule, static_schedule
from testbed.workload.listed import Listed, listed_paths
from testbed.workload.port_epoch import EPOCH_S, PortEpoch, build_epoch
from testbed.workload.probe_schedule import Shape, lived
from testbed.workload.probe_schedule import skeleton as pinged
from testbed.workload.skeleton import Paths, paths

SECOND_NS: Final = 1_000_000_000
_JITTER_NS: Final = 10_000_000


@dataclass(frozen=True, eq=False)
class Second:
    """The records and heartbeats of all agents for one second.

    index       seconds since the simulation began; start_ns: the same since the epoch
    pings       records by source host, string columns dictionary-encoded (``records.plain``
                undoes that); columns named in schemas/documents/ping.py, and sent, lost, timestamp
    heartbeats  of the live agents
    """

    index: int
    start_ns: int
    pings: pa.RecordBatch
    heartbeats: list[Heartbeat]


class Simulation:
    """A fabric, its jobs' probes, and faults.

    topology          any fabric whose rnics have access switches; jobs of its containers probe
    faults            checked against the fabric (FaultError, NetworkError)
    start_ns          event time of second 0 [ns since the epoch]
    targets           same-rail destinations of an endpoint within its job
    ports_per_pair    five-tuples of a pair, probed in turn
    every_s           time between two probes of a pair in each layer [s]; of several, each host has
                      one of its own
    burst             probes of a record
    layers            that are probed; traced: share of five-tuples whose routes are traced
    replies_traced    whether the routes of replies are traced, too
    beating           whether hosts send heartbeats
    schedule          the jobs' containers, which must be the topology's, and when they come and go;
                      None = the topology's containers, there all the time
    skeleton          "ring": ``targets`` destinations on the job's ring; "layout": those that the
                      job's layout makes it talk to, however many
    """

    def __init__(
        self,
        topology: Topology,
        faults: Sequence[Fault] = (),
        *,
        seed: int,
        start_ns: int,
        targets: int = 8,
        ports_per_pair: int = 2,
        every_s: Sequence[int] = (1,),
        burst: int = 1,
        layers: Sequence[str] = ("overlay", "underlay"),
        traced: float = 1.0,
        replies_traced: bool = True,
        beating: bool = True,
        noise: Noise | None = None,
        schedule: Schedule | None = None,
        skeleton: Shape = "ring",
    ) -> None:
        if targets < 1 or ports_per_pair < 1 or burst < 1:
            raise ValueError("targets, ports_per_pair and burst are counts of at least 1")
        if not every_s or min(every_s) < 1:
            raise ValueError("probing: every_s is in whole seconds, at least 1")
        if not layers or not 0 <= traced <= 1:
            raise ValueError("probing: give at least one layer, and traced as a share 0..1")
        self.topology = topology
        self.network: Network = build_network(topology)
        self.seed = seed
        self.start_ns = start_ns
        self.targets = targets
        self.ports_per_pair = ports_per_pair
        self.every_s = tuple(every_s)
        self.burst = burst
        self.layers = tuple(layers)
        self.traced = traced
        self.replies_traced = replies_traced
        self.beating = beating
        self.noise = noise or Noise()
        self.schedule = schedule or static_schedule(topology)
        if tuple(topology.containers) != self.schedule.containers:
            raise ValueError("the schedule's containers are not the topology's; deal them together")
        self._placements: dict[int, list[Placement]] | None = None
        self._skeleton = None
        if schedule is not None or skeleton != "ring":
            self._skeleton = pinged(
                self.network, self.schedule, shape=skeleton, targets=targets, seed=seed
            )
        self._listed: Listed | None = None
        self._epochs: dict[int, PortEpoch] = {}
        for fault in faults:
            check(fault, self.network)
        self.faults: tuple[Fault, ...] = tuple(faults)

    def with_faults(self, faults: Sequence[Fault]) -> Simulation:
        """The same simulation with other faults; shares everything that does not depend on them."""
        for fault in faults:
            check(fault, self.network)
        other = copy.copy(self)
        other.faults = tuple(faults)
        return other

    def probing(self, listed: Listed) -> Simulation:
        """The same simulation with agents that probe the five-tuples of ping lists, instead of
        what ``targets``, ``ports_per_pair``, ``every_s``, ``layers`` and ``skeleton`` say."""
        other = copy.copy(self)
        other._listed, other._epochs = listed, {}  # noqa: SLF001  # a copy of this very object
        return other

    @property
    def baseline(self) -> Baseline:
        """The healthy network of the first hour."""
        return self.epoch(0).baseline

    @property
    def paths(self) -> Paths:
        """Five-tuple paths of the first hour."""
        return self.epoch(0).paths

    def truths(self, duration_s: int | None = None) -> list[Truth]:
        """The lines of truth.json for the faults that start before ``duration_s``."""
        fabric = self.topology.fabric
        return [
            truth(fault, fabric, self.start_ns, duration_s)
            for fault in self.faults
            if duration_s is None or fault.start_s < duration_s
        ]

    def placements(self, second: int | None = None) -> list[Placement]:
        """The controller's placement documents of one second, or all of them, in order of time.
        Containers that run from the beginning are ready in second 0."""
        if self._placements is None:
            self._placements = {}
            for at, document in self.schedule.placements(self.topology.fabric, self.start_ns):
                self._placements.setdefault(at, []).append(document)
        if second is not None:
            return list(self._placements.get(second, ()))
        return [document for part in self._placements.values() for document in part]

    def seconds(self, duration_s: int) -> Iterator[Second]:
        """Seconds 0 .. duration_s - 1 in order."""
        return map(self.second, range(duration_s))

    def second(self, index: int) -> Second:
        """All records that are published, and all heartbeats that are sent, in one second."""
        epoch = self.epoch(index // EPOCH_S)
        effects = epoch.effects(self.network, self.faults, index)
        start_ns = self.start_ns + index * SECOND_NS
        rng = self.rng(20, index)
        moments = starved_moments(self.network, effects, self.seed, index)
        late = epoch.baseline.late
        pings = self._records(epoch, index, rng, ~late if late.any() else None)
        if late.any() and index >= self.noise.late_s:
            before = index - self.noise.late_s
            old = self._records(epoch, before, self.rng(27, before), late)
            pings = pa.concat_batches([pings, old])
        made = beats(
            self.network, effects, start_ns, epoch.baseline.clock_ns, moments, self.seed, rng
        )
        sent = heartbeats(self.network, effects, made) if self.beating else []
        return Second(index, start_ns, pings, sent)

    def _records(
        self,
        epoch: PortEpoch,
        index: int,
        rng: np.random.Generator,
        hosts: NDArray[np.bool_] | None,
    ) -> pa.RecordBatch:
        """The records of a second from ``hosts`` (H,), of all hosts when None."""
        effects = epoch.effects(self.network, self.faults, index)
        rows = epoch.due(effects, index)
        if not self.replies_traced:
            rows = rows[rows < epoch.templates.replies_from]
        if hosts is not None:
            rows = rows[hosts[epoch.templates.host[rows]]]
        moments = starved_moments(self.network, effects, self.seed, index)
        measured = self._measure(epoch, effects, rows, index, moments, rng)
        return epoch.templates.batch(rows, measured, self.start_ns + index * SECOND_NS)

    def rng(self, purpose: int, index: int) -> np.random.Generator:
        """The random numbers of one purpose in one second."""
        return np.random.Generator(
            np.random.SFC64(np.random.SeedSequence([self.seed, purpose, index]))
        )

    def _measure(
        self,
        epoch: PortEpoch,
        effects: FaultEffects,
        rows: NDArray[np.int64],
        index: int,
        moments: list[Moment],
        rng: np.random.Generator,
    ) -> Measured:
        count = len(rows)
        path = epoch.templates.path[rows]
        log_rtt = epoch.baseline.log_median_at(path, index, self.start_ns / SECOND_NS)
        sigma = self.noise.rtt_sigma * median_spread(self.burst)
        log_rtt += sigma * rng.standard_normal(count, np.float32)
        keep = effects.keep[path]
        trace = epoch.templates.trace[rows]
        if trace.any():  # three probes a hop: one answer is enough
            keep = np.where(trace, 1 - (1 - keep) ** 3, keep)
        passed = epoch.baseline.burst_keep_at(path, index)
        arrived = rng.random(count) < (keep if passed is None else keep * passed)
        heard = np.ones(count, np.bool_)  # by an end that is there and has CPU
        for moment in moments:
            slow = (
                moment.rnics[epoch.paths.src_rnic[path]] | moment.rnics[epoch.paths.dst_rnic[path]]
            )
            heard &= ~(slow & (rng.random(count, np.float32) < STARVED_LOSS))
        times = epoch.paths.times
        if times is not None:
            heard &= index < times.dies_s[path]
        arrived &= heard
        dial = np.where(arrived, SUCCESS, TIMEOUT).astype(np.int8)
        if effects.refused.any():
            dial[arrived & effects.refused[path] & ~trace] = REFUSED
        host = epoch.templates.host[rows]
        clock = epoch.baseline.clock_ns + effects.clock_ns
        sent_at = self.start_ns + index * SECOND_NS + epoch.paths.phase_ns[path] + clock[host]
        sent_at += (rng.random(count, np.float32) * _JITTER_NS).astype(np.int64)
        queues = 0.0
        if effects.queue_us is not None:
            queues = queue_level(self.noise, self.seed, epoch.baseline.jobs, index)
        rtt_us = effects.slowed(np.exp(log_rtt), path, index, queues)
        found = Measured(dial, np.round(rtt_us, 3), sent_at)
        if self.burst == 1:
            return found
        passing = keep if passed is None else keep * passed
        return bursts(found, passing, heard, ~trace, self.burst, self.noise.rtt_sigma, rng)

    def epoch(self, hour: int) -> PortEpoch:
        """The paths, records and schedule of an hour."""
        if hour not in self._epochs:
            for old in [key for key in self._epochs if key != 0]:
                del self._epochs[old]
            self._epochs[hour] = self._build(hour)
        return self._epochs[hour]

    def _build(self, hour: int) -> PortEpoch:
        if self._listed is not None:
            times = lived(self.network, self.schedule, self._listed.endpoint)
            return build_epoch(
                self.network,
                listed_paths(self.network, self._listed, seed=self.seed, times=times),
                self.noise, self.seed,
                ports_per_pair=1, every_s=(self._listed.every_s,), traced=self.traced,
            )  # fmt: skip
        drawn = paths(
            self.network,
            targets=self.targets,
            ports_per_pair=self.ports_per_pair,
            seed=self.seed,
            hour=hour,
            layers=self.layers,
            given=self._skeleton,
        )
        return build_epoch(
            self.network, drawn, self.noise, self.seed,
            ports_per_pair=self.ports_per_pair, every_s=self.every_s, traced=self.traced,
        )  # fmt: skip
