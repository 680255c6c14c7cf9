"""skh.incidents and skh.anomalies: the documents that operators and programs act on.

The structs are the single source; ``schemas/json/*.schema.json`` are generated from them
(``skeletonhunter topics --json-schemas DIR``) and a test compares the two.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from schemas.component_ids import KINDS, kind_of
from schemas.documents.times import seconds_of
from schemas.limits import LIMITS, Limits

Symptom = Literal["loss", "unconnectivity", "high_latency", "agent_down", "agent_starved",
                  "host_down", "clock_skewed", "judging_failed"]  # fmt: skip
Layer = Literal["overlay", "underlay", "host", "agent", "pipeline"]
State = Literal["open", "ongoing", "resolved"]
Severity = Literal["P0", "P1", "P2"]
Direction = Literal["both", "a>b", "b>a"]

#: Smallest p-value of a document; it stands for this or less.
SMALLEST_P: Final = 1e-300


class Anomaly(msgspec.Struct, frozen=True):
    """One path that was anomalous in the window of a verdict.

    loss_rate                 0..1
    latency_excess_us         above the path's own baseline [us]
    window_start, window_end  RFC 3339, UTC, event time
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

    An incident of kind ``pipeline`` (symptom ``judging_failed``) reports that SkeletonHunter itself
    cannot localize the fabric: it concerns no component of the network and has no paths, and its
    times are those at which the broker received the messages, not event time.

    component     the most probable culprit
    tie_set       all components that probes cannot distinguish from it, itself included
    parent        incident_id of the incident whose cause explains this one, else null
    issue_type    null unless one type is more probable than all others together, and twice as
                  probable as the next; evidence.issue_types has all probabilities
    confidence    probability, below 1, that the component is the culprit; probabilities of the
                  whole tie set are in evidence.tie_set_probability
    p_value       of the deciding test, corrected for all tests of that moment; 1e-300 stands for
                  that or less, 1 for a verdict by rule without a test
    opened_at     first bad pane, event time, UTC
    detected_at   when a live user would have seen the incident, event time, UTC
    evidence      text (one plain sentence), the facts behind it, alternatives
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
_END_S: Final = 9_183_110_400  # 2261-01-01; ClickHouse's DateTime64 ends in 2262


def decode_incident(raw: bytes) -> Incident:
    """Parse an incident that this system wrote; raises msgspec.MsgspecError naming the field."""
    return _incident_decoder.decode(raw)


def read_incident(
    raw: bytes, *, latest_s: float | None = None, limits: Limits = LIMITS
) -> Incident:
    """Parse an incident from an untrusted writer, and check all of it.

    latest_s  no time in it may be later than this [s since the epoch]; None: any time
    Raises ValueError that names the field, for any other bytes.
    """
    if len(raw) > limits.incident_bytes:
        raise ValueError(f"incident of {len(raw)} B; it may have {limits.incident_bytes} B")
    try:
        document = _incident_decoder.decode(raw)
    except RecursionError as why:
        raise ValueError("incident: brackets are nested too deep") from why
    for name in ("incident_id", "fabric", "component"):
        if not getattr(document, name):
            raise ValueError(f"incident: {name} is empty")
    for name in ("incident_id", "fabric", "component", "parent", "strategy", "issue_type"):
        if len((getattr(document, name) or "").encode()) > limits.name_bytes:
            raise ValueError(f"incident: {name} is longer than {limits.name_bytes} B")
    if kind_of(document.component) not in KINDS:
        raise ValueError(f"incident: component {document.component[:100]!r} is no component id")
    for name in ("version", "paths_bad", "paths_total"):
        if not 0 <= getattr(document, name) < 2**31:
            raise ValueError(f"incident: {name} is not a count")
    for name in ("opened_at", "detected_at", "updated_at", "closed_at"):
        if (text := getattr(document, name)) is not None:
            _check_time(name, text, latest_s)
    return document


def _check_time(name: str, text: str, latest_s: float | None) -> None:
    try:
        time_s = seconds_of(text[:64])
    except (ValueError, OverflowError) as why:
        raise ValueError(f"incident: {name}: {why}") from why
    if not 0 <= time_s < _END_S:
        raise ValueError(f"incident: {name}: {text!r} is not a time from 1970 to 2261")
    if latest_s is not None and time_s > latest_s:
        raise ValueError(f"incident: {name}: {text!r} has not come yet")


def encode(document: Incident | Anomaly) -> bytes:
    """One line of JSON without a newline."""
    return msgspec.json.encode(document)
