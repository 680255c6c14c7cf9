"""A port epoch: one hour in which source ports, and so paths, do not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from testbed.faults.kinds import Fault
from testbed.simulator.baseline import Baseline, Noise, baseline
from testbed.simulator.counter_rng import mix, uniform
from testbed.simulator.fault_effects import FaultEffects, effects_of
from testbed.simulator.network import Network
from testbed.simulator.records import Templates, templates
from testbed.workload.cadence import Cadence
from testbed.workload.skeleton import Paths

EPOCH_S: Final = 3600
_TRACE_PERIOD_S: Final = 60


@dataclass(frozen=True, eq=False)
class PortEpoch:
    """The paths, records and schedule of an epoch.

    cadence       templates of pings, by when they are due
    first_traces  templates of the traceroutes of the first seconds, each once
    traces        the same by second of every later minute
    """

    paths: Paths
    baseline: Baseline
    templates: Templates
    cadence: Cadence
    first_traces: list[NDArray[np.int64]]
    traces: list[NDArray[np.int64]]
    _states: dict[tuple[Fault, ...], FaultEffects] = field(default_factory=dict)

    def due(self, effects: FaultEffects, index: int) -> NDArray[np.int64]:
        """(N,) templates that are due in a second: the pings, then traceroutes."""
        into = index % EPOCH_S
        pings = self.cadence.due(index)
        if not effects.probing.all():
            pings = pings[effects.probing[pings]]
        times = self.paths.times
        if times is not None:
            pings = pings[times.due(pings, index)]
        if into < len(self.first_traces):
            traces = self.first_traces[into]
        elif into >= _TRACE_PERIOD_S:
            traces = self.traces[into % _TRACE_PERIOD_S]
        else:
            return pings
        if effects.silent.any():
            traces = traces[~effects.silent[self.templates.host[traces]]]
        return np.concatenate([pings, traces])

    def effects(self, network: Network, faults: Sequence[Fault], index: int) -> FaultEffects:
        """The effects of the faults that are active in a second."""
        active = tuple(fault for fault in faults if fault.active(index))
        if active not in self._states:
            if len(self._states) > 64:
                self._states.clear()
            self._states[active] = effects_of(network, self.paths, self.baseline.log_keep, active)
        return self._states[active]


def build_epoch(
    network: Network, drawn: Paths, noise: Noise, seed: int, *,
    ports_per_pair: int, every_s: tuple[int, ...], traced: float,
) -> PortEpoch:  # fmt: skip
    """Compute the paths' baseline, record templates and schedule of an epoch.

    drawn   five-tuple paths of this hour
    every_s  time between two probes of a pair, of one of its ``ports_per_pair`` five-tuples each
    traced   share of the five-tuples whose routes are traced
    """
    coded = templates(network, drawn)
    traces = np.flatnonzero(coded.trace)
    if traced < 1:
        traces = traces[uniform(seed, 26, coded.path[traces]) < traced]
    slot = mix(seed, 24, traces) % np.uint64(_TRACE_PERIOD_S)
    host = network.rnic_host[drawn.src_rnic]
    return PortEpoch(
        paths=drawn,
        baseline=baseline(network, drawn, noise, seed),
        templates=coded,
        cadence=Cadence(drawn.turn, drawn.pair, host, ports_per_pair, every_s, seed),
        first_traces=[traces[slot % np.uint64(2) == half] for half in (0, 1)],
        traces=[traces[slot == second] for second in range(_TRACE_PERIOD_S)],
    )
