"""One example of each JSON document."""

from __future__ import annotations

import msgspec

from builders.schemas.incidents import INCIDENT
from schemas.documents.heartbeat import Heartbeat, RnicCounts
from schemas.documents.incident import Anomaly
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.requests.evidence import (
    DeviceCounters,
    Evidence,
    ProbeResult,
    RouteResult,
)
from schemas.documents.requests.request import Request, Target
from schemas.documents.topology import Endpoint

ANOMALY = Anomaly(
    fabric="f1", path_id="00000000000000ff", layer="underlay", symptom="loss",
    src_node_sn="h1", src_real_ip="r1", src_ip="a", dst_node_sn="h2", dst_real_ip="r2", dst_ip="b",
    src_port=50_000, dst_port=4791, window_start="2026-01-01T00:00:00.000Z",
    window_end="2026-01-01T00:00:05.000Z", sent=5, lost=2, loss_rate=0.4,
)  # fmt: skip


BEAT = Heartbeat("h1", 1_733_989_200_000_000_000, fabric="f1", rnics={"r1": RnicCounts(10, 9)})


PLACEMENT = Placement(
    node_id="c1", node_sn="h1", state="ready", valid_from="2026-01-01T00:00:00Z",
    endpoints=[Endpoint("172.16.0.1", "r1")],
)  # fmt: skip


MAINTENANCE = Maintenance(
    component="tor:asw1", start="2026-01-01T00:00:00Z", until="2026-01-01T02:00:00Z",
    reason="new optics",
)  # fmt: skip


TARGET = Target(
    src_ip="10.0.0.1", ip="10.0.1.1", real_ip="10.0.1.1", node_sn="h2", layer="underlay",
    src_ports=[51_000, 51_001], port=65_300,
)  # fmt: skip
REQUEST = Request(
    request_id="p1", kind="probe", node_sn="h1", fabric="f1", targets=[TARGET], count=10,
    interval_s=0.5, reason="on demand", operator="me", asked_at="2026-01-01T00:00:00.000Z",
    expires="2026-01-01T00:00:30.000Z",
)  # fmt: skip
EVIDENCE = Evidence(
    request_id="p1", kind="probe", node_sn="h1", fabric="f1", number=1, state="complete",
    time="2026-01-01T00:00:06.000Z", sent=1, answered=1,
    probes=[
        ProbeResult(
            "10.0.0.1", 51_000, "10.0.1.1", 65_300, "2026-01-01T00:00:01.000Z", "success", 12.5
        )
    ],
    routes=[
        RouteResult(
            "10.0.0.1", 51_000, "10.0.1.1", 65_300, "2026-01-01T00:00:01.000Z", "timeout",
            ["10.9.0.1", None],
        )
    ],
    counters=[
        DeviceCounters("mlx5_0/1", "2026-01-01T00:00:01.000Z", {"out_of_sequence": 3}, "10.0.0.1")
    ],
)  # fmt: skip


EXAMPLES: dict[str, msgspec.Struct] = {
    "anomaly": ANOMALY, "incident": INCIDENT, "heartbeat": BEAT, "placement": PLACEMENT,
    "maintenance": MAINTENANCE, "request": REQUEST, "evidence": EVIDENCE,
}  # fmt: skip
