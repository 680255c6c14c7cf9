"""The probed pairs, their five-tuples, and the components that these cross.

The traffic skeleton of a job are the same-rail pairs of its hosts at ring distances 1, 2, 4, ...
Each pair is probed in both layers; the underlay is also probed along the ring of rnics inside each
host. Agents rotate through the five-tuples of a pair: one probe per second, pair and layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.simulator.counter_rng import F64, U64, mix, uniform
from testbed.simulator.network import I32, Network, crossings, ecmp

UNDERLAY: Final = 0
OVERLAY: Final = 1
PROBE_PORT: Final = 65300
_EPHEMERAL: Final = 49152
_VXLAN_PORT: Final = 4789
#: Probes of a second start in its first 985 ms; jitter may add up to 10 ms.
LAST_PHASE_S: Final = 0.985
#: Later than any second of a simulation.
NEVER: Final = 2**31 - 1


class ProbeTimes(NamedTuple):
    """Times of N pairs or paths [s]: pinged in [from_s, until_s), answered before dies_s."""

    from_s: I32
    until_s: I32
    dies_s: I32

    def due(self, rows: NDArray[np.int64], second: int) -> NDArray[np.bool_]:
        """(M,) whether each of ``rows`` is pinged in this second."""
        here: NDArray[np.bool_] = (self.from_s[rows] <= second) & (second < self.until_s[rows])
        return here


class Skeleton(NamedTuple):
    """(K, 2) pairs of endpoint indices, and the times of each (None = always pinged)."""

    pairs: I32
    times: ProbeTimes | None = None


@dataclass(frozen=True, eq=False)
class Paths:
    """Five-tuple paths (P), grouped by source host and ordered by phase within it.

    layer                  UNDERLAY | OVERLAY
    src_rnic, dst_rnic     rnic indices; src_endpoint, dst_endpoint: -1 in the underlay
    src_port, dst_port     of the probe itself (inside the tunnel, for overlay)
    pair                   five-tuples of one pair share it
    turn                   of the five-tuple among those of its pair, which are probed in turn
    phase_ns               send time within the second [ns]
    job                    job index of the source, -1 for none
    forward_flow, reply_flow    hash of the outer five-tuple that ECMP sees
    forward, reply         (P, W) components in order: container and vswitch (overlay only, else
                           -1), then rnic, link, switch, ..., rnic, then vswitch and container
    forward_switches, reply_switches   (P, V) switch indices, -1 padded
    times                  when each is pinged and answered; None = always, as in the underlay
    """

    layer: NDArray[np.int8]
    src_rnic: I32
    dst_rnic: I32
    src_endpoint: I32
    dst_endpoint: I32
    src_port: I32
    dst_port: I32
    pair: I32
    turn: I32
    phase_ns: NDArray[np.int64]
    job: I32
    forward_flow: U64
    reply_flow: U64
    forward: I32
    reply: I32
    forward_switches: I32
    reply_switches: I32
    times: ProbeTimes | None = None

    def __len__(self) -> int:
        return len(self.layer)

    def during(self, from_s: int, until_s: int) -> Paths:
        """The paths that are pinged in all of [from_s, until_s); these very paths if all are."""
        if self.times is None:
            return self
        here = (self.times.from_s <= from_s) & (self.times.until_s >= until_s)
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        times = ProbeTimes(*(each[here] for each in columns.pop("times")))
        return Paths(**{name: column[here] for name, column in columns.items()}, times=times)

    def visits(self, component: int) -> NDArray[np.bool_]:
        """(P,) paths that cross the component in either direction."""
        along: NDArray[np.bool_] = (self.forward == component).any(axis=1)
        back: NDArray[np.bool_] = (self.reply == component).any(axis=1)
        return along | back


def ring_offsets(size: int, targets: int) -> list[int]:
    """Distances around a ring of ``size``, nearest powers of two first: 1, -1, 2, -2, 4, ..."""
    steps = [1 << k for k in range(max(size, 1).bit_length()) if 1 << k < size]
    steps += [step for step in range(1, size) if step & (step - 1)]
    seen: list[int] = []
    for step in steps:
        for offset in (step % size, -step % size):
            if offset and offset not in seen:
                seen.append(offset)
        if len(seen) >= targets:
            break
    return seen[:targets]


def overlay_pairs(network: Network, targets: int) -> I32:
    """(K, 2) endpoint indices: same job, same rail, ``targets`` destinations per endpoint."""
    job = network.container_job[network.endpoint_container]
    rail = network.rnic_rail[network.endpoint_rnic]
    parts: list[I32] = []
    for j in range(len(network.jobs)):
        for r in np.unique(rail[job == j]):
            members = np.flatnonzero((job == j) & (rail == r)).astype(np.int32)
            for offset in ring_offsets(len(members), targets):
                parts.append(np.stack([members, np.roll(members, -offset)], axis=1))
    return np.concatenate(parts) if parts else np.empty((0, 2), np.int32)


def underlay_pairs(network: Network, pairs: I32) -> I32:
    """(K, 2) rnic indices: the rnics below the overlay pairs, and the ring inside each host."""
    below = network.endpoint_rnic[pairs]
    below = below[network.rnic_host[below[:, 0]] != network.rnic_host[below[:, 1]]]
    rings = []
    for host in range(len(network.hosts)):
        rnics = np.flatnonzero(network.rnic_host == host).astype(np.int32)
        if len(rnics) > 1:
            rings.append(np.stack([rnics, np.roll(rnics, -1)], axis=1))
    return np.unique(np.concatenate([below, *rings]), axis=0).astype(np.int32)


def paths(
    network: Network,
    *,
    targets: int,
    ports_per_pair: int,
    seed: int,
    hour: int = 0,
    layers: Sequence[str] = ("overlay", "underlay"),
    given: Skeleton | None = None,
) -> Paths:
    """All five-tuple paths of one hour: source ports are drawn anew every hour.

    given  the overlay's pairs, instead of ``targets`` neighbours on each job's ring; the underlay
           below all of them is pinged all the time
    """
    above, times = given or Skeleton(overlay_pairs(network, targets))
    below = underlay_pairs(network, above)
    if times is not None:
        times = _always_below(times, len(below)) if "overlay" in layers else None
    above = above if "overlay" in layers else above[:0]
    below = below if "underlay" in layers else below[:0]
    pair_layer = np.repeat([OVERLAY, UNDERLAY], [len(above), len(below)])
    pair_rnic = np.concatenate([network.endpoint_rnic[above], below])
    pair_end = np.concatenate([above, np.full_like(below, -1)])
    count = len(pair_layer)
    host = network.rnic_host[pair_rnic[:, 0]]
    phase = uniform(seed, 2, np.arange(count)) * LAST_PHASE_S
    order = np.lexsort((phase, host))

    pair = np.repeat(order, ports_per_pair)
    port = np.tile(np.arange(ports_per_pair), count)
    layer = pair_layer[pair].astype(np.int8)
    rnic, end = pair_rnic[pair], pair_end[pair]
    draw = mix(seed, 3, hour, pair) + port.astype(np.uint64) * np.uint64(4099)
    src_port = _EPHEMERAL + (draw % np.uint64(65000 - _EPHEMERAL)).astype(np.int32)
    return assembled(
        network, layer, rnic, end, src_port, pair, (port + pair) % ports_per_pair, phase[pair],
        None if times is None else ProbeTimes(*(each[pair] for each in times)),
    )  # fmt: skip


def assembled(
    network: Network, layer: NDArray[np.int8], rnic: I32, end: I32, src_port: I32,
    pair: NDArray[np.int64], turn: NDArray[np.int64], phase_s: F64, times: ProbeTimes | None,
) -> Paths:  # fmt: skip
    """The components that five-tuples cross; everything in the order of the paths."""
    host = network.rnic_host[rnic[:, 0]]
    dst_port = np.full(len(pair), PROBE_PORT, np.int32)
    forward_flow = _outer(network, layer, rnic[:, 0], rnic[:, 1], end, src_port, dst_port)
    reply_flow = _outer(network, layer, rnic[:, 1], rnic[:, 0], end[:, ::-1], dst_port, src_port)
    forward_switches = ecmp(network, rnic[:, 0], rnic[:, 1], forward_flow)
    reply_switches = ecmp(network, rnic[:, 1], rnic[:, 0], reply_flow)
    box = _container_of(network, end[:, 0])
    return Paths(
        layer=layer,
        src_rnic=rnic[:, 0],
        dst_rnic=rnic[:, 1],
        src_endpoint=end[:, 0],
        dst_endpoint=end[:, 1],
        src_port=src_port,
        dst_port=dst_port,
        pair=pair.astype(np.int32),
        turn=turn.astype(np.int32),
        phase_ns=(phase_s * 1e9).astype(np.int64),
        job=np.where(
            box >= 0,
            np.append(network.container_job, np.int32(-1))[box],
            _job_of_host(network)[host],
        ),
        forward_flow=forward_flow,
        reply_flow=reply_flow,
        forward=_whole(network, rnic[:, 0], rnic[:, 1], end, forward_switches),
        reply=_whole(network, rnic[:, 1], rnic[:, 0], end[:, ::-1], reply_switches),
        forward_switches=forward_switches,
        reply_switches=reply_switches,
        times=times,
    )


def _always_below(times: ProbeTimes, count: int) -> ProbeTimes:
    """The times of the overlay's pairs, then of ``count`` pairs that are always pinged."""
    more = [np.full(count, end, np.int32) for end in (0, NEVER, NEVER)]
    return ProbeTimes(*(np.append(each, new) for each, new in zip(times, more, strict=True)))


