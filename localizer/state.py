"""What the localizer remembers of one fabric: paths, their places, counts, latencies, hosts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from localizer.baselines.drift import DriftBaseline
from localizer.baselines.hosts import HostActivity
from localizer.baselines.latency import FEATURES, LatencyBaseline
from localizer.baselines.loss import LossBaseline
from localizer.baselines.pane_history import PaneHistory
from localizer.baselines.source_weights import bounded
from localizer.detectors.alarm_budget import AlarmBudget
from localizer.detectors.latency import LatencyDeviation, comparable, deviation
from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.key_index import GrowableArray, KeyIndex, pair_key
from localizer.fabric.observability import Classes, classes
from localizer.fabric.path_index import PathIndex
from localizer.fabric.path_table import Paths
from localizer.options import Options
from localizer.second_batch import SecondBatch
from localizer.suppression.log import SuppressionLog
from localizer.suppression.maintenance import MaintenanceWindows
from localizer.suppression.placement import Placements
from schemas.component_ids import component
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

LIVE_S = 90  # paths probed within this time count for what probes can tell apart
MISSED_S = 86_400  # hosts silent together with their pod are missed for so long
THIRD_S = 10  # of a window of latency: it must have been heard in each of them


class FabricState:
    """Everything that ``judge`` reads; grows with paths, forgets with time."""

    def __init__(self, fabric: str, topology: Topology | None, options: Options) -> None:
        self.fabric = fabric
        self.options = options
        self.budget = AlarmBudget(options.false_per_week)
        self.index = PathIndex()
        self.incidence = Incidence(topology)
        self.history = PaneHistory()
        self.latency = LatencyBaseline(options.timing.window_s, options.baselines.latency)
        self.drift = DriftBaseline(options.baselines.drift)
        self.background = LossBaseline(options.baselines.loss)
        self.hosts = HostActivity(options.baselines.hosts)
        self._ends = GrowableArray(np.int32, 2)
        self._layer = GrowableArray(np.int8)
        self._pair = GrowableArray(np.int64)
        self.shift: LatencyDeviation | None = (
            None  # of the window that ends with this second, if one does
        )
        self.suspects: set[str] = set()  # components of open incidents about reachability
        self._pairs = {"ends": KeyIndex(), "layer": KeyIndex()}
        self._classes: Classes | None = None
        self._classes_of = (0, 0)  # version of the incidence, second
        self.newest_s = 0
        self.placements = Placements()
        self.maintenance = MaintenanceWindows()
        self.suppression_log = SuppressionLog()
        self._given_pods = {h.node_sn: h.pod for h in (topology.hosts if topology else ()) if h.pod}
        self.pods = dict(self._given_pods)
        self.silent_scopes: set[str] = set()  # pods and fabrics that fell silent as a whole
        self._given_jobs = {
            box.node_id: (box.job, box.tenant) for box in (topology.containers if topology else ())
        }
        self.jobs = dict(self._given_jobs)

    @property
    def src(self) -> I32:
        """(P,) source host of each path."""
        src: I32 = self._ends.values[0]
        return src

    @property
    def dst(self) -> I32:
        """(P,) destination host of each path."""
        dst: I32 = self._ends.values[1]
        return dst

    @property
    def layer(self) -> npt.NDArray[np.int8]:
        """(P,) 1 = overlay."""
        return self._layer.values

    @property
    def pair(self) -> I64:
        """(P,) code of (endpoint pair, layer)."""
        return self._pair.values

    def take(self, frame: SecondBatch) -> None:
        """Write a frame into the memories."""
        if frame.jumped:
            self.history.clear()
            self.latency.clear()
        self.newest_s = frame.second
        counts: dict[str, list[npt.NDArray[np.uint32]]] = {n: [] for n in PaneHistory.FIELDS}
        rows: list[I64] = [np.empty(0, np.int64)]
        rtt: list[npt.NDArray[np.float32]] = [np.empty(0, np.float32)]
        rows += self._rows(frame.panes)
        for batch in frame.panes:
            rtt.append(batch.column("rtt_mean_us").to_numpy())
            for name, parts in counts.items():
                parts.append(batch.column(name).to_numpy())
        where = np.concatenate(rows)
        empty = np.empty(0, np.uint32)
        said = {n: np.concatenate([empty, *p]) for n, p in counts.items()}
        source = self.src[where]
        counted = bounded(source, said, self.options.baselines.source_weights)
        self.history.put(frame.second, where, np.concatenate(rtt), **counted)
        self.hosts.probed(frame.second, source)
        self.shift = self._judge_latency(frame) if frame.windows else None

    def _judge_latency(self, frame: SecondBatch) -> LatencyDeviation:
        parts = list(zip(self._rows(frame.windows), frame.windows, strict=True))
        ends = (frame.second - third * THIRD_S for third in range(3))
        whole = np.logical_and.reduce([self.history.heard(end, THIRD_S) for end in ends])
        features = np.full((len(self.index), len(FEATURES)), np.nan, np.float32)
        for rows, batch in parts:
            columns = [batch.column(f"rtt_{name}_us").to_numpy() for name in FEATURES]
            count = batch.column("rtt_count").to_numpy()
            features[rows] = comparable(
                np.stack(columns, axis=1), count, whole[rows],
                self.options.detectors.latency.least_answers,
            )  # fmt: skip
        end_s, detectors = frame.second + 1, self.options.detectors
        found = deviation(
            self.latency, end_s, features, self.layer, detectors.latency, detectors.lof
        )
        self.latency.learn(end_s, features, found.flagged)
        return found

    def _rows(self, batches: list[pa.RecordBatch]) -> list[I64]:
        rows, new = self.index.rows(batches)
        if len(new):
            self._add(new)
        return rows

    def _add(self, new: Paths) -> None:
        self.incidence.add(new)
        self.history.grow(len(self.index))
        self._ends.append(np.vstack([self._hosts_of(new, side) for side in ("src", "dst")]))
        overlay = new.mask("layer", "overlay")
        self._layer.append(overlay.astype(np.int8))
        self._pair.append(self._pairs_of(new))

    def _pairs_of(self, paths: Paths) -> I64:
        ends = pair_key(paths.column("src_real_ip"), paths.column("dst_real_ip"))
        codes, _ = self._pairs["ends"].code(ends)
        return self._pairs["layer"].code(pair_key(codes, paths.column("layer")))[0]

    def _hosts_of(self, new: Paths, side: str) -> I64:
        """(n,) the host at one end of each path."""
        host, rnic = new.column(f"{side}_node_sn"), new.column(f"{side}_real_ip")
        ends, back = np.unique(pair_key(host, rnic), return_inverse=True)
        names, rnics = new.table("src_node_sn").texts, new.table("src_real_ip").texts
        pods = new.table("src_pod").texts
        for each in np.unique(pair_key(host, new.column(f"{side}_pod"))).tolist():
            if pod := pods[each & 0xFFFFFFFF]:
                host_name = names[each >> 32]  # the newest name of its pod, but for a document's
                self.pods[host_name] = self._given_pods.get(host_name, pod)
        codes = [self.hosts.end(names[e >> 32], rnics[e & 0xFFFFFFFF]) for e in ends.tolist()]
        return np.array(codes)[back]

    def place(self, documents: list[Placement]) -> None:
        """Learn where containers run and what for."""
        self.placements.add(documents)
        self.jobs |= {doc.node_id: (doc.job, doc.tenant) for doc in documents}

    def take_routes(self, batch: pa.RecordBatch) -> None:
        """Learn traceroutes."""
        self.incidence.learn_routes(batch)

    def take_heartbeats(self, batch: pa.RecordBatch) -> None:
        """Learn signs of life."""
        names = ("node_sn", "time", "alive", "cpu_steal", "scheduling_delay_us")
        columns = (batch.column(name).to_pylist() for name in names)
        for host, time_ns, alive, steal, delay_us in zip(*columns, strict=True):
            self.hosts.beat(host, time_ns / 1e9, alive=alive, steal=steal, delay_us=delay_us)

    def classes(self) -> Classes:
        """Observability classes of what is probed now."""
        version, second = self._classes_of
        if (
            self._classes is None
            or version != self.incidence.version
            or self.newest_s - second >= LIVE_S // 3
        ):
            live = self.history.last_seen >= self.newest_s - LIVE_S
            factored, incidence = self.incidence.factored(), self.incidence
            fresh = classes(factored, incidence.components, live, incidence.kinds)
            if version != incidence.version or not fresh.same(self._classes):
                self._classes = fresh
            self._classes_of = (incidence.version, self.newest_s)
        return self._classes or fresh

    def keep(self, rows: Bool) -> None:
        """Forget the other paths."""
        self.index.retain(rows)
        self.incidence.retain(rows)
        self.history.retain(rows)
        self.latency.retain(rows)
        self.drift.retain(rows)
        for column in (self._ends, self._layer, self._pair):
            column.retain(rows)
        self.shift = None
        self._classes = None
        paths, ends = self.index.paths, set[tuple[int, int]]()
        for side, hosts in (("src", self.src), ("dst", self.dst)):
            through = np.unique(pair_key(hosts, paths.column(f"{side}_real_ip"))).tolist()
            ends |= {(each >> 32, each & 0xFFFFFFFF) for each in through}
        rnics = paths.table("src_real_ip").texts
        self.hosts.probed_through((host, rnics[code]) for host, code in ends)

    def tidy(self, second: int) -> None:
        """Forget names, switches, jobs and whatever else no path needs any more."""
        self.incidence.drop_waiting_routes()
        boxes = self.index.tables["node_id"]
        self.placements.drop_old(second, boxes)
        self.maintenance.drop_ended(second)
        self.jobs = {
            box: job for box, job in self.jobs.items()
            if box in self._given_jobs or box in boxes or box in self.placements
        }  # fmt: skip
        renamed = self.index.compact(always=self.incidence.wasteful)
        if renamed:
            paths = self.index.paths
            self.incidence = self.incidence.rebuilt(paths)
            self._pairs = {name: KeyIndex() for name in self._pairs}
            self._pair.values[...] = self._pairs_of(paths)
            self._classes = None

    def sizes(self) -> dict[str, int]:
        """How much is remembered, by what."""
        return {
            "paths": len(self.index),
            "texts": self.index.texts,
            "endpoint_pairs": len(self._pairs["layer"]),
            "hosts": len(self.hosts),
            "pods": len(self.pods),
            "jobs": len(self.jobs),
            "silent_scopes": len(self.silent_scopes),
            "placements": len(self.placements),
            "maintenance": len(self.maintenance),
            "suppressed": len(self.suppression_log.all),
            **self.incidence.sizes(),
        }

    def forget_hosts(self, since_s: int) -> None:
        """Forget hosts that no path ends on and that have said nothing since then, but for a day
        those of a pod or fabric that is silent: it is over when half of them are back."""
        keep = self.hosts.heard(since_s)
        keep[self._ends.values.ravel()] = True
        whole = component("fabric", self.fabric) in self.silent_scopes
        missed = self.hosts.heard(since_s - MISSED_S)
        for code in np.flatnonzero(~keep & missed).tolist():
            pod = self.pods.get(self.hosts.names[code])
            dead = pod is not None and component("pod", pod) in self.silent_scopes
            keep[code] = whole or dead
        if not keep.all():
            self._ends.values[...] = (np.cumsum(keep) - 1)[self._ends.values]
            self.hosts.retain(keep)
            here = {host: pod for host in self.hosts.names if (pod := self.pods.get(host))}
            self.pods = self._given_pods | here
        if self.silent_scopes:  # a pod may have lost its hosts, or its name
            scopes = {component("pod", pod) for pod in self.pods.values()}
            self.silent_scopes &= scopes | {component("fabric", self.fabric)}

    def touches(self, hosts: Bool) -> Bool:
        """(P,) paths with an end on one of these hosts (H,)."""
        return hosts[self.src] | hosts[self.dst]
