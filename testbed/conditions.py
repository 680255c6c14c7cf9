"""What the faults that are active now do to every five-tuple path: arrays, no randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.components import kind_of, link_ends
from testbed.faults import Fault, FaultKind
from testbed.mixing import F64, U64, name_hash, uniform
from testbed.network import I32, Network
from testbed.skeleton import Paths


@dataclass(frozen=True, eq=False)
class Conditions:
    """State of P five-tuple paths and H hosts for as long as the active faults do not change.

    keep      (P,) probability that probe and reply both arrive
    added_us  (P,) extra round trip
    probing   (P,) whether the source's prober runs
    refused   (P,) whether a probe that arrives is answered by the peer's kernel only
    silent    (H,) hosts whose agent neither probes nor sends heartbeats
    clock_ns  (H,) extra clock offset
    starved   (host, share of moments) of agents without CPU
    """

    keep: F64
    added_us: F64
    probing: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    silent: NDArray[np.bool_]
    clock_ns: NDArray[np.int64]
    starved: tuple[tuple[int, float], ...]


def conditions(
    network: Network, paths: Paths, log_keep: F64, faults: Sequence[Fault]
) -> Conditions:
    """Fold the active faults; loss multiplies over crossings, latency adds.

    log_keep  (P,) ln of the healthy arrival probability
    """
    keep = np.exp(log_keep)
    added = np.zeros(len(paths))
    probing = np.ones(len(paths), np.bool_)
    refused = np.zeros(len(paths), np.bool_)
    silent = np.zeros(len(network.hosts), np.bool_)
    clock = np.zeros(len(network.hosts), np.int64)
    starved: list[tuple[int, float]] = []
    src_host, dst_host = network.rnic_host[paths.src_rnic], network.rnic_host[paths.dst_rnic]
    for fault in faults:
        known = fault.signature
        at = network.index[fault.component]
        if known.effect in ("loss", "latency", "crash"):
            times = _crossings(network, paths, fault, known, at)
            if known.effect == "latency":
                added += known.magnitude / 2 * times
            else:
                keep *= (1 - known.magnitude) ** times
            if known.effect == "crash":
                probing &= paths.forward[:, 0] != at
            continue
        host = network.hosts.index(fault.component.partition(":")[2])
        if known.effect == "clock":
            clock[host] += int(known.magnitude * 1e9)
        elif known.effect == "starved":
            starved.append((host, known.magnitude))
        else:
            silent[host] = True
            probing &= src_host != host
            if known.effect == "host":
                keep[(src_host == host) | (dst_host == host)] = 0.0
            else:
                refused |= dst_host == host
    return Conditions(keep, added, probing, refused, silent, clock, tuple(starved))


def _crossings(
    network: Network, paths: Paths, fault: Fault, known: FaultKind, at: int
) -> NDArray[np.int64]:
    """(P,) how often probe and reply meet the faulty component, 0, 1 or 2."""
    total = np.zeros(len(paths), np.int64)
    for route, flow in ((paths.forward, paths.forward_flow), (paths.reply, paths.reply_flow)):
        here = route == at
        if fault.direction != "both":
            here &= _travelling(network, route, fault)
        met = here.sum(axis=1)
        if known.share < 1:
            met[~_hit(flow, fault, known.share)] = 0
        total += met
    return total


def _travelling(network: Network, route: I32, fault: Fault) -> NDArray[np.bool_]:
    """(P, W) where a component of the route is entered from the fault's first end: on a link,
    one neighbour in the route is the end it comes from or the other the end it goes to."""
    a, b = (network.index[end] for end in link_ends(fault.component))
    source, target = (a, b) if fault.direction == "a>b" else (b, a)
    out = np.zeros(route.shape, np.bool_)
    out[:, 1:] |= route[:, :-1] == source
    out[:, :-1] |= route[:, 1:] == target
    return out


def _hit(flow: U64, fault: Fault, share: float) -> NDArray[np.bool_]:
    """(P,) whether the outer five-tuple falls into the faulty share of hash buckets."""
    return uniform(flow, name_hash(f"{fault.kind} {fault.component}")) < share


def crossed_by(network: Network, paths: Paths) -> NDArray[np.int64]:
    """(K,) number of source hosts whose probes or replies cross each component."""
    host = network.rnic_host[paths.src_rnic].astype(np.int64)
    routes = np.concatenate([paths.forward, paths.reply], axis=1).astype(np.int64)
    keys = np.unique((routes * len(network.hosts) + host[:, None])[routes >= 0])
    return np.bincount(keys // len(network.hosts), minlength=len(network.components))


def candidates(network: Network, paths: Paths, selector: str) -> list[str]:
    """Component ids that ``any tor``, ``any tor-agg link``, ``any agent`` ... may stand for.

    Only components that probes of at least three hosts cross: nobody can blame less.
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
        if enough and (_is_link_between(name, what[0].split("-")) if what[1:] else kind == what[0]):
            out.append(name)
    if not out:
        raise ValueError(f"selector {selector!r} matches no component that three hosts probe")
    return out


def _is_link_between(name: str, kinds: list[str]) -> bool:
    return kind_of(name) == "link" and sorted(map(kind_of, link_ends(name))) == sorted(kinds)
