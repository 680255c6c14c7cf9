"""Ping records as Arrow: constant columns are coded once, a second only gathers them.

A *template* is a record without its measurement: the ping of each five-tuple path, and the
traceroutes along and back each underlay one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from testbed.mixing import F64
from testbed.network import I32, Network
from testbed.skeleton import UNDERLAY, Paths

DIALS: Final = ("success", "timeout", "refused")
SUCCESS, TIMEOUT, REFUSED = range(3)
_DSCP: Final = 26  # the job's own class, so that probes see its queues
_DIAL_VALUES: Final = pa.array(DIALS)


class Coded(NamedTuple):
    """A string column of all templates: (T,) codes into values, -1 for null."""

    codes: I32
    values: pa.Array


class Measured(NamedTuple):
    """What differs from record to record (N,): dial code, round trip [us], send time [ns]."""

    dial: NDArray[np.int8]
    latency_us: F64
    ping_time: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Templates:
    """T record templates: pings of the P paths first, then traceroutes along, then back.

    path   (T,) five-tuple path index
    host   (T,) host index of the prober
    trace  (T,) whether it is a traceroute
    """

    path: NDArray[np.int64]
    host: I32
    trace: NDArray[np.bool_]
    strings: dict[str, Coded]
    src_port: I32
    dst_port: I32

    def batch(
        self, rows: NDArray[np.int64], measured: Measured, round_start_ns: int
    ) -> pa.RecordBatch:
        """(N,) records of templates ``rows``; string columns are dictionary-encoded."""
        columns: dict[str, pa.Array] = {}
        failed = measured.dial != SUCCESS
        for name, (codes, values) in self.strings.items():
            picked = codes[rows]
            absent = picked < 0
            if name == "route":
                absent |= failed
            mask = absent if absent.any() else None
            columns[name] = _coded(picked, values, mask)
        lost = (measured.dial == TIMEOUT).astype(np.int32)
        count = len(rows)
        columns |= {
            "dial": _coded(measured.dial.astype(np.int32), _DIAL_VALUES, None),
            "dscp": pa.array(np.full(count, _DSCP, np.int32)),
            "dst_port": pa.array(self.dst_port[rows]),
            "latency": pa.array(measured.latency_us, mask=failed if failed.any() else None),
            "loss_rate": pa.array(lost.astype(np.float64)),
            "ping_time": pa.array(measured.ping_time),
            "src_port": pa.array(self.src_port[rows]),
            "task_start_time": pa.array(np.full(count, round_start_ns, np.int64)),
            "sent": pa.array(np.ones(count, np.int32)),
            "lost": pa.array(lost),
        }
        return pa.RecordBatch.from_pydict({name: columns[name] for name in sorted(columns)})


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
    """Code every constant column of every template."""
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
        "agent_type": Coded(paths.layer[path].astype(np.int32), pa.array(["underlay", "overlay"])),
        "task_type": Coded(trace.astype(np.int32), pa.array(["RDMA_PING", "TRACEROUTE"])),
        "timestamp": Coded(np.zeros(count, np.int32), pa.array(["hw"])),
        "route": _routes(network, paths, below),
    }
    for side, (rnic, end) in ends.items():
        for name, coded in _place(network, rnic, end).items():
            strings[f"{side}_{name}"] = coded
    return Templates(
        path=path,
        host=network.rnic_host[ends["src"][0]],
        trace=trace,
        strings=strings,
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
        "asw": Coded(network.rnic_switch[rnic], pa.array([s.id for s in topology.switches])),
        "idc": Coded(np.zeros(len(rnic), np.int32), pa.array([topology.fabric])),
        "ip": Coded(np.where(end >= 0, len(rnics) + end, rnic), pa.array(rnics + addresses)),
        "node_id": Coded(box, pa.array([c.node_id for c in topology.containers], pa.string())),
        "node_sn": Coded(host, pa.array(network.hosts)),
        "pod": Coded(pod[host], pa.array(pods)),
        "real_ip": Coded(rnic, pa.array(rnics)),
    }
    if any(tenants):
        columns["tenant_id"] = Coded(tenant[box], pa.array(tenants))
    upper = [switch.id for switch in topology.switches if switch.tier == "dsw"]
    if len(upper) == 1:  # the record has room for one switch above the ToR
        columns["dsw"] = Coded(np.zeros(len(rnic), np.int32), pa.array(upper))
    return columns


def _routes(network: Network, paths: Paths, below: NDArray[np.int64]) -> Coded:
    """JSON arrays of switch ids: null for pings, then along, then back."""
    names = [switch.id for switch in network.topology.switches]
    both = (paths.forward_switches, paths.reply_switches)
    width = max(switches.shape[1] for switches in both)
    taken = np.full((2 * len(below), width), -1, np.int32)
    for half, switches in zip((taken[: len(below)], taken[len(below) :]), both, strict=True):
        half[:, : switches.shape[1]] = switches[below]
    different, code = np.unique(taken, axis=0, return_inverse=True)
    texts = [json.dumps([names[s] for s in row if s >= 0]) for row in different.tolist()]
    codes = np.concatenate([np.full(len(paths), -1), code.reshape(-1)]).astype(np.int32)
    return Coded(codes, pa.array(texts, pa.string()))


def _coded(codes: I32, values: pa.Array, mask: NDArray[np.bool_] | None) -> pa.Array:
    indices = pa.array(codes, mask=mask)
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)
