"""What the localiser remembers of one fabric: paths, their places, counts, latencies, hosts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from localizer.assemble import Frame
from localizer.budget import AlarmBudget
from localizer.detectors.latency import LatencyMemory, Shift, quartile_mean
from localizer.detectors.loss import Background
from localizer.detectors.silence import HostMemory
from localizer.history import History
from localizer.incidence import Incidence
from localizer.incidents import Impact
from localizer.observability import Classes, classes
from localizer.paths import Path, PathIndex
from localizer.verdict import Verdict
from schemas.incident import Anomaly, Incident, Severity
from schemas.topology import Topology

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

LIVE_S = 90  # paths probed within this time count for what probes can tell apart
MOST_ANOMALIES = 200  # per incident document


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of the localiser.

    strategy             registered name
    false_per_week       alarm budget per fabric [incidents]
    lateness_s           of the windower: detected_at = watermark at decision + lateness
    observers            source hosts that it takes to blame the network
    """

    strategy: str = "hypothesis"
    false_per_week: float = 1.0
    lateness_s: float = 2.0
    observers: int = 3


class FabricState:
    """Everything that ``judge`` reads; grows with paths, forgets with time."""

    def __init__(self, fabric: str, topology: Topology | None, options: Options) -> None:
        self.fabric = fabric
        self.options = options
        self.budget = AlarmBudget(options.false_per_week)
        self.index = PathIndex()
        self.incidence = Incidence(topology)
        self.history = History()
        self.latency = LatencyMemory()
        self.background = Background()
        self.hosts = HostMemory()
        self.src: I32 = np.empty(0, np.int32)
        self.dst: I32 = np.empty(0, np.int32)
        self.layer: npt.NDArray[np.int8] = np.empty(0, np.int8)  # 1 = overlay
        self.pair: I64 = np.empty(0, np.int64)  # code of (endpoint pair, layer)
        self.shift: Shift | None = None  # of the window that ends with this second, if one does
        self.suspects: set[str] = set()  # components of open incidents about reachability
        self._pairs: dict[tuple[str, str, str], int] = {}
        self._classes: Classes | None = None
        self._classes_s = 0
        self._newest_s = 0
        self._jobs = {
            box.node_id: (box.job, box.tenant) for box in (topology.containers if topology else ())
        }

    def take(self, frame: Frame) -> None:
        """Write a frame into the memories."""
        if frame.jumped:
            self.history.clear()
            self.latency.clear()
        self._newest_s = frame.second
        counts: dict[str, list[npt.NDArray[np.uint32]]] = {n: [] for n in History.FIELDS}
        rows: list[I64] = [np.empty(0, np.int64)]
        rtt: list[npt.NDArray[np.float32]] = [np.empty(0, np.float32)]
        for batch in frame.panes:
            rows.append(self._rows(batch))
            rtt.append(batch.column("rtt_mean_us").to_numpy())
            for name, parts in counts.items():
                parts.append(batch.column(name).to_numpy())
        where = np.concatenate(rows)
        empty = np.empty(0, np.uint32)
        self.history.put(
            frame.second,
            where,
            np.concatenate(rtt),
            **{n: np.concatenate([empty, *p]) for n, p in counts.items()},
        )
        self.hosts.probed(frame.second, self.src[where])
        self.shift = self._judge_latency(frame) if frame.windows else None

    def _judge_latency(self, frame: Frame) -> Shift:
        parts = [(self._rows(batch), batch) for batch in frame.windows]
        value = np.full(len(self.index), np.nan)
        for rows, batch in parts:
            p25, p50, p75 = (
                batch.column(f"rtt_{q}_us").to_numpy().astype(np.float64)
                for q in ("p25", "p50", "p75")
            )
            value[rows] = quartile_mean(p25, p50, p75, batch.column("rtt_count").to_numpy())
        return self.latency.judge(frame.second + 1, value, self.layer)

    def _rows(self, batch: pa.RecordBatch) -> I64:
        rows, new = self.index.rows(batch)
        if new:
            self._add(new)
        return rows

    def _add(self, new: list[Path]) -> None:
        self.incidence.add(new)
        self._classes = None
        self.history.grow(len(self.index))
        ends = np.array([self.hosts.place(path) for path in new], np.int32)
        self.src, self.dst = np.append(self.src, ends[:, 0]), np.append(self.dst, ends[:, 1])
        overlay = [path.layer == "overlay" for path in new]
        self.layer = np.append(self.layer, np.array(overlay, np.int8))
        pairs = [
            self._pairs.setdefault((p.layer, p.src_real_ip, p.dst_real_ip), len(self._pairs))
            for p in new
        ]
        self.pair = np.append(self.pair, pairs)

    def take_routes(self, batch: pa.RecordBatch) -> None:
        """Learn traceroutes."""
        names = ("layer", "src_ip", "dst_ip", "src_port", "dst_port", "hops")
        for *flow, hops in zip(*(batch.column(n).to_pylist() for n in names), strict=True):
            self.incidence.learn_route(tuple(flow), hops or [])
        self._classes = None

    def take_heartbeats(self, batch: pa.RecordBatch) -> None:
        """Learn signs of life."""
        for beat in batch.to_pylist():
            self.hosts.beat(
                beat["node_sn"], beat["time"] / 1e9, alive=beat["alive"],
                steal=beat["cpu_steal"], delay_us=beat["scheduling_delay_us"],
            )  # fmt: skip

    def classes(self) -> Classes:
        """Observability classes of what is probed now."""
        if self._classes is None or self._newest_s - self._classes_s >= LIVE_S // 3:
            live = self.history.last_seen >= self._newest_s - LIVE_S
            self._classes = classes(self.incidence.matrix(), self.incidence.components, live)
            self._classes_s = self._newest_s
        return self._classes

    def keep(self, rows: Bool) -> None:
        """Forget the other paths."""
        self.index.keep(rows)
        self.incidence.keep(rows)
        self.history.keep(rows)
        self.latency.keep(rows)
        self.src, self.dst = self.src[rows], self.dst[rows]
        self.layer, self.pair = self.layer[rows], self.pair[rows]
        self.shift = None
        self._classes = None

    def touches(self, hosts: Bool) -> Bool:
        """(P,) paths with an end on one of these hosts (H,)."""
        return hosts[self.src] | hosts[self.dst]

    def impact(self, verdict: Verdict) -> Impact:
        """Whom it hits: P0 a job's traffic, severely; P1 a job's traffic; P2 neither."""
        boxes: set[str] = set()
        tenants: set[str] = set()
        overlay = False
        for row in verdict.bad.tolist():
            path = self.index.paths[row]
            if path.layer == "overlay":
                overlay = True
                boxes |= {path.src_node_id, path.dst_node_id}
                tenants.add(path.src_tenant_id)
        placed = [self._jobs[box] for box in boxes if box in self._jobs]
        jobs = sorted({job for job, _ in placed} - {""})
        tenants |= {tenant for _, tenant in placed}
        severe = verdict.symptom == "unconnectivity" or (
            verdict.symptom == "loss" and verdict.effect >= 0.05
        )
        severity: Severity = "P2"
        if verdict.family != "agent" and (jobs or overlay):
            severity = "P0" if severe else "P1"
        return Impact(severity, jobs, sorted(tenants - {""}))

    def anomalies(self, second: int, incident: Incident, bad: I64) -> list[Anomaly]:
        """The bad paths behind a document, at most MOST_ANOMALIES."""
        length = 30 if incident.symptom == "high_latency" else 5
        sent = self.history.total("sent", second, length)
        lost = self.history.total("lost", second, length)
        out = []
        for row in bad[:MOST_ANOMALIES].tolist():
            path = self.index.paths[row]
            excess = None
            if self.shift is not None and incident.symptom == "high_latency":
                excess = round(float(self.shift.excess_us[row]), 3)
            out.append(
                Anomaly(
                    fabric=self.fabric, path_id=f"{path.path_id:016x}",
                    layer="overlay" if path.layer == "overlay" else "underlay",
                    symptom=incident.symptom, src_node_sn=path.src_node_sn,
                    src_real_ip=path.src_real_ip, src_ip=path.src_ip,
                    dst_node_sn=path.dst_node_sn, dst_real_ip=path.dst_real_ip,
                    dst_ip=path.dst_ip, src_port=path.src_port, dst_port=path.dst_port,
                    window_start=_utc(second + 1 - length), window_end=_utc(second + 1),
                    sent=int(sent[row]), lost=int(lost[row]),
                    loss_rate=round(float(lost[row]) / max(1, int(sent[row])), 6),
                    latency_excess_us=excess, incident_id=incident.incident_id,
                )
            )  # fmt: skip
        return out


def _utc(seconds: int) -> str:
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"
