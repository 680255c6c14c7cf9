"""The agents' own state: heartbeats, and seconds without CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.documents.heartbeat import Heartbeat
from testbed.simulator.counter_rng import F64, mix, uniform
from testbed.simulator.fault_effects import FaultEffects
from testbed.simulator.network import Network

#: Share of probes to or from a starved rnic that miss their time-out, and of rnics that starve.
STARVED_LOSS: Final = 0.7
_STARVED_RNICS: Final = 0.75
#: What simulated agents say they run; the page knows by it that clocks are played, not read.
VERSION: Final = "simulated"


class Moment(NamedTuple):
    """A host whose agent gets no CPU in this second, and the rnics (R,) whose probes show it."""

    host: int
    rnics: NDArray[np.bool_]


def starved_moments(
    network: Network, effects: FaultEffects, seed: int, second: int
) -> list[Moment]:
    """The starved agents that get no CPU in this second, each with at least two rnics."""
    out = []
    for host, moments in effects.starved:
        if uniform(seed, 21, host, second)[0] < moments:
            own = np.flatnonzero(network.rnic_host == host)
            order = own[np.argsort(mix(seed, 22, second, own))]
            hit = np.zeros(len(network.rnic_host), np.bool_)
            hit[order[: max(2, round(_STARVED_RNICS * len(own)))]] = True
            out.append(Moment(host, hit))
    return out


class Beats(NamedTuple):
    """Heartbeats of one second of all H hosts: time [ns], CPU steal [1], scheduling delay [us]."""

    time_ns: NDArray[np.int64]
    cpu_steal: F64
    delay_us: F64


def beats(
    network: Network,
    effects: FaultEffects,
    start_ns: int,
    clock_ns: NDArray[np.int64],
    moments: Sequence[Moment],
    seed: int,
    rng: np.random.Generator,
) -> Beats:
    """What each agent would send, in the second that begins at ``start_ns``, if it is alive.

    clock_ns  (H,) clock offsets of healthy hosts; fault effects are added
    """
    hosts = len(network.hosts)
    steal: F64 = rng.random(hosts) * 0.02
    delay_us: F64 = 30.0 + 100.0 * rng.random(hosts) ** 4
    for moment in moments:
        steal[moment.host] = 0.5 + 20.0 * steal[moment.host]
        delay_us[moment.host] = 50_000.0 + 3000.0 * delay_us[moment.host]
    phase = (uniform(seed, 23, np.arange(hosts)) * 0.9e9).astype(np.int64)
    return Beats(start_ns + phase + clock_ns + effects.clock_ns, steal, delay_us)


def heartbeats(network: Network, effects: FaultEffects, made: Beats) -> list[Heartbeat]:
    """One heartbeat of every live agent."""
    return [
        Heartbeat(
            node_sn=name,
            time=int(made.time_ns[host]),
            fabric=network.topology.fabric,
            cpu_steal=round(float(made.cpu_steal[host]), 4),
            scheduling_delay_us=round(float(made.delay_us[host]), 1),
            version=VERSION,
        )
        for host, name in enumerate(network.hosts)
        if not effects.silent[host]
    ]
