"""Ping lists of a controller -> the five-tuple paths that simulated agents probe."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probers.ping_list.document import PingList
from testbed.simulator.counter_rng import uniform
from testbed.simulator.network import I32, Network
from testbed.workload.skeleton import (
    LAST_PHASE_S,
    OVERLAY,
    UNDERLAY,
    Paths,
    ProbeTimes,
    assembled,
)


class Listed(NamedTuple):
    """N five-tuples of ping lists, and how often each is probed.

    layer     (N,) UNDERLAY | OVERLAY
    rnic      (N, 2) rnic indices of source and destination
    endpoint  (N, 2) endpoint indices, -1 in the underlay
    src_port  (N,)
    every_s   time between two probes of each, in whole seconds
    """

    layer: NDArray[np.int8]
    rnic: I32
    endpoint: I32
    src_port: I32
    every_s: int


def listed(network: Network, lists: Iterable[PingList]) -> Listed:
    """The five-tuples of all hosts' lists, at the longest interval of any; raises KeyError for an
    address that is not in the fabric."""
    rnic = {ip: index for index, ip in enumerate(network.rnic_names)}
    ends = [end for box in network.topology.containers for end in box.endpoints]
    endpoint = {end.ip: index for index, end in enumerate(ends)}
    rows: list[tuple[int, ...]] = []
    interval_s = 1.0
    for each in lists:
        interval_s = max(interval_s, each.interval_s or 0.0)
        real_ip = {own.ip: own.real_ip for own in each.endpoints}
        for target in each.targets:
            above = target.layer == "overlay"
            both = (endpoint[target.src_ip], endpoint[target.ip]) if above else (-1, -1)
            pair = rnic[real_ip[target.src_ip]], rnic[target.real_ip]
            layer = OVERLAY if above else UNDERLAY
            rows += [(layer, *pair, *both, port) for port in target.src_ports]
    table = np.array(rows, np.int32).reshape(-1, 6)
    return Listed(
        table[:, 0].astype(np.int8), table[:, 1:3], table[:, 3:5], table[:, 5],
        math.ceil(interval_s),
    )  # fmt: skip


def listed_paths(
    network: Network, given: Listed, *, seed: int, times: ProbeTimes | None = None
) -> Paths:
    """The paths of the five-tuples, each a pair of its own.

    times  of the five-tuples; None = always
    """
    phase = uniform(seed, 2, np.arange(len(given.layer))) * LAST_PHASE_S
    order = np.lexsort((phase, network.rnic_host[given.rnic[:, 0]]))
    return assembled(
        network, given.layer[order], given.rnic[order], given.endpoint[order],
        given.src_port[order], order, np.zeros(len(order), np.int64), phase[order],
        None if times is None else ProbeTimes(*(each[order] for each in times)),
    )  # fmt: skip
