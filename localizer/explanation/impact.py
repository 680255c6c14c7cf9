"""Whom a verdict hits, and the bad paths behind its incident."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.explanation.parameters import DEFAULT
from localizer.incidents.tracked_incident import Impact
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Verdict
from schemas.documents.incident import Anomaly, Incident, Severity
from schemas.documents.times import rfc3339

I64 = npt.NDArray[np.int64]


def impact(state: FabricState, verdict: Verdict) -> Impact:
    """Jobs and tenants that a verdict hits, and its severity.

    P0 a job's traffic, severely; P1 a job's traffic; P2 no job's traffic.
    """
    containers: set[str] = set()
    tenants: set[str] = set()
    paths = state.index.paths
    rows = verdict.bad[state.layer[verdict.bad] == 1]
    overlay = len(rows) > 0
    for field, names in (
        ("src_node_id", containers), ("dst_node_id", containers), ("src_tenant_id", tenants),
        ("dst_tenant_id", tenants),
    ):  # fmt: skip
        texts = paths.table(field).texts
        names |= {texts[code] for code in np.unique(paths.column(field)[rows]).tolist()}
    placed = [state.jobs[each] for each in containers if each in state.jobs]
    jobs = sorted({job for job, _ in placed} - {""})
    tenants |= {tenant for _, tenant in placed}
    severe = verdict.symptom == "unconnectivity" or (
        verdict.symptom == "loss" and verdict.effect >= DEFAULT.severe_loss
    )
    severity: Severity = "P2"
    if verdict.family != "agent" and (jobs or overlay):
        severity = "P0" if severe else "P1"
    return Impact(severity, jobs, sorted(tenants - {""}))


def anomalies(state: FabricState, second: int, incident: Incident, bad: I64) -> list[Anomaly]:
    """The bad paths behind a document, at most ``anomalies``."""
    options = state.options
    length = options.verdicts.reachability.windows_s[0]
    if incident.symptom == "high_latency":
        length = options.timing.window_s
    sent = state.history.total("sent", second, length)
    lost = state.history.total("lost", second, length)
    out = []
    for row in bad[: DEFAULT.anomalies].tolist():
        path = state.index.paths[row]
        excess = None
        if state.latency.deviation is not None and incident.symptom == "high_latency":
            excess = round(float(state.latency.deviation.excess_us[row]), 3)
        out.append(
            Anomaly(
                fabric=state.fabric, path_id=f"{path.path_id:016x}",
                layer="overlay" if path.layer == "overlay" else "underlay",
                symptom=incident.symptom, src_node_sn=path.src_node_sn,
                src_real_ip=path.src_real_ip, src_ip=path.src_ip,
                dst_node_sn=path.dst_node_sn, dst_real_ip=path.dst_real_ip,
                dst_ip=path.dst_ip, src_port=path.src_port, dst_port=path.dst_port,
                window_start=rfc3339((second + 1 - length) * 10**9),
                window_end=rfc3339((second + 1) * 10**9),
                sent=int(sent[row]), lost=int(lost[row]),
                loss_rate=round(float(lost[row]) / max(1, int(sent[row])), 6),
                latency_excess_us=excess, incident_id=incident.incident_id,
            )
        )  # fmt: skip
    return out
