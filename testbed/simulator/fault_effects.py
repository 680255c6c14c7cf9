"""The effects of the active faults on every five-tuple path and host. No randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from schemas.component_ids import kind_of, link_ends
from testbed.faults.kinds import Direction, Fault
from testbed.simulator.counter_rng import F64, U64, name_hash, uniform
from testbed.simulator.network import I32, Network
from testbed.workload.skeleton import OVERLAY, Paths

#: Share of its magnitude that a fault between the rnics of a host adds to round trips that leave
#: the host: they cross the slow PCIe switch once instead of twice, and without contention.
_OUTSIDE: Final = 0.3
_HOUR_S: Final = 3600.0
_AT_CROSSINGS: Final = ("loss", "latency", "queue", "drift", "crash")


@dataclass(frozen=True, eq=False)
class FaultEffects:
    """Effects on P five-tuple paths and H hosts, while the set of active faults does not change.

    keep      (P,) probability that probe and reply both arrive
    added_us  (P,) extra round trip
    queue_us  (P,) extra round trip when queues are full
    growth    (P, 2) added share of the healthy round trip: at second 0, and per second
    probing   (P,) whether the source's prober runs
    refused   (P,) whether a probe that arrives is refused by the peer's kernel
    silent    (H,) hosts whose agent neither probes nor sends heartbeats
    clock_ns  (H,) extra clock offset
    starved   (host, share of seconds without CPU) of starved agents
    """

    keep: F64
    added_us: F64
    queue_us: F64 | None
    growth: F64 | None
    probing: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    silent: NDArray[np.bool_]
    clock_ns: NDArray[np.int64]
    starved: tuple[tuple[int, float], ...]

    def slowed(self, rtt_us: F64, rows: NDArray[np.int64], second: int, queues: float) -> F64:
        """(N,) round trips [us] of paths ``rows`` whose healthy round trips are ``rtt_us``.

        queues  queue level of switches without congestion control in this second, 0..1
        """
        out: F64 = rtt_us + self.added_us[rows]
        if self.queue_us is not None:
            out += queues * self.queue_us[rows]
        if self.growth is not None:
            begun, rate = self.growth[rows].T
            out += rtt_us * (begun + rate * second)
        return out


def effects_of(
    network: Network, paths: Paths, log_keep: F64, faults: Sequence[Fault]
) -> FaultEffects:
    """Combine the active faults: loss multiplies over crossings, latency adds.

    log_keep  (P,) ln of the healthy arrival probability
    """
    keep = np.exp(log_keep)
    added, queue = np.zeros(len(paths)), np.zeros(len(paths))
    growth = np.zeros((len(paths), 2))
    probing = np.ones(len(paths), np.bool_)
    refused = np.zeros(len(paths), np.bool_)
    silent = np.zeros(len(network.hosts), np.bool_)
    clock = np.zeros(len(network.hosts), np.int64)
    starved: list[tuple[int, float]] = []
    src_host, dst_host = network.rnic_host[paths.src_rnic], network.rnic_host[paths.dst_rnic]
    for fault in faults:
        effect, magnitude = fault.signature.effect, fault.signature.magnitude
        if effect in _AT_CROSSINGS:
            at = network.index[fault.component]
            for direction, size in fault.ways:
                times = _crossings(network, paths, fault, direction, at)
                if effect == "latency":
                    added += size / 2 * times
                elif effect == "queue":
                    queue += size / 2 * times
                elif effect == "drift":
                    rate = size / _HOUR_S / 2 * times
                    growth += np.stack([-rate * fault.start_s, rate], axis=1)
                else:
                    keep *= (1 - size) ** times
            if effect == "crash":
                probing &= paths.forward[:, 0] != at
            continue
        host = network.hosts.index(fault.component.partition(":")[2])
        ends = np.stack([src_host == host, dst_host == host])
        if effect == "clock":
            clock[host] += int(magnitude * 1e9)
        elif effect == "starved":
            starved.append((host, magnitude))
        elif effect == "host":
            added += magnitude * ends.any(axis=0)
        elif effect == "inside":
            added += magnitude * np.where(ends.all(axis=0), 1.0, _OUTSIDE) * ends.any(axis=0)
        elif effect in ("host_down", "agent"):
            silent[host] = True
            probing &= ~ends[0]
            if effect == "host_down":
                keep[ends.any(axis=0)] = 0.0
            else:
                refused |= ends[1]
    return FaultEffects(
        keep=keep,
        added_us=added,
        queue_us=queue if queue.any() else None,
        growth=growth if growth.any() else None,
        probing=probing,
        refused=refused,
        silent=silent,
        clock_ns=clock,
        starved=tuple(starved),
    )


def _crossings(
    network: Network, paths: Paths, fault: Fault, direction: Direction, at: int
) -> NDArray[np.int64]:
    """(P,) how often probe and reply together cross the faulty component: 0, 1 or 2."""
    known = fault.signature
    total = np.zeros(len(paths), np.int64)
    for route, flow in ((paths.forward, paths.forward_flow), (paths.reply, paths.reply_flow)):
        here = route == at
        if direction != "both":
            here &= _travelling(network, route, fault.component, direction)
        met = here.sum(axis=1)
        if known.share < 1:
            met[~_hit(flow, fault, known.share)] = 0
        total += met
    if known.seen_in == "overlay":
        total[paths.layer != OVERLAY] = 0
    return total


def _travelling(network: Network, route: I32, link: str, direction: Direction) -> NDArray[np.bool_]:
    """(P, W) whether a position of the route is crossed from the link's first end to its second
    (a>b): its neighbour before is the source end, or its neighbour after the target end."""
    a, b = (network.index[end] for end in link_ends(link))
    source, target = (a, b) if direction == "a>b" else (b, a)
    out = np.zeros(route.shape, np.bool_)
    out[:, 1:] |= route[:, :-1] == source
    out[:, :-1] |= route[:, 1:] == target
    return out


def _hit(flow: U64, fault: Fault, share: float) -> NDArray[np.bool_]:
    """(P,) whether the outer five-tuple is in the faulty share of hash buckets."""
    return uniform(flow, name_hash(f"{fault.kind} {fault.component}")) < share


def crossed_by(network: Network, paths: Paths) -> NDArray[np.int64]:
    """(K,) number of source hosts whose probes or replies cross each component."""
    host = network.rnic_host[paths.src_rnic].astype(np.int64)
    routes = np.concatenate([paths.forward, paths.reply], axis=1).astype(np.int64)
    keys = np.unique((routes * len(network.hosts) + host[:, None])[routes >= 0])
    return np.bincount(keys // len(network.hosts), minlength=len(network.components))


def candidates(network: Network, paths: Paths, selector: str) -> list[str]:
    """Component ids that ``any tor``, ``any tor-agg link``, ``any link``, ``any agent`` ... may
    stand for; ``any switch`` is one of any tier, ``any switch link`` one between two switches.

    Only components that probes of at least three hosts cross: others cannot be localized.
    """
    what = selector.removeprefix("any ").split()
    if len(what) not in (1, 2) or not selector.startswith("any ") or what[1:] not in ([], ["link"]):
        raise ValueError(
            f"selector {selector!r} is not understood; write 'any tor', 'any tor-agg link' "
            "or a component id"
        )
    seen = crossed_by(network, paths)
    vswitch = network.vswitch_component
    out = []
    for i, name in enumerate(network.components):
        kind = kind_of(name)
        if kind in ("host", "agent"):
            enough = seen[vswitch + i % len(network.hosts)] >= 3
        else:
            enough = seen[i] >= 3
        wanted = kind == what[0] or (what[0] == "switch" and kind in ("tor", "agg", "spine"))
        if enough and (_is_link_between(name, what[0].split("-")) if what[1:] else wanted):
            out.append(name)
    if not out:
        raise ValueError(f"selector {selector!r} matches no component that three hosts probe")
    return out


def _is_link_between(name: str, kinds: list[str]) -> bool:
    if kind_of(name) != "link":
        return False
    ends = sorted(map(kind_of, link_ends(name)))
    return "rnic" not in ends if kinds == ["switch"] else ends == sorted(kinds)