def _outer(
    network: Network, layer: NDArray[np.int8], src: I32, dst: I32, end: I32, sport: I32, dport: I32
) -> U64:
    """Five-tuple hash as the fabric sees it: VXLAN hides ports, its source port is a hash of
    the inner five-tuple."""
    inner = mix(end[:, 0], end[:, 1], sport, dport)
    vxlan = _EPHEMERAL + (inner % np.uint64(1 << 14)).astype(np.int64)
    tunnelled = layer == OVERLAY
    return mix(
        network.rnic_address[src],
        network.rnic_address[dst],
        np.where(tunnelled, vxlan, sport),
        np.where(tunnelled, _VXLAN_PORT, dport),
    )


def _whole(network: Network, src: I32, dst: I32, end: I32, switches: I32) -> I32:
    """(P, W) components; vswitch and container stand outside the rnics, -1 in the underlay."""
    middle = crossings(network, src, dst, switches)
    out = np.full((len(middle), middle.shape[1] + 4), -1, np.int32)
    out[:, 2:-2] = middle
    for side, rnic, box_at, vswitch_at in ((0, src, 0, 1), (1, dst, -1, -2)):
        box = _container_of(network, end[:, side])
        tunnelled = box >= 0
        out[:, box_at] = np.where(tunnelled, network.container_component + box, -1)
        vswitch = network.vswitch_component + network.rnic_host[rnic]
        out[:, vswitch_at] = np.where(tunnelled, vswitch, -1)
    return out


def _container_of(network: Network, end: I32) -> I32:
    """Container index of endpoints, -1 for no endpoint."""
    return np.append(network.endpoint_container, np.int32(-1))[end]


def _job_of_host(network: Network) -> I32:
    """(H,) a job that runs on the host, -1 for none."""
    out = np.full(len(network.hosts), -1, np.int32)
    out[network.container_host] = network.container_job
    return out
