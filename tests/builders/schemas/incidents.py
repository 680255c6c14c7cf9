"""Incidents: one of a ToR, of an rnic, explained by another, of the pipeline, resolved."""

from __future__ import annotations

import msgspec

from schemas.documents.incident import Incident

INCIDENT = Incident(
    incident_id="AAAA", version=1, state="open", fabric="f1", component="tor:asw-3-1", kind="tor",
    layer="underlay", symptom="loss", issue_type="switch_packet_loss", direction="both",
    opened_at="2026-01-31T12:00:00Z", detected_at="2026-01-31T12:00:04.5Z",
    updated_at="2026-01-31T12:00:04.5Z", closed_at=None, severity="P1", confidence=0.93,
    p_value=2.4e-11, tie_set=["tor:asw-3-1"], parent=None, paths_bad=41, paths_total=43,
    jobs=["llm-70b"], tenants=["blue"], strategy="deepview",
    evidence={
        "text": "41 of 43 bad paths cross tor:asw-3-1; 0 of 2,310 good ones do",
        "bad_paths_crossing": 41, "good_paths_crossing": 0,
        "alternatives": [{"component": "spine:dsw-1", "log_likelihood_ratio": -12.5}],
    },
)  # fmt: skip
NIC = msgspec.structs.replace(
    INCIDENT, incident_id="BBBB", component="rnic:10.0.0.1", kind="rnic", severity="P0",
    symptom="unconnectivity", issue_type="nic_down", opened_at="2026-01-31T12:05:00Z",
    detected_at="2026-01-31T12:05:03Z", jobs=["bert"], tenants=["red"], fabric="f2",
    tie_set=["rnic:10.0.0.1", "link:rnic:10.0.0.1|tor:asw-3-1"],
    evidence={"text": "All 24 paths of rnic:10.0.0.1 are silent; its neighbours answer"},
)  # fmt: skip
CHILD = msgspec.structs.replace(
    INCIDENT, incident_id="CCCC", component="vswitch:host-7", kind="vswitch", parent="AAAA",
    layer="overlay", symptom="high_latency", severity="P2", tie_set=["vswitch:host-7"],
    opened_at="2026-01-31T12:01:00Z", evidence={"text": "explained by tor:asw-3-1"},
)  # fmt: skip
PIPELINE = msgspec.structs.replace(
    INCIDENT, incident_id="DDDD", component="pipeline:f1", kind="pipeline", layer="pipeline",
    symptom="judging_failed", issue_type=None, severity="P2", tie_set=["pipeline:f1"],
    paths_bad=0, paths_total=0, p_value=0.0, jobs=[], tenants=[], strategy="",
    evidence={"text": "judging a pane message failed: RuntimeError: why", "errors": 1},
)  # fmt: skip
RESOLVED = msgspec.structs.replace(
    INCIDENT, version=2, state="resolved", updated_at="2026-01-31T12:10:00Z",
    closed_at="2026-01-31T12:10:00Z",
)  # fmt: skip
