"""One example of each JSON document."""

from __future__ import annotations

import msgspec

from builders.schemas.incidents import INCIDENT
from schemas.documents.heartbeat import Heartbeat, RnicCounts
from schemas.documents.incident import Anomaly
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
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


EXAMPLES: dict[str, msgspec.Struct] = {
    "anomaly": ANOMALY, "incident": INCIDENT, "heartbeat": BEAT, "placement": PLACEMENT,
    "maintenance": MAINTENANCE,
}  # fmt: skip
