"""Parameters of the ping lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter

#: First source port of every pair: above Linux' range of ephemeral ports (32768..60999), so that no
#: other program has bound it.
FIRST_PORT: Final = 61_100
RESPONDER_PORT: Final = 65_300


@dataclass(frozen=True, slots=True)
class PingListParameters:
    """Sizes of the lists, and the rates that they may cause.

    targets_per_endpoint  peers of an endpoint on its rail in its job, at most
    skeleton_targets      peers of an endpoint in its job's skeleton, at most
    ports_per_pair        source ports, so five-tuples, of such a pair, and of a ring in a host
    tor_targets           peers of an rnic at its own ToR, at most
    tor_peers             other ToRs with which a ToR is paired, at most
    coverage              probability that a link between two paired ToRs carries a five-tuple
    rnic_rate             probes a second from one rnic, in both layers, at most
    agent_rate            probes a second from one host, at most
    shortest_interval_s, longest_interval_s  between two probes of a five-tuple
    remembered            changes of a list that an agent may ask for, instead of the whole list
    """

    targets_per_endpoint: int = parameter(
        16, unit="endpoints", source="chosen: 16 x 8 rnics are 128 probes/s a host"
    )
    skeleton_targets: int = parameter(
        12,
        unit="endpoints",
        source="chosen: python -m evaluation.bench.rounds; endpoints of its layouts talk to 5 to "
        "13 others, and a rail list has 16",
    )
    ports_per_pair: int = parameter(
        4, unit="ports", source="chosen: skeletonhunter coverage (overlay)"
    )
    tor_targets: int = parameter(
        16, unit="rnics", source="chosen: a full mesh up to 17 rnics; R-Pingmesh: 10 probes/s"
    )
    tor_peers: int = parameter(
        4, unit="ToRs", source="chosen: skeletonhunter coverage (source hosts of each link)"
    )
    coverage: float = parameter(0.99, unit="1", source="R-Pingmesh, section 4.2")
    rnic_rate: float = parameter(150.0, unit="probes/s", source="R-Pingmesh: below 150 an rnic")
    agent_rate: float = parameter(
        400.0, unit="probes/s", source="chosen: below the agent's own --max-rate of 500"
    )
    shortest_interval_s: float = parameter(
        0.1, unit="s", source="chosen: the detectors' range of cadence, 0.1 s to 60 s"
    )
    longest_interval_s: float = parameter(
        60.0, unit="s", source="chosen: the detectors' range of cadence, 0.1 s to 60 s"
    )
    remembered: int = parameter(
        1024, unit="changes", source="chosen: some start-ups of a job; then the whole list is sent"
    )


DEFAULT: Final = PingListParameters()
