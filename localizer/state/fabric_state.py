"""State of one fabric: what every rule of a second reads. No I/O.

Paths are rows; every column by path (here, in the history, the baselines and the incidence) has the
order of the path table, and ``retain`` drops the same rows of all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from localizer.baselines.cadence import Cadence
from localizer.baselines.drift import DriftBaseline
from localizer.baselines.hosts import HostActivity
from localizer.baselines.latency import FEATURES
from localizer.baselines.loss import ClassLoss, LearntLoss, LossBaseline
from localizer.baselines.pane_history import PaneHistory
from localizer.baselines.source_weights import bounded
from localizer.detectors.alarm_budget import AlarmBudget
from localizer.detectors.latency.deviation import comparable
from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.observability import Classes, classes
from localizer.fabric.path_index import PathIndex
from localizer.options import Options
from localizer.second_batch import SecondBatch
from localizer.state.inventory import Inventory
from localizer.state.latency_state import LatencyState, SparsePaths
from localizer.state.path_columns import PathColumns
from localizer.suppression.log import SuppressionLog
from localizer.suppression.maintenance import MaintenanceWindows
from localizer.suppression.placement import Placements
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology

Bool = npt.NDArray[np.bool_]
I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class FabricState:
    """Everything that ``verdicts.second`` reads.

    topology        document that holds; None: the fabric is learnt from records
    index           path table; history, latency, drift, loss ... are by its rows, or by host
    columns         further columns of the path table; inventory: pods of hosts, jobs of containers
    latency         what is usual, and the deviation of the window that ends with this second
    suspects        components of open incidents about reachability, and of their tie sets; named:
                    the components alone; slow: as suspects, about latency; drifting: about drift;
                    troubled: the suspects, and those of incidents about reachability that ended
                    within the longest window of seconds
    ended           component of a resolved incident about reachability -> its last second of
                    trouble
    unsettled_s     length of a window -> newest second in which it could not tell all culprits
    crowded_s       the same where it named many: the first such second, and the newest
    silent_scopes   pods, or the fabric, that fell silent as a whole
    """

    def __init__(self, fabric: str, topology: Topology | None, options: Options) -> None:
        self.fabric = fabric
        self.topology = topology
        self.options = options
        self.budget = AlarmBudget(options.false_per_week)
        self.index = PathIndex()
        self.incidence = Incidence(topology)
        self.history = PaneHistory(parameters=options.baselines.long_counts)
        self.latency = LatencyState(options)
        self.cadence = Cadence(options.timing.window_s, options.baselines.cadence)
        self.drift = DriftBaseline(options.baselines.drift)
        self.learnt_loss = LearntLoss(options.baselines.loss)
        self.class_loss = ClassLoss(options.baselines.class_loss)
        self.hosts = HostActivity(options.baselines.hosts)
        self.columns = PathColumns()
        self.inventory = Inventory(topology)
        self.suspects: set[str] = set()
        self.named: set[str] = set()
        self.troubled: set[str] = set()
        self.ended: dict[str, int] = {}
        self.slow: set[str] = set()
        self.drifting: set[str] = set()
        self.silent_scopes: set[str] = set()
        self.unsettled_s: dict[int, int] = {}
        self.crowded_s: dict[int, tuple[int, int]] = {}
        self._classes: Classes | None = None
        self._classes_of = (0, 0)  # version of the incidence, second
        self.newest_s = 0
        self.placements = Placements()
        self.maintenance = MaintenanceWindows()
        self.suppression_log = SuppressionLog()

    @property
    def src(self) -> I32:
        """(P,) source host of each path."""
        src: I32 = self.columns.hosts[0]
        return src

    @property
    def dst(self) -> I32:
        """(P,) destination host of each path."""
        dst: I32 = self.columns.hosts[1]
        return dst

    @property
    def layer(self) -> I8:
        """(P,) 1 = overlay."""
        return self.columns.layer

    @property
    def agentless(self) -> Bool:
        """(P,) probes that the peer's kernel answers: TCP, ICMP."""
        return self.columns.agentless

    def kernel_answers(self, at: int, length: int) -> I64:
        """(P,) probes of so many seconds that only the peer's kernel has answered: those of its
        agent that it refused, and those that need no agent."""
        sent, lost, refused = (
            self.history.total(name, at, length) for name in ("sent", "lost", "refused")
        )
        return np.where(self.agentless, sent - lost, refused)

    def without_agent(self, at: int) -> Bool:
        """(H,) hosts that TCP or ICMP probes, and of which no agent was ever heard: their silence
        means nothing."""
        out = np.zeros(len(self.hosts), bool)
        if self.agentless.any():
            out[self.dst[self.agentless]] = True
            out &= self.hosts.last_seen(at).last_s == -np.inf
        return out

    @property
    def pair(self) -> I64:
        """(P,) code of (endpoint pair, layer)."""
        return self.columns.pair

    @property
    def pods(self) -> dict[str, str]:
        """Host -> pod."""
        return self.inventory.pods

    @property
    def jobs(self) -> dict[str, tuple[str, str]]:
        """Container -> (job, tenant)."""
        return self.inventory.jobs

    def ingest(self, batch: SecondBatch) -> None:
        """Write panes and windows of the next second into the history, test the windows."""
        if batch.jumped:
            self.history.clear()
            self.latency.clear()
        self.newest_s = batch.second
        counts: dict[str, list[npt.NDArray[np.uint32]]] = {n: [] for n in PaneHistory.FIELDS}
        rows: list[I64] = [np.empty(0, np.int64)]
        rtt: list[npt.NDArray[np.float32]] = [np.empty(0, np.float32)]
        rows += self._rows(batch.panes)
        for pane in batch.panes:
            rtt.append(pane.column("rtt_mean_us").to_numpy())
            for name, parts in counts.items():
                parts.append(pane.column(name).to_numpy())
        where = np.concatenate(rows)
        empty = np.empty(0, np.uint32)
        counted = {n: np.concatenate([empty, *p]) for n, p in counts.items()}
        rtt_us = np.concatenate(rtt)
        any_known = self.cadence.any_known
        self.cadence.observe(batch.second, where, self.history.last_seen)
        self.latency.learn_answers(batch.second, where, rtt_us, every_path=not any_known)
        source = self.src[where]
        weighted = bounded(source, counted, self.options.baselines.source_weights)
        self.history.put(batch.second, where, rtt_us, **weighted)
        self._learn_class_loss()
        self.hosts.probed(batch.second, source)
        self.latency.drop_deviations()
        if batch.windows:
            self._compare_latency(batch)

    def _learn_class_loss(self) -> None:
        """Learn from what is older than all windows, but not of classes with an open incident, nor
        what would have been one."""
        for each in self.history.dropped:
            groups = self.classes()
            sent, lost = groups.pooled(each.sent), groups.pooled(each.lost)
            material = self.options.detectors.loss.least_excess
            healthy = lost <= (self.background.rate + material) * sent
            healthy &= ~groups.holding(self.suspects)
            fabric = float(each.sent.sum()), float(each.lost.sum())
            self.class_loss.learn(
                groups.names, each.seconds, sent * healthy, lost * healthy, fabric
            )

    @property
    def background(self) -> LossBaseline:
        """What the fabric loses when it is healthy."""
        return self.learnt_loss.baseline

    def note_many_culprits(self, second: int, unsettled: list[int], crowded: list[int]) -> None:
        """Note windows (lengths) that hold many culprits; those of a while ago are dropped."""
        again_s = self.options.verdicts.reachability.again_s
        recent = {n: at for n, at in self.unsettled_s.items() if second - at < again_s}
        self.unsettled_s = recent | dict.fromkeys(unsettled, second)
        known = {n: both for n, both in self.crowded_s.items() if second - both[1] <= again_s}
        self.crowded_s = known | {n: (known.get(n, (second,))[0], second) for n in crowded}

    def _compare_latency(self, batch: SecondBatch) -> None:
        """Compare the windows that end with this second with what is usual of their paths."""
        parts = list(zip(self._rows(batch.windows), batch.windows, strict=True))
        sparse, round_s = self.cadence.sparse(self.pair, self.history.last_seen, batch.second)
        dense = np.ones(len(self.index), bool)
        dense[sparse] = False
        self.latency.compare(
            batch.second + 1, np.flatnonzero(dense), self._features(batch.second, parts, dense),
            self.layer, SparsePaths(sparse, self.pair[sparse], round_s),
            any_known=self.cadence.any_known,
        )  # fmt: skip

    def _features(
        self, second: int, parts: list[tuple[I64, pa.RecordBatch]], dense: Bool
    ) -> npt.NDArray[np.float32]:
        """(n, F) features of the windows of the paths of a mask (P,), NaN where unknown.

        parts  rows (m,) of the paths of each chunk of windows that ends with this second
        """
        number = np.cumsum(dense) - 1
        features = np.full((int(dense.sum()), len(FEATURES)), np.nan, np.float32)
        if not len(features):
            return features
        third_s = self.options.timing.third_s
        ends = (second - third * third_s for third in range(3))
        whole = np.logical_and.reduce([self.history.heard(end, third_s) for end in ends])
        for rows, window in parts:
            some = np.flatnonzero(dense[rows])
            if not len(some):
                continue
            columns = [window.column(f"rtt_{name}_us").to_numpy()[some] for name in FEATURES]
            features[number[rows[some]]] = comparable(
                np.stack(columns, axis=1), window.column("rtt_count").to_numpy()[some],
                whole[rows[some]], self.options.detectors.latency.least_answers,
            )  # fmt: skip
        return features

    def _rows(self, batches: list[pa.RecordBatch]) -> list[I64]:
        rows, new = self.index.rows(batches)
        if len(new):
            self.incidence.add(new)
            self.history.grow(len(self.index))
            self.cadence.grow(len(self.index))
            self.columns.append(new, self.hosts)
            self.inventory.learn_pods(new)
        return rows

    def follow(self, topology: Topology) -> None:
        """Another topology document holds from now on: every path is located anew."""
        self.topology = topology
        paths = self.index.paths
        self.incidence = self.incidence.following(topology, paths)
        self.inventory.follow(topology, paths)
        self.forget_classes()

    def learn_placements(self, documents: list[Placement]) -> None:
        """Learn where containers run and what for."""
        self.placements.add(documents)
        self.inventory.learn_jobs(documents)

    def learn_routes(self, batch: pa.RecordBatch) -> None:
        """Learn traceroutes; what was counted on another route does not speak for the new one."""
        outdated = self.incidence.learn_routes(batch, self.newest_s)
        if outdated.any():
            self.history.erase(outdated)

    def learn_heartbeats(self, batch: pa.RecordBatch) -> None:
        """Learn when hosts and their agents were alive."""
        names = ("node_sn", "time", "alive", "cpu_steal", "scheduling_delay_us")
        columns = (batch.column(name).to_pylist() for name in names)
        for host, time_ns, alive, steal, delay_us in zip(*columns, strict=True):
            self.hosts.beat(host, time_ns / 1e9, alive=alive, steal=steal, delay_us=delay_us)

    def classes(self) -> Classes:
        """Observability classes of the paths that are probed now; cached until these change."""
        version, second = self._classes_of
        live_s = self.options.retention.live_s
        if (
            self._classes is None
            or version != self.incidence.version
            or self.newest_s - second >= live_s // 3
        ):
            live = self.cadence.live(
                self.history.last_seen, self.newest_s, live_s, self.options.retention.unheard_s
            )
            factored, incidence = self.incidence.factored(), self.incidence
            fresh = classes(factored, incidence.components, live, incidence.kinds)
            if version != incidence.version or not fresh.same(self._classes):
                self._classes = fresh
            self._classes_of = (incidence.version, self.newest_s)
        return self._classes or fresh

    def forget_classes(self) -> None:
        """Make the observability classes anew when they are asked for."""
        self._classes = None

    def probed(self, at: int, least_s: float) -> Bool:
        """(P,) paths that are still probed, at the cadence of each; ``least_s`` at the quickest."""
        unheard_s = self.options.retention.unheard_s
        return self.cadence.live(self.history.last_seen, at, least_s, unheard_s)

    def retain(self, rows: Bool) -> None:
        """Drop all paths but those of a mask (P,)."""
        self.index.retain(rows)
        self.incidence.retain(rows)
        self.history.retain(rows)
        self.latency.retain(rows)
        self.cadence.retain(rows)
        self.drift.retain(rows)
        self.columns.retain(rows)
        self._classes = None
        self.hosts.probed_through(self.columns.rnics(self.index.paths))

    def sizes(self) -> dict[str, int]:
        """How much is stored, by what [count]."""
        return {
            "paths": len(self.index),
            "texts": self.index.texts,
            "endpoint_pairs": self.columns.pairs,
            "hosts": len(self.hosts),
            "pods": len(self.pods),
            "jobs": len(self.jobs),
            "silent_scopes": len(self.silent_scopes),
            "placements": len(self.placements),
            "maintenance": len(self.maintenance),
            "suppressed": len(self.suppression_log.all),
            **self.incidence.sizes(),
        }

    def touches(self, hosts: Bool) -> Bool:
        """(P,) paths with an end on one of these hosts (H,)."""
        if not hosts.any():
            return np.zeros(len(self.src), bool)
        return hosts[self.src] | hosts[self.dst]
