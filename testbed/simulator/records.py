"""Ping records as Arrow: constant columns are dictionary-encoded once, each second gathers codes.

Codes are as narrow as the number of names allows: with 30,000 rnics a second has a million records,
and gathering and writing codes is most of the work. Routes are plain strings, because most records
have none and most traceroutes have different ones.

A *template* is a record without its measurement: the ping of each five-tuple path, and the
traceroutes along and back each underlay one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from testbed.simulator.counter_rng import F64
from testbed.simulator.network import I32, Network
from testbed.workload.skeleton import UNDERLAY, Paths

DIALS: Final = ("success", "timeout", "refused")
SUCCESS, TIMEOUT, REFUSED = range(3)
_DSCP: Final = 26  # the job's own class, so that probes see its queues
_DIAL_VALUES: Final = pa.array(DIALS)


Codes = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32]


class Coded(NamedTuple):
    """A string column of all templates: (T,) codes into values, -1 for null if there are gaps."""

    codes: Codes
    values: pa.Array
    gaps: bool


class Routes(NamedTuple):
    """(N, W) switch indices along N routes, -1 padded; names of the switches, quoted for JSON."""

    switches: Codes
    quoted: pa.Array

    def texts(self, rows: NDArray[np.int64], absent: NDArray[np.bool_]) -> pa.Array:
        """(M,) JSON arrays of the names on routes ``rows``, null where ``absent``."""
        taken = self.switches[rows]
        there = taken >= 0
        offsets = np.append(0, np.cumsum(there.sum(axis=1))).astype(np.int32)
        names = self.quoted.take(pa.array(taken[there]))
        joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), names), ", ")
        texts = pc.binary_join_element_wise("[", joined, "]", "")
        return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), texts)


class Burst(NamedTuple):
    """The columns of N records of several probes: how many, and their round trips [us]."""

    sent: NDArray[np.int32]
    lost: NDArray[np.int32]
    p50_us: F64
    p99_us: F64


class Measured(NamedTuple):
    """The measured columns of N records: dial code, round trip [us], send time [ns].

    burst  None: each record is one probe
    """

    dial: NDArray[np.int8]
    latency_us: F64
    ping_time: NDArray[np.int64]
    burst: Burst | None = None


@dataclass(frozen=True, eq=False)
class Templates:
    """T record templates: pings of the P paths first, then traceroutes along, then back.

    path    (T,) five-tuple path index
    host    (T,) host index of the prober
    trace   (T,) whether it is a traceroute
    routes  of the T - P traceroutes
    """

    path: NDArray[np.int64]
    host: I32
    trace: NDArray[np.bool_]
    strings: dict[str, Coded]
    routes: Routes
    src_port: I32
    dst_port: I32

    @property
    def replies_from(self) -> int:
        """The first traceroute back; all that follow are such, too."""
        return len(self.trace) - int(self.trace.sum()) // 2

    def batch(
        self, rows: NDArray[np.int64], measured: Measured, round_start_ns: int
    ) -> pa.RecordBatch:
        """(N,) records of templates ``rows``; string columns but ``route`` dictionary-encoded."""
        failed = measured.dial != SUCCESS
        columns: dict[str, pa.Array] = {
            name: _coded(codes[rows], values, gaps)
            for name, (codes, values, gaps) in self.strings.items()
        }
        count, burst = len(rows), measured.burst
        sent = np.ones(count, np.int32) if burst is None else burst.sent
        lost = (measured.dial == TIMEOUT).astype(np.int32) if burst is None else burst.lost
        columns |= {
            "dial": _coded(measured.dial, _DIAL_VALUES, gaps=False),
            "dscp": pa.array(np.full(count, _DSCP, np.int32)),
            "dst_port": pa.array(self.dst_port[rows]),
            "latency": pa.array(measured.latency_us, mask=failed if failed.any() else None),
            "loss_rate": pa.array(lost / sent),
            "ping_time": pa.array(measured.ping_time),
            "route": self._route(rows, failed),
            "src_port": pa.array(self.src_port[rows]),
            "task_start_time": pa.array(np.full(count, round_start_ns, np.int64)),
            "sent": pa.array(sent),
            "lost": pa.array(lost),
        }
        if burst is not None:
            columns |= {
                name: pa.array(getattr(burst, name), mask=failed) for name in ("p50_us", "p99_us")
            }
        return pa.RecordBatch.from_pydict({name: columns[name] for name in sorted(columns)})

    def _route(self, rows: NDArray[np.int64], failed: NDArray[np.bool_]) -> pa.Array:
        """(N,) routes of the traceroutes that came back; traceroutes stand last."""
        traced = self.trace[rows]
        first = int(traced.argmax()) if traced.any() else len(rows)
        ours = rows[first:] - (len(self.trace) - len(self.routes.switches))
        traced_routes = self.routes.texts(ours, failed[first:] | (ours < 0))
        return pa.concat_arrays([pa.nulls(first, pa.string()), traced_routes])


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same records with plain string columns, as agents write them."""
    return pa.RecordBatch.from_arrays(
        [
            column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            for column in batch.columns
        ],
        names=batch.schema.names,
    )


