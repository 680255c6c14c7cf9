"""The smallest loss that coverage promises, tried against the localizer.

``python -m evaluation.bench.smallest_loss --tier tor-agg --factor 1.0 --seeds 12`` breaks one link
a seed by the promised loss times the factor, and prints how many were named in time: 20 s a seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from controller.coverage.crossings import FiveTuple, Probed
from controller.coverage.parameters import DEFAULT
from controller.coverage.power import Naming
from controller.coverage.report import LinkCoverage, report
from evaluation.bench.input import SECOND, START_NS
from localizer.detectors.alarm_budget import AlarmBudget
from localizer.options import Options
from schemas.wire import codecs
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build

_WARM_S: Final = 400  # the healthy loss is learnt
_WITHIN_S: Final = 60
_PORTS: Final = 4
_HEALTHY: Final = 4.5e-4  # what the simulated network loses when nothing is broken


class Outcome(NamedTuple):
    """One seed: the link, the loss, and the seconds until it was named (None: it was not)."""

    link: str
    loss: float
    after_s: int | None


def trial(seed: int, tier: str, factor: float) -> Outcome | None:
    """Break one link of that tier; None where no loss of it can be named."""
    spec = ClosSpec(
        hosts=32, rails=2, hosts_per_segment=8, aggs=4, pods=2, spines=4, hosts_per_job=16
    )
    healthy = Simulation(
        build(spec, seed), seed=seed, start_ns=START_NS, targets=8, ports_per_pair=_PORTS
    )
    links = [each for each in _covered(healthy) if each.tier == tier]
    chosen = links[np.random.default_rng([seed, 7]).integers(len(links))]
    if chosen.smallest_loss is None:
        return None
    loss = min(factor * chosen.smallest_loss, 1.0)
    broken = healthy.with_faults(
        [Fault(kind="link_loss", component=chosen.link, start_s=_WARM_S, magnitude=loss)]
    )
    replay = Replay(topology=broken.topology)
    for second in broken.seconds(_WARM_S + _WITHIN_S + 1):
        batch = codecs.conform(second.pings).batch
        found = replay.feed(batch, second.heartbeats, second.start_ns + SECOND)
        if any(chosen.link in (each.component, *each.tie_set) for each in found.incidents):
            return Outcome(chosen.link, loss, second.index - _WARM_S)
    return Outcome(chosen.link, loss, None)


def _covered(simulation: Simulation) -> list[LinkCoverage]:
    """The coverage of its own probes, with the routes that its agents trace."""
    options, network = Options(), simulation.network
    rule = Naming(
        level=AlarmBudget(options.false_per_week).level(len(network.components), 1.0),
        rest_level=options.verdicts.reachability.significant,
        healthy=_HEALTHY,
        dispersion=DEFAULT.dispersion,
        least_excess=options.detectors.loss.least_excess,
        hosts=options.observers,
        window_s=max(options.verdicts.reachability.windows_s),
    )
    routes = dict(_routes(simulation))
    return report(simulation.topology, _probed(simulation), rule, routes).links


def _probed(simulation: Simulation) -> Iterator[Probed]:
    """Its five-tuples: those of a pair are probed in turn, one a second."""
    network, paths = simulation.network, simulation.paths
    rnic = [r.real_ip for host in simulation.topology.hosts for r in host.rnics]
    for row in range(len(paths)):
        a, b = rnic[paths.src_rnic[row]], rnic[paths.dst_rnic[row]]
        host = network.hosts[network.rnic_host[paths.src_rnic[row]]]
        layer = "overlay" if paths.layer[row] else "underlay"
        ports = (int(paths.src_port[row]),)
        yield Probed(host, a, b, a, b, ports, int(paths.dst_port[row]), layer, float(_PORTS))


def _routes(simulation: Simulation) -> Iterator[tuple[FiveTuple, list[str]]]:
    network, paths = simulation.network, simulation.paths
    rnic = [r.real_ip for host in simulation.topology.hosts for r in host.rnics]
    names = [name.partition(":")[2] for name in network.components[network.switch_component :]]
    for row in np.flatnonzero(paths.layer == 0).tolist():
        a, b = rnic[paths.src_rnic[row]], rnic[paths.dst_rnic[row]]
        ports = int(paths.src_port[row]), int(paths.dst_port[row])
        hops = (paths.forward_switches[row], paths.reply_switches[row])
        for ends, numbers in zip(((a, b, *ports), (b, a, *ports[::-1])), hops, strict=True):
            yield ends, [names[number] for number in numbers.tolist() if number >= 0]


def main() -> None:
    """Seeds 1, 2, ... of one tier and factor."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tier", default="tor-agg", choices=("rnic-tor", "tor-agg", "agg-spine"))
    options.add_argument("--factor", type=float, default=1.0)
    options.add_argument("--seeds", type=int, default=12)
    asked = options.parse_args()
    found = [trial(seed, asked.tier, asked.factor) for seed in range(1, asked.seeds + 1)]
    tried = [each for each in found if each is not None]
    for each in tried:
        print(f"{each.link} loses {each.loss:.2%}: named after {each.after_s} s")
    named = sum(each.after_s is not None for each in tried)
    print(f"{asked.tier} x {asked.factor:g}: {named} of {len(tried)} named in {_WITHIN_S} s")


if __name__ == "__main__":
    main()
