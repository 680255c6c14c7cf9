"""Messages of the topics that the sink reads, and the documents in them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec
import pyarrow as pa

from schemas import topics
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Anomaly, Incident
from schemas.documents.requests.evidence import DeviceCounters, Evidence
from schemas.wire import window_chunks
from streams.sink.batch import Message
from streams.sink.rows import Place

RECORD = {
    "agent_type": "underlay", "dial": "success", "src_ip": "10.0.0.1", "dst_ip": "10.0.0.2",
    "src_port": 50000, "dst_port": 4791, "task_type": "UDP_PING", "latency": 16.183,
    "ping_time": 1_733_989_087_162_141_801, "extra_stats": '{"sent": 8, "lost": 1}',
}  # fmt: skip
INCIDENT = Incident(
    incident_id="ABC", version=1, state="open", fabric="f1", component="tor:asw-1", kind="tor",
    layer="underlay", symptom="loss", issue_type=None, direction="both",
    opened_at="2026-01-01T00:00:00Z", detected_at="2026-01-01T00:00:04.5Z",
    updated_at="2026-01-01T00:00:04.5Z", closed_at=None, severity="P1", confidence=0.9,
    p_value=1e-9, tie_set=["tor:asw-1"], parent=None, paths_bad=41, paths_total=43,
    jobs=["train"], evidence={"text": "41 of 43 bad paths cross tor:asw-1"},
)  # fmt: skip
ANOMALY = Anomaly(
    fabric="f1", path_id="00000000000000ff", layer="underlay", symptom="loss", src_node_sn="h1",
    src_real_ip="10.0.0.1", src_ip="10.0.0.1", dst_node_sn="h2", dst_real_ip="10.0.0.2",
    dst_ip="10.0.0.2", src_port=50000, dst_port=4791, window_start="2026-01-01T00:00:00Z",
    window_end="2026-01-01T00:00:05Z", sent=100, lost=30, loss_rate=0.3,
)  # fmt: skip

COVERAGE = Coverage(
    fabric="f1", at="2026-01-01T00:01:00Z", paths=4096, components=640, uncovered=2, untraced=1,
    uncovered_names=["link:agg:psw-1|spine:dsw-1", "spine:dsw-1"],
    untraced_names=["link:agg:psw-2|spine:dsw-2"],
)  # fmt: skip


def message(topic: str, value: bytes, offset: int = 0, **headers: str) -> Message:
    named = {name.replace("_", "-"): text.encode() for name, text in headers.items()}
    return Message(Place(topic, 0, offset), value, named)


def ndjson(*records: Mapping[str, object], offset: int = 0) -> Message:
    lines = b"\n".join(json.dumps(record).encode() for record in records)
    return message("skh.pings", lines, offset, content_type=topics.NDJSON)


def samples(*rows: Mapping[str, object], offset: int = 0) -> Message:
    """A message of skh.throughput: each row is of h1's rnic 10.0.0.1, in the first second of 2026,
    but for what it says."""
    sample = {
        "fabric": "f1", "node_sn": "h1", "real_ip": "10.0.0.1", "time": 1_767_225_600 * 10**9,
        "tx_bytes": 100, "rx_bytes": 200,
    }  # fmt: skip
    lines = b"\n".join(json.dumps(sample | row).encode() for row in rows)
    return message("skh.throughput", lines, offset, content_type=topics.NDJSON)


def counters(time: str, offset: int = 0, **values: int) -> Message:
    """A message of skh.evidence: what h1's port mlx5_0/1 of rnic 10.0.0.1 shows at a time."""
    port = DeviceCounters("mlx5_0/1", time, values, "10.0.0.1")
    found = Evidence(
        request_id="r1", kind="counters", node_sn="h1", fabric="f1", incident_id="AAAA", number=1,
        time="2026-01-31T12:10:00Z", state="complete", counters=[port],
    )  # fmt: skip
    return message("skh.evidence", msgspec.json.encode(found), offset, content_type=topics.JSON)


def window(kind: str = "window", path_id: int = 5, pod: str = "p1", offset: int = 0) -> Message:
    header = window_chunks.Header("window", "f1", start_s=1_767_225_600, end_s=1_767_225_630)
    row = {
        "path_id": path_id, "records": 30, "src_pod": pod, "src_port": 1, "dst_port": 2,
        "src_tenant_id": "red", "dst_tenant_id": "blue",
    }  # fmt: skip
    batch = pa.RecordBatch.from_pylist([row], window_chunks.WINDOW)
    headers = dict(header.to_kafka()) | {"kind": kind.encode()}
    return Message(Place("skh.windows", 0, offset), window_chunks.encode(batch), headers)