def templates(network: Network, paths: Paths) -> Templates:
    """Encode every constant column of every template."""
    below = np.flatnonzero(paths.layer == UNDERLAY)
    every = np.arange(len(paths))
    path = np.concatenate([every, below, below])
    back = np.zeros(len(path), np.bool_)
    back[len(paths) + len(below) :] = True
    trace = path != np.concatenate([every, np.full(2 * len(below), -1)])
    ends = {
        side: (
            np.where(back, there[0][path], here[0][path]),
            np.where(back, there[1][path], here[1][path]),
        )
        for side, here, there in (
            ("src", (paths.src_rnic, paths.src_endpoint), (paths.dst_rnic, paths.dst_endpoint)),
            ("dst", (paths.dst_rnic, paths.dst_endpoint), (paths.src_rnic, paths.src_endpoint)),
        )
    }
    count = len(path)
    strings = {
        "agent_type": _code(paths.layer[path], ["underlay", "overlay"]),
        "task_type": _code(trace, ["RDMA_PING", "TRACEROUTE"]),
        "timestamp": _code(np.zeros(count, np.int8), ["hw"]),
    }
    for side, (rnic, end) in ends.items():
        for name, coded in _place(network, rnic, end).items():
            strings[f"{side}_{name}"] = coded
    return Templates(
        path=path,
        host=network.rnic_host[ends["src"][0]],
        trace=trace,
        strings=strings,
        routes=_routes(network, paths, below),
        src_port=np.where(back, paths.dst_port[path], paths.src_port[path]),
        dst_port=np.where(back, paths.src_port[path], paths.dst_port[path]),
    )


def _place(network: Network, rnic: I32, end: I32) -> dict[str, Coded]:
    """Identity columns of one side; an underlay end's address is its rnic's, without container."""
    topology = network.topology
    host = network.rnic_host[rnic]
    box = np.append(network.endpoint_container, np.int32(-1))[end]
    rnics = network.rnic_names
    addresses = [point.ip for container in topology.containers for point in container.endpoints]
    pods = sorted({host.pod for host in topology.hosts})
    pod = np.array([pods.index(host.pod) for host in topology.hosts], np.int32)
    tenants = sorted({container.tenant for container in topology.containers})
    tenant = np.array([*(tenants.index(c.tenant) for c in topology.containers), -1], np.int32)
    columns = {
        "asw": _code(network.rnic_tor[rnic], [s.id for s in topology.switches]),
        "idc": _code(np.zeros(len(rnic), np.int8), [topology.fabric]),
        "ip": _code(np.where(end >= 0, len(rnics) + end, rnic), rnics + addresses),
        "node_id": _code(box, [c.node_id for c in topology.containers]),
        "node_sn": _code(host, network.hosts),
        "pod": _code(pod[host], pods),
        "real_ip": _code(rnic, rnics),
    }
    if any(tenants):
        columns["tenant_id"] = _code(tenant[box], tenants)
    upper = [switch.id for switch in topology.switches if switch.tier == "dsw"]
    if len(upper) == 1:  # the record has room for one switch above the ToR
        columns["dsw"] = _code(np.zeros(len(rnic), np.int8), upper)
    return columns


def _routes(network: Network, paths: Paths, below: NDArray[np.int64]) -> Routes:
    """Along, then back."""
    quoted = [json.dumps(switch.id) for switch in network.topology.switches]
    both = (paths.forward_switches, paths.reply_switches)
    width = max(switches.shape[1] for switches in both)
    taken = np.full((2 * len(below), width), -1, np.min_scalar_type(-len(quoted) - 1))
    for half, switches in zip((taken[: len(below)], taken[len(below) :]), both, strict=True):
        half[:, : switches.shape[1]] = switches[below]
    return Routes(taken, pa.array(quoted, pa.string()))


def _code(codes: NDArray[Any], values: Sequence[str]) -> Coded:
    """Codes in the narrowest type that holds them."""
    kind = np.min_scalar_type(-len(values) - 1)
    return Coded(codes.astype(kind), pa.array(values, pa.string()), bool((codes < 0).any()))


def _coded(codes: NDArray[Any], values: pa.Array, gaps: bool) -> pa.Array:
    indices = pa.array(codes, mask=codes < 0 if gaps else None)
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)
