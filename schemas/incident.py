"""skh.incidents and skh.anomalies: the documents that people and programs act on.

The structs are the single source; ``schemas/json/*.schema.json`` are generated from them
(``skeletonhunter topics --json-schemas DIR``) and a test compares the two.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Symptom = Literal["loss", "unconnectivity", "high_latency", "agent_down", "agent_starved",
                  "host_down", "clock_skewed"]  # fmt: skip
Layer = Literal["overlay", "underlay", "host", "agent"]
State = Literal["open", "ongoing", "resolved"]
Severity = Literal["P0", "P1", "P2"]
Direction = Literal["both", "a>b", "b>a"]

#: Smallest p-value of a document: it stands for this or less, for no test is surer than that.
SMALLEST_P: Final = 1e-300


class Anomaly(msgspec.Struct, frozen=True):
    """One path that behaved badly in the window in which something was decided.

    loss_rate 0..1; latency_excess_us against the path's own past; times RFC 3339 UTC, event time.
    """

    fabric: str
    path_id: str  # 16 hex digits of the 64-bit hash
    layer: Layer
    symptom: Symptom
    src_node_sn: str
    src_real_ip: str
    src_ip: str
    dst_node_sn: str
    dst_real_ip: str
    dst_ip: str
    src_port: int
    dst_port: int
    window_start: str
    window_end: str
    sent: int
    lost: int
    loss_rate: float
    latency_excess_us: float | None = None
    incident_id: str | None = None


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """One cause. Every state change is a whole new document with a higher version.

    component     the most probable culprit; tie_set all that probes cannot tell from it (with it)
    parent        incident_id of the incident whose cause explains this one, else null
    issue_type    null unless one type is more probable than all others together, and twice as
                  probable as the next; evidence.issue_types has the probabilities in any case
    confidence    probability, below 1, that the component itself is the culprit; those of the whole
                  tie set are in evidence.tie_set_probability
    p_value       of the test that decided, corrected for the tests made at that moment; 1e-300
                  stands for that or less, and 1 for a verdict by rule, which no test stands behind
    opened_at     first bad pane; detected_at what a live user would have seen; event time, UTC
    evidence      text (one sentence a person understands), facts behind it, alternatives
    """

    incident_id: str
    version: int
    state: State
    fabric: str
    component: str
    kind: str
    layer: Layer
    symptom: Symptom
    issue_type: str | None
    direction: Direction
    opened_at: str
    detected_at: str
    updated_at: str
    closed_at: str | None
    severity: Severity
    confidence: float
    p_value: float
    tie_set: list[str]
    parent: str | None
    paths_bad: int
    paths_total: int
    jobs: list[str] = []
    tenants: list[str] = []
    strategy: str = ""
    evidence: dict[str, object] = {}


_incident_decoder = msgspec.json.Decoder(Incident)


def decode_incident(raw: bytes) -> Incident:
    """Parse one incident document; raises msgspec.MsgspecError naming the field."""
    return _incident_decoder.decode(raw)


def encode(document: Incident | Anomaly) -> bytes:
    """One line of JSON without a newline."""
    return msgspec.json.encode(document)
