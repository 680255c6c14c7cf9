"""The localizer at scale: chunks of skh.windows for a large rail Clos, without the simulator.

Each endpoint probes its job's next endpoints of the same rail, in both layers, with one five-tuple
for each pair and one probe a second. Underlay five-tuples are traced in both directions; overlay
routes are unknown.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluation.bench.method.figure import figure
from localizer.localizer import Localizer
from schemas.documents.topology import Topology
from schemas.wire import window_chunks
from schemas.wire.window_chunks import Header
from testbed.topologies.clos import ClosSpec, build

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

_START_S: Final = 1_790_000_000
_WARM_S: Final = 70  # two disjoint windows of latency, and a little
_FAULTY_S: Final = 40
_AGGS, _PODS, _SPINES = 8, 4, 16


@dataclass(frozen=True)
class Scale:
    """Hosts of 8 rnics in segments of 16, and how many others of its job each endpoint probes."""

    hosts: int
    targets: int


LARGE: Final = Scale(hosts=896, targets=7)  # 100,000 paths, 20,000 components
LARGEST: Final = Scale(hosts=4480, targets=14)  # 1,000,000 paths, 100,000 components


class SyntheticCluster:
    """The paths of a fabric as columns, and the chunks that their probes make."""

    def __init__(self, scale: Scale, seed: int = 1) -> None:
        spec = ClosSpec(
            name="scale", hosts=scale.hosts, rails=8, hosts_per_segment=16, aggs=_AGGS,
            pods=_PODS, spines=_SPINES, hosts_per_job=64,
        )  # fmt: skip
        self.topology = build(spec, seed)
        self._rng = np.random.default_rng([seed, 2])
        box, rail, step, layer = (
            axis.ravel()
            for axis in np.meshgrid(
                np.arange(scale.hosts), np.arange(8), np.arange(scale.targets + 1), [0, 1],
                indexing="ij",
            )
        )  # fmt: skip
        job, rank = box // 64, box % 64
        size = np.minimum(64, scale.hosts - 64 * job)
        peer = 64 * job + (rank + 1 + step) % size
        last = step == scale.targets  # these join later, as those of a job that starts
        order = np.concatenate([np.flatnonzero(~last), np.flatnonzero(last)[:10_000]])
        self.late = int(last[order].sum())
        self.src, self.dst = (8 * box + rail)[order], (8 * peer + rail)[order]
        self.overlay = layer[order] == 1
        self.paths = len(order) - self.late
        self._ends = self._endpoints(self.topology)
        self.ports = 40_000 + self._rng.integers(0, 20_000, len(order))
        count = (2, len(order))
        self.up, self.down = self._rng.integers(0, _AGGS, (2, *count))
        self.spine = self._rng.integers(0, _SPINES, count)
        self.base_us = self._rng.uniform(15, 40, len(order))
        self._bodies = [self._describe(rows) for rows in self._cut(0, len(order))]

    @staticmethod
    def _endpoints(topology: Topology) -> dict[str, npt.NDArray[Any]]:
        hosts = {host.node_sn: host for host in topology.hosts}
        rows = [
            (box.node_id, end.ip, end.real_ip, box.node_sn, rnic.asw, hosts[box.node_sn].pod)
            for box in topology.containers
            for end, rnic in zip(box.endpoints, hosts[box.node_sn].rnics, strict=True)
        ]
        names = ("node_id", "ip", "real_ip", "node_sn", "asw", "pod")
        return dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))

    def _cut(self, start: int, end: int) -> Iterator[slice]:
        """Slices of at most 4,096 rows; early and late paths do not share a slice."""
        for a, b in ((start, min(end, self.paths)), (max(start, self.paths), end)):
            yield from (slice(at, min(at + 4096, b)) for at in range(a, b, 4096))

    def _describe(self, rows: slice) -> list[pa.Array]:
        overlay = self.overlay[rows]
        columns: dict[str, npt.NDArray[Any]] = {
            "fabric": np.full(len(overlay), "scale"),
            "layer": np.where(overlay, "overlay", "underlay"),
            "task_type": np.full(len(overlay), "UDP_PING"),
            "src_tenant_id": np.full(len(overlay), "t"),
            "dst_tenant_id": np.full(len(overlay), "t"),
        }
        for side, ends in (("src", self.src[rows]), ("dst", self.dst[rows])):
            for name, values in self._ends.items():
                columns[f"{side}_{name}"] = values[ends]
            columns[f"{side}_ip"] = self._addresses(ends, overlay)
            columns[f"{side}_dsw"] = np.full(len(overlay), "")
        ids = (np.arange(rows.start, rows.stop).astype(np.uint64) + 1) * np.uint64(2**61 - 1)
        return [
            pa.array(ids),
            *(pa.array(columns[name]).dictionary_encode() for name in window_chunks.PATH_STRINGS),
            pa.array(self.ports[rows].astype(np.int32)),
            pa.array(np.full(len(overlay), 4791, np.int32)),
        ]

    def _addresses(self, ends: I64, overlay: Bool) -> npt.NDArray[Any]:
        return np.where(overlay, self._ends["ip"][ends], self._ends["real_ip"][ends])

    def asw(self, ends: I64) -> npt.NDArray[Any]:
        """ToR of some endpoints."""
        return self._ends["asw"][ends]

    def chunks(
        self, kind: window_chunks.Kind, at: int, paths: int, lost: I64, rtt_us: npt.NDArray[Any]
    ) -> list[tuple[Header, pa.RecordBatch]]:
        """Chunks of second ``at``, or of the 30 s that end with it; a probe per path and second."""
        length = 1 if kind == "pane" else 30
        pieces = list(self._cut(0, paths))
        out = []
        for number, rows in enumerate(pieces):
            sent = np.full(rows.stop - rows.start, length, np.uint32)
            gone = (lost[rows] * length).astype(np.uint32)
            rtt = np.where(gone < sent, rtt_us[rows], 0.0).astype(np.float32)
            counts = [sent, sent, gone, np.zeros_like(sent), sent - gone, rtt]
            if kind == "window":
                counts += [rtt * f for f in np.array([0.97, 1, 1.03, 0.9, 0.05, 1.2], np.float32)]
            schema = window_chunks.PANE if kind == "pane" else window_chunks.WINDOW
            batch = pa.RecordBatch.from_arrays(
                [*self._bodies[number], *map(pa.array, counts)], schema=schema
            )
            end_s = _START_S + at + 1
            header = Header(kind, "scale", end_s - length, end_s, chunk=number, chunks=len(pieces))
            out.append((header, batch))
        return out

    def routes(self) -> Iterator[tuple[Header, pa.RecordBatch]]:
        """Chunks of the underlay's traceroutes, of probes and of replies."""
        psw = self._tier("psw")
        spines = sorted(s.id for s in self.topology.switches if s.tier == "dsw")
        rows = np.flatnonzero(~self.overlay[: self.paths])
        for part in np.array_split(rows, max(1, len(rows) // 2000)):
            traced = []
            for way, (a, b) in enumerate(((self.src, self.dst), (self.dst, self.src))):
                for row in part.tolist():
                    here, there = a[row], b[row]
                    tors = [str(self._ends["asw"][here]), str(self._ends["asw"][there])]
                    pods = [str(self._ends["pod"][here]), str(self._ends["pod"][there])]
                    up, down = self.up[way, row], self.down[way, row]
                    if tors[0] == tors[1]:
                        hops = tors[:1]
                    elif pods[0] == pods[1]:
                        hops = [tors[0], psw[pods[0]][up], tors[1]]
                    else:
                        top = spines[self.spine[way, row]]
                        hops = [tors[0], psw[pods[0]][up], top, psw[pods[1]][down], tors[1]]
                    ports = (int(self.ports[row]), 4791)
                    ends = (str(self._ends["real_ip"][e]) for e in (here, there))
                    traced.append(("scale", "underlay", *ends, *ports[:: 1 - 2 * way], hops))
            columns = [
                pa.array(values, field.type)
                for values, field in zip(
                    zip(*traced, strict=True), window_chunks.ROUTES, strict=True
                )
            ]
            yield (
                Header("routes", "scale", _START_S, _START_S + 1),
                pa.RecordBatch.from_arrays(columns, schema=window_chunks.ROUTES),
            )

    def _tier(self, tier: str) -> dict[str, list[str]]:
        pods: dict[str, list[str]] = {}
        for switch in self.topology.switches:
            if switch.tier == tier:
                pods.setdefault(switch.pod, []).append(switch.id)
        return pods

    def beats(self, at: int) -> tuple[Header, pa.RecordBatch]:
        """The heartbeats of all hosts in second ``at``."""
        hosts = [host.node_sn for host in self.topology.hosts]
        count = len(hosts)
        columns = [
            pa.array(["scale"] * count), pa.array(hosts),
            pa.array(np.full(count, int((_START_S + at + 0.9) * 1e9))),
            pa.array(np.ones(count, bool)), pa.array(np.zeros(count, np.float32)),
            pa.array(np.full(count, 100, np.float32)),
        ]  # fmt: skip
        batch = pa.RecordBatch.from_arrays(columns, schema=window_chunks.HEARTBEATS)
        return Header("heartbeats", "scale", _START_S + at, _START_S + at + 1), batch

    def faults(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """(P,) loss probability and added latency of five faults: two dead rnics, a ToR that loses
        20 %, one of its pod's uplinks elsewhere that loses 30 %, a slow vswitch."""
        loss, slow = np.zeros(len(self.src)), np.zeros(len(self.src))
        ends = np.stack([self.src, self.dst])
        for rnic in (9, 8 * 300 + 2):
            loss[(ends == rnic).any(axis=0)] = 1.0
        tors = self.asw(ends)
        loss[(tors == tors[0, len(self.src) // 2]).any(axis=0)] = 0.2
        sick = tors[0, len(self.src) // 4]
        pods = self._ends["pod"][ends]
        down = np.where(pods[0] == pods[1], self.up[0], self.down[0])  # one agg within a pod
        uses = np.stack([(tors[0] == sick) & (self.up[0] == 3), (tors[1] == sick) & (down == 3)])
        uses &= tors[0] != tors[1]
        loss = np.where(uses.any(axis=0), np.maximum(loss, 0.3), loss)
        box = ends // 8 == 500
        slow[box.any(axis=0) & self.overlay] = 30.0
        return loss, slow

    def measurements(self, *, faulty: bool) -> tuple[I64, npt.NDArray[Any]]:
        """(P,) packets lost and (P,) round trips [us] of one second; healthy paths lose 1e-5."""
        rng, count = self._rng, len(self.src)
        loss, slow = self.faults() if faulty else (np.zeros(count), np.zeros(count))
        lost = (rng.random(count) < np.maximum(loss, 1e-5)).astype(np.int64)
        return lost, self.base_us * rng.lognormal(0, 0.02, count) + slow


def scale(
    size: Scale, *, goal_ms: int, goal_mb: int | None = None, faulty_s: int = _FAULTY_S
) -> dict[str, Any]:
    """CPU time to judge a second: quiet, with five faults, and when 10,000 paths are new."""
    cluster = SyntheticCluster(size)
    localizer = Localizer(topology=cluster.topology)
    routes = list(cluster.routes())
    spent: dict[str, list[float]] = {"quiet": [], "faulty": [], "new": []}
    opened: set[str] = set()
    routes_s = 0.0
    for at in range(_WARM_S + faulty_s):
        name = "quiet" if at < _WARM_S else "faulty" if at < _WARM_S + faulty_s - 1 else "new"
        lost, rtt_us = cluster.measurements(faulty=at >= _WARM_S)
        chunks = cluster.chunks(
            "pane", at, cluster.paths + cluster.late * (name == "new"), lost, rtt_us
        )
        if (at + 1) % 5 == 0 and at >= 29:
            chunks += cluster.chunks("window", at, cluster.paths, 0 * lost, rtt_us)
        localizer.observe(*cluster.beats(at))
        if at == 1:
            started = time.process_time()
            for header, batch in routes:
                localizer.observe(header, batch)
            routes_s = time.process_time() - started
        started = time.process_time()
        for header, batch in chunks:
            localizer.observe(header, batch)
        end_s = _START_S + at + 1
        mark = Header("punctuation", "scale", end_s, end_s, watermark_ms=end_s * 1000)
        found = localizer.observe(mark, None)
        spent[name].append((time.process_time() - started) * 1e3)
        opened |= {incident.component for incident in found.incidents}
    p50, p95 = np.percentile(spent["faulty"], [50, 95])
    traced = sum(batch.num_rows for _, batch in routes)
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    goal = f"< {goal_ms} ms" + (f", <= {goal_mb / 1024:.0f} GB" if goal_mb else "")
    return {
        **figure(
            "{p50:.0f} ms with 5 faults (p95 {p95:.0f} ms), {quiet:.0f} ms without, {new:.0f} ms "
            "when 10,000 paths are new, the first {first:.0f} ms; {route_us:.1f} us a traceroute; "
            "{paths:,} paths, {incidents} incidents",
            p50=p50, p95=p95, quiet=float(np.median(spent["quiet"])), new=spent["new"][0],
            first=spent["quiet"][0], route_us=1e6 * routes_s / traced, paths=cluster.paths,
            incidents=len(opened),
        ),
        "goal": goal, "missed": bool(p50 >= goal_ms or (goal_mb and rss_mb > goal_mb)),
        "rss_mb": rss_mb,
    }  # fmt: skip
